package main

import (
	"net"
	"slices"
	"strings"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/runtime/doctor"
)

// nicAt is an RDMA NIC, which programs access without the kernel.
type nicAt struct {
	name       string
	interfaces []string // of the host, on the same device
	ip         bool     // one of them has an address that leads to other hosts
}

// rdmaNICs returns the RDMA NICs of this machine, which programs access without the kernel, with
// their interfaces.
func rdmaNICs(s *doctor.System) []nicAt {
	var all []nicAt
	for _, name := range s.NICs() {
		n := nicAt{name: name, interfaces: s.Interfaces(name)}
		for _, i := range n.interfaces {
			n.ip = n.ip || hasAddress(i)
		}
		all = append(all, n)
	}
	return all
}

// hasAddress reports whether an interface has an IP address that reaches beyond its link.
func hasAddress(name string) bool {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return false
	}
	addresses, err := i.Addrs()
	return err == nil && slices.ContainsFunc(addresses, func(a net.Addr) bool {
		p, ok := a.(*net.IPNet)
		return ok && !p.IP.IsLinkLocalUnicast() && !p.IP.IsLoopback()
	})
}

// withoutAddress reports NICs that the provider verbs leaves out because their interfaces have no
// IP address. Without this finding nobody notices that a job uses tcp in place of them.
func withoutAddress(offers []ofi.Offer, nics []nicAt) []doctor.Finding {
	var findings []doctor.Finding
	for _, n := range nics {
		// libfabric appends the kind of endpoint to the names of some NICs, as in rdmap16s27-rdm.
		offered := slices.ContainsFunc(offers, func(o ofi.Offer) bool {
			return !fabric.OverSockets(o.Provider) && (o.NIC == n.name || strings.HasPrefix(o.NIC, n.name+"-"))
		})
		if offered || n.ip || len(n.interfaces) == 0 {
			continue
		}
		findings = append(findings, doctor.Lack("NIC "+n.name, "give "+strings.Join(n.interfaces, " or ")+" an IP address",
			"the provider verbs does not offer it, because its interface has no IP address: if there is no other NIC, jobs use tcp"))
	}
	return findings
}

// withoutLayered removes providers that offer nothing themselves but whose layered provider, such
// as rxm over tcp, does.
func withoutLayered(silent []ofi.Silent, offers []ofi.Offer) []ofi.Silent {
	return slices.DeleteFunc(silent, func(s ofi.Silent) bool {
		return slices.ContainsFunc(offers, func(o ofi.Offer) bool { return strings.HasPrefix(o.Provider, s.Provider+";") })
	})
}
