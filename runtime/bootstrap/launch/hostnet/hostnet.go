// Package hostnet makes the network of simulated hosts: a named network
// namespace for each, joined by a pair of virtual interfaces where there are
// two, and by a bridge in a namespace of its own where there are more.
//
// Nothing of it touches the machine's own network: interfaces are made inside
// the namespaces, so that neither names nor addresses can clash with those of
// the machine or of another job. Addresses are from 198.18.0.0/15, which is
// set aside for benchmarks. Every host calls its interface eth0.
//
// Namespaces are named shmemrun-PID-HOST after the process that made them, and
// show in "ip netns list", so that tc or ping can be run in them while the job
// lasts. Close removes them; what a killed process left is removed by the next
// New.
//
// It starts no process and owns no goroutine. Enter moves the calling thread.
package hostnet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const (
	dir    = "/run/netns" // where iproute2 looks for names
	prefix = "shmemrun-"
	device = "eth0"
	bits   = 15 // of 198.18.0.0/15
)

// maxHosts fit the address range with room for network and broadcast.
const maxHosts = 1<<(32-bits) - 2

// Network is the network of one job.
type Network struct {
	names []string // every namespace, the bridge's last where there is one
	hosts []netns.NsHandle
}

// New makes the namespaces and the links between them.
func New(hosts int) (*Network, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("--host-netns: network namespaces need root (run shmemrun with sudo, or leave --host-netns out)")
	}
	if hosts > maxHosts {
		return nil, fmt.Errorf("--host-netns: %d hosts, at most %d", hosts, maxHosts)
	}
	if err := sweep(); err != nil {
		return nil, err
	}
	return build(hosts)
}

// build makes everything, or leaves nothing.
func build(hosts int) (_ *Network, err error) {
	n := &Network{}
	defer func() {
		if err != nil {
			err = errors.Join(explain(err), n.Close())
		}
	}()
	for h := range hosts {
		if err := n.add(strconv.Itoa(h)); err != nil {
			return nil, err
		}
	}
	if err := n.link(); err != nil {
		return nil, err
	}
	return n, nil
}

// explain adds the remedy to the one refusal that users meet.
func explain(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("--host-netns: %w (in a container, grant CAP_SYS_ADMIN and CAP_NET_ADMIN)", err)
	}
	return fmt.Errorf("--host-netns: %w", err)
}

// Enter moves the calling thread, which must be locked to its goroutine, into
// a host's namespace. Threads and processes that it starts are born there.
func (n *Network) Enter(host int) error {
	if err := netns.Set(n.hosts[host]); err != nil {
		return fmt.Errorf("enter namespace %s: %w", n.names[host], err)
	}
	return nil
}

// Close removes the namespaces. The kernel ends the links with the last
// process inside.
func (n *Network) Close() error {
	var errs []error
	for _, h := range n.hosts {
		h.Close()
	}
	for _, name := range n.names {
		errs = append(errs, remove(name))
	}
	n.names, n.hosts = nil, nil
	return errors.Join(errs...)
}

// add makes a namespace and takes its handle.
func (n *Network) add(suffix string) error {
	name := prefix + strconv.Itoa(os.Getpid()) + "-" + suffix
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	f.Close()
	n.names = append(n.names, name)
	done := make(chan error)
	go func() {
		// Never unlocked: the thread ends inside the namespace, with the goroutine.
		runtime.LockOSThread()
		done <- create(path)
	}()
	if err := <-done; err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	h, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("open namespace %s: %w", name, err)
	}
	n.hosts = append(n.hosts, h)
	return nil
}

// create moves the calling thread into a new namespace and binds it to path.
func create(path string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	// An IPv6 address is of no use for the first second while the kernel looks
	// for duplicates of it; there are none here. Without IPv6 there is no file.
	err := os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EROFS) {
		return err
	}
	return unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
}

// link brings up the interfaces of all hosts.
func (n *Network) link() error {
	hosts := len(n.hosts)
	handles := make([]*netlink.Handle, hosts)
	for h := range handles {
		nl, err := netlink.NewHandleAt(n.hosts[h], unix.NETLINK_ROUTE)
		if err != nil {
			return fmt.Errorf("talk to namespace %s: %w", n.names[h], err)
		}
		defer nl.Close()
		handles[h] = nl
		if err := up(nl, "lo"); err != nil {
			return fmt.Errorf("namespace %s: %w", n.names[h], err)
		}
	}
	switch hosts {
	case 1:
		return nil
	case 2:
		if err := join(handles[0], n.hosts[1], device); err != nil {
			return err
		}
	default:
		if err := n.bridge(handles); err != nil {
			return err
		}
	}
	for h, nl := range handles {
		if err := configure(nl, h); err != nil {
			return fmt.Errorf("namespace %s: %w", n.names[h], err)
		}
	}
	for h, nl := range handles {
		if err := await(nl); err != nil {
			return fmt.Errorf("namespace %s: %w", n.names[h], err)
		}
	}
	return nil
}

