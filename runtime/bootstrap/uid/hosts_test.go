package uid

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/hostnet"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/tests/need"
)

// hosts are two, each in a network namespace of its own, with two links between them.
type hosts struct {
	t   *testing.T
	net *hostnet.Network
	// entering is held while a thread enters a namespace, and while net is closed: an attempt to
	// connect may begin when its test has ended.
	entering sync.RWMutex
}

func twoHosts(t *testing.T) *hosts {
	t.Helper()
	need.Namespaces(t)
	n, err := hostnet.New(2, hostnet.Links{N: 2})
	if err != nil {
		t.Fatal(err)
	}
	h := &hosts{t: t, net: n}
	t.Cleanup(func() {
		h.entering.Lock()
		defer h.entering.Unlock()
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// on has f run on a host.
func (h *hosts) on(host int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends in the namespace
		h.entering.RLock()
		err := h.net.Enter(host)
		h.entering.RUnlock()
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// configure changes an interface of a host.
func (h *hosts) configure(host int, device string, f func(netlink.Link) error) {
	h.t.Helper()
	if err := h.on(host, func() error {
		l, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		return f(l)
	}); err != nil {
		h.t.Fatalf("host %d, %s: %v", host, device, err)
	}
}

func (h *hosts) add(host int, device, address string) {
	h.t.Helper()
	h.configure(host, device, func(l netlink.Link) error {
		a, err := netlink.ParseAddr(address)
		if err != nil {
			return err
		}
		a.Flags = 0x02 // IFA_F_NODAD: of use at once
		return netlink.AddrAdd(l, a)
	})
}

// dial connects from a host.
func (h *hosts) dial(host int) dialer {
	return func(ctx context.Context, to netip.AddrPort) (conn net.Conn, err error) {
		err = h.on(host, func() error {
			conn, err = dialTCP(ctx, to)
			return err
		})
		return conn, err
	}
}

// job has one PE on each host, and the root on the first.
func (h *hosts) job(id ID, r *Root) {
	h.t.Helper()
	defer r.Close()
	rootsMu.Lock()
	delete(roots, id) // both PEs come by the network
	rootsMu.Unlock()
	all(h.t, 2, func(pe libshmem.PE) error {
		m, err := join(Options{ID: id, PE: pe, Size: 2, Timeout: eventTimeout}, h.dial(int(pe)))
		if err != nil {
			return err
		}
		return errors.Join(live(m, pe, 2, 2), m.Close())
	})
}

func (h *hosts) root(f Filter) (r *Root, id ID) {
	h.t.Helper()
	if err := h.on(0, func() (err error) {
		r, id, err = NewRoot(f)
		return err
	}); err != nil {
		h.t.Fatal(err)
	}
	return r, id
}

// The first address of the id is that of an interface that answers no host.
func TestDeadInterface(t *testing.T) {
	h := twoHosts(t)
	h.configure(0, "eth0", netlink.LinkSetARPOff)
	r, id := h.root(Filter{})
	if c, err := decode(&id); err != nil || c.addresses[0].Addr().String() != "198.18.0.1" {
		t.Fatalf("%v, %v", c.addresses, err)
	}
	h.job(id, r)
}

// There is no IPv4 on the hosts.
func TestIPv6Only(t *testing.T) {
	h := twoHosts(t)
	for host := range 2 {
		for _, device := range []string{"lo", "eth0", "eth1"} {
			h.configure(host, device, func(l netlink.Link) error {
				all, err := netlink.AddrList(l, netlink.FAMILY_V4)
				for _, a := range all {
					err = errors.Join(err, netlink.AddrDel(l, &a))
				}
				return err
			})
		}
		h.add(host, "eth1", []string{"fd00::1/64", "fd00::2/64"}[host])
	}
	r, id := h.root(Filter{})
	if c, err := decode(&id); err != nil || c.addresses[0].Addr().String() != "fd00::1" {
		t.Fatalf("%v, %v", c.addresses, err)
	}
	h.job(id, r)
}

// Nor any address of IPv6 but link-local ones.
func TestLinkLocal(t *testing.T) {
	h := twoHosts(t)
	r, id := h.root(Filter{Interfaces: "=eth1", Family: IPv6})
	if c, err := decode(&id); err != nil || !c.addresses[0].Addr().IsLinkLocalUnicast() {
		t.Fatalf("%v, %v", c.addresses, err)
	}
	h.job(id, r)
}

// Both hosts have the first address of the id, and on the second another program listens there,
// which says nothing.
func TestDuplicateAddress(t *testing.T) {
	h := twoHosts(t)
	var r *Root
	for host := range 2 {
		h.add(host, "lo", "172.17.0.1/16")
		if err := h.on(host, func() error {
			var c net.ListenConfig
			at := ":0"
			if host == 1 {
				at = r.listener.Addr().String()
			}
			l, err := c.Listen(context.Background(), "tcp", at)
			if err != nil {
				return err
			}
			if host == 0 {
				key, port := secret.New(), netip.MustParseAddrPort(l.Addr().String()).Port()
				r = newRoot(l, key, encode(ofRoot, key, port, []netip.Addr{netip.MustParseAddr("172.17.0.1"), netip.MustParseAddr("198.18.0.1")}))
			} else {
				t.Cleanup(func() { l.Close() })
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	h.job(r.id, r)
}
