package uid

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Filter selects the addresses of this host that an id may carry.
type Filter struct {
	// Interfaces lists names, separated by commas. It selects the interfaces whose names begin with
	// one of them; with = before the list, those whose names are equal to one; with ^ before the
	// list, all others. "": all that are up, loopback last.
	Interfaces string
	Family     Family
}

// Family is the family of addresses.
type Family uint8

// The families.
const (
	AnyFamily Family = iota
	IPv4
	IPv6
)

// allows reports whether an address is of this family.
func (f Family) allows(a netip.Addr) bool { return f == AnyFamily || (f == IPv4) == a.Is4() }

// allows reports whether the filter selects an interface by its name. The text is a list of
// beginnings of names; "=" before it asks for whole names, and "^" for all interfaces but those.
func (f Filter) allows(name string) bool {
	if f.Interfaces == "" {
		return true
	}
	list, exclude := strings.CutPrefix(f.Interfaces, "^")
	list, whole := strings.CutPrefix(list, "=")
	for n := range strings.SplitSeq(list, ",") {
		if n = strings.TrimSpace(n); n != "" && (name == n || !whole && strings.HasPrefix(name, n)) {
			return !exclude
		}
	}
	return exclude
}

// Interface describes a network interface of this host.
type Interface struct {
	Name     string
	Up       bool
	Loopback bool
	Virtual  bool // by its name, it probably connects only containers or virtual machines of this host
	Addrs    []netip.Addr
}

// interfaces lists the network interfaces of this host.
func interfaces() ([]Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces: %w", err)
	}
	var out []Interface
	for _, i := range all {
		known := Interface{
			Name: i.Name, Up: i.Flags&net.FlagUp != 0, Loopback: i.Flags&net.FlagLoopback != 0,
			Virtual: slices.ContainsFunc([]string{"docker", "virbr", "br-", "veth", "cni", "podman"},
				func(p string) bool { return strings.HasPrefix(i.Name, p) }),
		}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, fmt.Errorf("list the addresses of %s: %w", i.Name, err)
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok {
				if ip, ok := netip.AddrFromSlice(n.IP); ok {
					known.Addrs = append(known.Addrs, ip.Unmap())
				}
			}
		}
		out = append(out, known)
	}
	return out, nil
}

// choose lists the addresses at which other hosts may reach this one, the likeliest first.
func choose(all []Interface, f Filter) ([]netip.Addr, error) {
	type candidate struct {
		netip.Addr
		rank int
	}
	var found []candidate
	for _, i := range all {
		if !i.Up || !f.allows(i.Name) {
			continue
		}
		for _, a := range i.Addrs {
			c := candidate{Addr: a}
			switch {
			case !f.Family.allows(a) || a.IsMulticast() || a.IsUnspecified():
				continue
			case i.Loopback:
				c.rank = 3 // only for PEs of this host, whose other interfaces are down
			case a.IsLinkLocalUnicast():
				c.rank = 2
			case i.Virtual:
				c.rank = 1
			}
			if !slices.ContainsFunc(found, func(o candidate) bool { return o.Addr == a }) {
				found = append(found, c)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.rank - b.rank })
	var out []netip.Addr
	for _, c := range found {
		out = append(out, c.Addr)
	}
	if len(out) > 0 {
		return out, nil
	}
	var interfaces []string
	for _, i := range all {
		state := "down"
		if i.Up {
			state = fmt.Sprint(i.Addrs)
		}
		interfaces = append(interfaces, i.Name+" "+state)
	}
	return nil, fmt.Errorf("make unique id: no active interface has an address that the settings allow; there are %s "+
		"(bring one up, or change SHMEM_BOOTSTRAP_INTERFACE and SHMEM_BOOTSTRAP_FAMILY)", strings.Join(interfaces, ", "))
}