// carrierWait bounds await; a carrier takes some milliseconds.
const carrierWait = 5 * time.Second

// await returns when the host's interface has a carrier, which comes some time
// after both ends are up. A program that looks for interfaces before that finds
// loopback only, and no other host can be reached by it.
func await(nl *netlink.Handle) error {
	for deadline := time.Now().Add(carrierWait); ; time.Sleep(time.Millisecond) {
		l, err := nl.LinkByName(device)
		if err != nil {
			return fmt.Errorf("look at %s: %w", device, err)
		}
		if l.Attrs().RawFlags&unix.IFF_RUNNING != 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("interface %s has no carrier after %v (see dmesg for what holds the link down)", device, carrierWait)
		}
	}
}

// join makes a pair of interfaces: eth0 behind nl and peer in another
// namespace.
func join(nl *netlink.Handle, other netns.NsHandle, peer string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = device
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: peer, PeerNamespace: netlink.NsFd(int(other))}
	if err := nl.LinkAdd(pair); err != nil {
		return fmt.Errorf("make link: %w", err)
	}
	return nil
}

// bridge joins the hosts through a bridge in a further namespace.
func (n *Network) bridge(handles []*netlink.Handle) error {
	if err := n.add("bridge"); err != nil {
		return err
	}
	middle := n.hosts[len(handles)]
	nl, err := netlink.NewHandleAt(middle, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("talk to the bridge's namespace: %w", err)
	}
	defer nl.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "bridge"
	br := &netlink.Bridge{LinkAttrs: attrs}
	if err := nl.LinkAdd(br); err != nil {
		return fmt.Errorf("make bridge: %w", err)
	}
	if err := up(nl, attrs.Name); err != nil {
		return err
	}
	for h, host := range handles {
		port := "host" + strconv.Itoa(h)
		if err := join(host, middle, port); err != nil {
			return err
		}
		l, err := nl.LinkByName(port)
		if err != nil {
			return fmt.Errorf("find %s: %w", port, err)
		}
		if err := nl.LinkSetMaster(l, br); err != nil {
			return fmt.Errorf("join %s to the bridge: %w", port, err)
		}
		if err := up(nl, port); err != nil {
			return err
		}
	}
	return nil
}

func up(nl *netlink.Handle, name string) error {
	l, err := nl.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	if err := nl.LinkSetUp(l); err != nil {
		return fmt.Errorf("bring up %s: %w", name, err)
	}
	return nil
}

func configure(nl *netlink.Handle, host int) error {
	l, err := nl.LinkByName(device)
	if err != nil {
		return fmt.Errorf("find %s: %w", device, err)
	}
	ip := address(host)
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, 32)}}
	if err := nl.AddrAdd(l, addr); err != nil {
		return fmt.Errorf("give %v to %s: %w", ip, device, err)
	}
	return up(nl, device)
}

// address is a host's own: 198.18.0.1 for host 0.
func address(host int) net.IP {
	n := host + 1
	return net.IPv4(198, 18+byte(n>>16), byte(n>>8), byte(n)).To4()
}

// sweep removes the namespaces of processes that are gone.
func sweep() error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // never used: there is nothing to sweep
	}
	var errs []error
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok {
			continue
		}
		id, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(id)
		// Our own number: a dead process had it before us.
		if err == nil && pid > 0 && (pid == os.Getpid() || unix.Kill(pid, 0) == unix.ESRCH) {
			errs = append(errs, remove(e.Name()))
		}
	}
	return errors.Join(errs...)
}

// remove takes away a name; the namespace lives as long as processes in it.
// Another shmemrun may sweep the same name at the same time.
func remove(name string) error {
	path := filepath.Join(dir, name)
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
		return fmt.Errorf("remove namespace %s: %w (ip netns delete %s)", name, err, name)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove namespace %s: %w (ip netns delete %s)", name, err, name)
	}
	return nil
}
