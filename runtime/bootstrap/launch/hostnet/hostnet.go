// Package hostnet makes the network of simulated hosts: a named network namespace for each host.
// Two hosts are joined by a pair of virtual interfaces, more by a bridge in a further namespace.
//
// It does not touch the machine's own network: interfaces are made inside the namespaces, so that
// neither names nor addresses can clash with those of the machine or of another job. Addresses are
// from 198.18.0.0/15, which is set aside for benchmarks. Every host's interface is called eth0; if
// there are several links, each is a network of its own, and the others are eth1 and so on.
//
// Namespaces are named shmemrun-PID-HOST after the process that made them, and "ip netns list"
// shows them, so that a user can run tc or ping in them while the job lasts. Close removes them.
// Remove removes the namespaces of a killed process, and so does the next New.
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
	device = "eth"

	bits     = 15 // prefix length of 198.18.0.0/15, the network if there is one
	linkBits = 19 // prefix length of each network if there are several
)

// MaxLinks is how many networks fit into the address range.
const MaxLinks = 1 << (linkBits - bits)

// Links are the networks between the hosts.
type Links struct {
	N    int    // how many; 0: one
	Rate uint64 // the most bits a second that an interface sends; 0: no limit
}

// bits returns the prefix length of the networks' addresses.
func (l Links) bits() int {
	if l.N > 1 {
		return linkBits
	}
	return bits
}

// maxHosts returns how many hosts fit into a network, beside the network's own address and the
// broadcast address.
func (l Links) maxHosts() int { return 1<<(32-l.bits()) - 2 }

// name returns the name of an interface, which is the same on every host.
func name(link int) string { return device + strconv.Itoa(link) }

// Names returns the names of the interfaces, which are the same on every host.
func (l Links) Names() []string {
	var all []string
	for k := range l.N {
		all = append(all, name(k))
	}
	return all
}

// Network is the network of one job.
type Network struct {
	names []string         // of the namespaces; if there are bridges, the namespace that has them is the last
	hosts []netns.NsHandle // of the same namespaces
	links Links
}

// New makes a network namespace for each of the hosts, and the links between them, for jobs on
// simulated hosts. It needs root. Namespaces of killed jobs are removed first.
func New(hosts int, links Links) (*Network, error) {
	links.N = max(links.N, 1)
	if os.Geteuid() != 0 {
		return nil, errors.New("--host-netns: network namespaces need root (run shmemrun with sudo, or leave --host-netns out)")
	}
	if hosts > links.maxHosts() || links.N > MaxLinks {
		return nil, fmt.Errorf("--host-netns: %d hosts with %d links, at most %d with up to %d", hosts, links.N, links.maxHosts(), MaxLinks)
	}
	if err := sweep(); err != nil {
		return nil, err
	}
	return build(hosts, links)
}

// build makes the namespaces and the links, or leaves nothing behind after an error.
func build(hosts int, links Links) (_ *Network, err error) {
	n := &Network{links: links}
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

// explain puts the option's name before an error. If the kernel did not permit an operation, which
// is what users meet in containers, it adds the remedy.
func explain(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("--host-netns: %w (in a container, grant CAP_SYS_ADMIN and CAP_NET_ADMIN)", err)
	}
	return fmt.Errorf("--host-netns: %w", err)
}

// Enter moves the calling thread, which must be locked to its goroutine, into
// a host's namespace. Threads and processes that it starts run there, too.
func (n *Network) Enter(host int) error {
	if err := netns.Set(n.hosts[host]); err != nil {
		return fmt.Errorf("enter namespace %s: %w", n.names[host], err)
	}
	return nil
}

// Close removes the namespaces. The kernel removes the links when the last process
// inside has ended.
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

// add makes a named network namespace and opens its handle.
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

// create moves the calling thread into a new network namespace, and mounts that at path, by which
// it can be found.
func create(path string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	// An IPv6 address is of no use for the first second while the kernel looks
	// for duplicates of it; there are none here. Without IPv6 there is no file.
	// In a container the file may be read-only, and the second is then waited for.
	err := os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EROFS) {
		return err
	}
	return unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
}

// link connects the namespaces of the hosts by links.N links, and brings up all interfaces: two
// hosts by virtual cables (veth), more by a bridge for each link. It returns when the interfaces
// carry packets.
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
		for k := range n.links.N {
			if err := join(handles[0], n.hosts[1], name(k), name(k)); err != nil {
				return err
			}
		}
	default:
		if err := n.bridge(handles); err != nil {
			return err
		}
	}
	for h, nl := range handles {
		for k := range n.links.N {
			if err := n.configure(nl, h, k); err != nil {
				return fmt.Errorf("namespace %s: %w", n.names[h], err)
			}
		}
	}
	for h, nl := range handles {
		for k := range n.links.N {
			if err := await(nl, name(k)); err != nil {
				return fmt.Errorf("namespace %s: %w", n.names[h], err)
			}
		}
	}
	return nil
}

