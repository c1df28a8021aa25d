package ofi

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// preference is the order in which providers are taken when nobody insists,
// each with the reason for its place. What is not listed is taken only by name:
// nothing is known of how it behaves.
var preference = []struct{ provider, reason string }{
	{"efa", "the NIC's own, on AWS"},
	{"cxi", "the NIC's own, on Slingshot"},
	{"verbs;ofi_rxm", "the NIC's own, on InfiniBand and RoCE"},
	{"opx", "the NIC's own, on Omni-Path, in place of psm2"},
	{"psm3", "the NIC's own, on Intel Ethernet"},
	{"psm2", "the NIC's own, on Omni-Path"},
	// The same code with two names: up to 1.17 the one that has reliable
	// datagrams of its own is called net.
	{"tcp", "reliable datagrams over TCP, without a layer between"},
	{"net", "reliable datagrams over TCP, without a layer between"},
	{"tcp;ofi_rxm", "a layer over TCP connections: a message takes 1.25 times as long as over net"},
	{"sockets", "superseded by tcp, and its threads poll"},
	{"udp;ofi_rxd", "the last resort: it copies twice and resends in software"},
}

// oneHost are providers that cannot leave the machine.
var oneHost = []string{"shm", "sm2"}

func rank(provider string) int {
	for i, p := range preference {
		if p.provider == provider {
			return i
		}
	}
	return len(preference)
}

// virtual are the starts of names of interfaces that lead to containers and
// virtual machines of this host, and to no other host.
var virtual = []string{"docker", "br-", "virbr", "lxcbr", "lxdbr", "podman", "cni", "flannel", "cali", "veth-"}

// reach tells how far an offer's address leads, the best first.
func reach(o *Offer) int {
	a := o.Address
	switch {
	case a.IsLoopback() || o.Domain == "lo":
		return 4
	case a.IsLinkLocalUnicast():
		return 3 // a peer needs the number of its own interface with it
	case slices.ContainsFunc(virtual, func(p string) bool { return strings.HasPrefix(o.Domain, p) }):
		return 2
	case a.Is6():
		return 1 // hosts without it are common
	}
	return 0
}

// ranked sorts offers by preference. libfabric's own order, by the speed of the
// interface, decides among equals.
func ranked(offers []Offer) {
	slices.SortStableFunc(offers, func(a, b Offer) int {
		if d := rank(a.Provider) - rank(b.Provider); d != 0 {
			return d
		}
		if d := strings.Compare(a.Provider, b.Provider); d != 0 {
			return d
		}
		return reach(&a) - reach(&b)
	})
}

// whyNot tells why an offer is not taken by default, or "".
func whyNot(o *Offer) string {
	switch {
	case slices.Contains(oneHost, o.Provider):
		return "serves one host"
	case rank(o.Provider) == len(preference):
		return "is taken by name only"
	case reach(o) == 4:
		return "is the loopback interface"
	}
	return ""
}

// choose takes the best offer that the configuration allows.
func choose(offers []Offer, cfg fabric.Config) (*Offer, error) {
	list := slices.Clone(offers)
	ranked(list)
	var err error
	if cfg.Provider != "" {
		if list, err = named(list, cfg.Provider); err != nil {
			return nil, err
		}
	} else {
		list = slices.DeleteFunc(list, func(o Offer) bool {
			return slices.Contains(oneHost, o.Provider) || rank(o.Provider) == len(preference)
		})
	}
	if len(list) == 0 {
		return nil, &shmerr.Error{
			Op: "choose", Object: "provider", Cause: fmt.Errorf("none of %s leads to another host", providers(offers)),
			Remedy: "bring a network interface up, or name a provider by SHMEM_PROVIDER",
		}
	}
	onNICs := slices.DeleteFunc(slices.Clone(list), func(o Offer) bool { return !allowed(o.Domain, cfg.NICs) })
	if len(onNICs) == 0 {
		return nil, &shmerr.Error{
			Op: "choose", Object: "NIC", Cause: fmt.Errorf("SHMEM_NIC_LIST=%s allows none of %s", cfg.NICs, domains(list)),
			Remedy: "name one of them, or unset SHMEM_NIC_LIST",
		}
	}
	// A better provider on the loopback interface alone is of no use to a job
	// on several hosts.
	for i := range onNICs {
		if reach(&onNICs[i]) < 4 {
			return &onNICs[i], nil
		}
	}
	return &onNICs[0], nil
}

// named are the offers of one provider; of those layered over it where it has
// none itself, so that "tcp" means the same to a user of every version.
func named(list []Offer, provider string) ([]Offer, error) {
	is := func(match func(string) bool) []Offer {
		return slices.DeleteFunc(slices.Clone(list), func(o Offer) bool { return !match(o.Provider) })
	}
	if exact := is(func(p string) bool { return strings.EqualFold(p, provider) }); len(exact) > 0 {
		return exact, nil
	}
	if layered := is(func(p string) bool {
		return strings.HasPrefix(strings.ToLower(p), strings.ToLower(provider)+";")
	}); len(layered) > 0 {
		return layered[:slices.IndexFunc(append(layered, Offer{}), func(o Offer) bool { return o.Provider != layered[0].Provider })], nil
	}
	e := &shmerr.Error{
		Op: "choose", Object: "provider " + provider,
		Cause:  fmt.Errorf("it does not answer; these do: %s", providers(list)),
		Remedy: "unset SHMEM_PROVIDER to take the best",
	}
	if near := nearest(provider, list); near != "" {
		e.Remedy = "did you mean " + near + "? Else " + e.Remedy
	}
	return nil, e
}

// allowed tells whether a domain is among the NICs: all but those listed where
// the list starts with ^, as for NVSHMEM_HCA_LIST.
func allowed(domain, nics string) bool {
	nics, except := strings.CutPrefix(nics, "^")
	if nics == "" {
		return true
	}
	listed := slices.ContainsFunc(strings.Split(nics, ","), func(nic string) bool {
		nic = strings.TrimPrefix(strings.TrimSpace(nic), "^")
		// Some providers append what the domain is for: mlx5_0-rdm.
		return nic != "" && (domain == nic || strings.HasPrefix(domain, nic+"-"))
	})
	return listed != except
}

func unique(list []Offer, name func(*Offer) string) string {
	var names []string
	for i := range list {
		if n := name(&list[i]); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "no provider"
	}
	return strings.Join(names, ", ")
}

func providers(list []Offer) string {
	return unique(list, func(o *Offer) string { return o.Provider })
}

func domains(list []Offer) string {
	return unique(list, func(o *Offer) string { return o.Domain })
}

// nearest is the provider whose name a misspelt one most likely meant.
func nearest(name string, list []Offer) string {
	best, at := "", len(name)/2+1
	for i := range list {
		if d := distance(strings.ToLower(name), list[i].Provider); d < at {
			best, at = list[i].Provider, d
		}
	}
	return best
}

// distance is the number of letters to change, add or drop.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