// carrierWait bounds await; a carrier takes some milliseconds.
const carrierWait = 30 * time.Second

// await waits until the host's interface has a carrier, which it has some time after both
// interfaces are up. Before that, a program that searches for interfaces finds only loopback, by
// which it reaches no other host.
func await(nl *netlink.Handle, device string) error {
	for deadline := time.Now().Add(carrierWait); ; time.Sleep(time.Millisecond) {
		l, err := nl.LinkByName(device)
		if err != nil {
			return fmt.Errorf("look at %s: %w", device, err)
		}
		if l.Attrs().RawFlags&unix.IFF_RUNNING != 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("interface %s has no carrier after %v (see dmesg for the reason)", device, carrierWait)
		}
	}
}

// join makes a veth pair, two connected virtual interfaces: device in the namespace of nl and peer
// in peerNS.
func join(nl *netlink.Handle, peerNS netns.NsHandle, device, peer string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = device
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: peer, PeerNamespace: netlink.NsFd(int(peerNS))}
	if err := nl.LinkAdd(pair); err != nil {
		return fmt.Errorf("make link: %w", err)
	}
	return nil
}

// bridge connects three and more hosts: in a further namespace it makes a bridge for each link, and
// a veth pair from there to each host.
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
	for k := range n.links.N {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "bridge" + strconv.Itoa(k)
		br := &netlink.Bridge{LinkAttrs: attrs}
		if err := nl.LinkAdd(br); err != nil {
			return fmt.Errorf("make bridge: %w", err)
		}
		if err := up(nl, attrs.Name); err != nil {
			return err
		}
		for h, host := range handles {
			port := fmt.Sprintf("host%d-%d", h, k)
			if err := join(host, middle, name(k), port); err != nil {
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
	}
	return nil
}

// up brings an interface up.
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

// configure sets the address and the rate of a host's interface of one link, and brings it up.
func (n *Network) configure(nl *netlink.Handle, host, link int) error {
	device := name(link)
	l, err := nl.LinkByName(device)
	if err != nil {
		return fmt.Errorf("find %s: %w", device, err)
	}
	ip := address(link, host)
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(n.links.bits(), 32)}}
	if err := nl.AddrAdd(l, addr); err != nil {
		return fmt.Errorf("give %v to %s: %w", ip, device, err)
	}
	if err := n.links.shape(nl, l); err != nil {
		return fmt.Errorf("shape %s to %d bits a second: %w", device, n.links.Rate, err)
	}
	return up(nl, device)
}

// A shaped interface sends up to burst bytes at once, which is more than the kernel puts into one
// packet, and holds packets for up to queue.
const (
	burst = 128 << 10
	queue = 50 * time.Millisecond
)

// shape limits what an interface sends to the rate of the links, by a token bucket (qdisc tbf).
func (l Links) shape(nl *netlink.Handle, link netlink.Link) error {
	if l.Rate == 0 {
		return nil
	}
	bytes := l.Rate / 8
	return nl.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       bytes, Buffer: netlink.Xmittime(bytes, burst), Limit: burst + uint32(bytes*uint64(queue)/uint64(time.Second)),
	})
}

// address returns the address of a host on a link: 198.18.0.1 for host 0 on link 0.
func address(link, host int) net.IP {
	n := link<<(32-linkBits) + host + 1
	return net.IPv4(198, 18+byte(n>>16), byte(n>>8), byte(n)).To4()
}

// Remove removes the namespaces that the process pid has made and not removed, because it was
// killed.
func Remove(pid int) error {
	paths, err := filepath.Glob(filepath.Join(dir, prefix+strconv.Itoa(pid)+"-*"))
	for _, path := range paths {
		err = errors.Join(err, remove(filepath.Base(path)))
	}
	return err
}

// sweep removes the namespaces that earlier processes of shmemrun have left.
func sweep() error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there has never been a namespace
	}
	var errs []error
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok {
			continue
		}
		id, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(id)
		// A name with this process's own id is a dead process's, which had the same id: New has
		// made no namespace yet.
		if err == nil && pid > 0 && (pid == os.Getpid() || unix.Kill(pid, 0) == unix.ESRCH) {
			errs = append(errs, remove(e.Name()))
		}
	}
	return errors.Join(errs...)
}

// remove removes the name of a namespace. The namespace itself lives as long as processes in it.
// Another shmemrun may remove the same name at the same time, so a name that is not mounted
// (EINVAL) or not there is no error.
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
