package ofi

import (
	"cmp"
	"slices"
	"strings"
)

// preference is the order of providers if the user names none, each with the reason for its place.
// A provider that is not listed is used only if the user names it: it serves one host, or its
// behaviour is not known.
var preference = []struct{ provider, reason string }{
	{"efa", "the NIC's own, on AWS"},
	{"cxi", "the NIC's own, on Slingshot"},
	{"verbs;ofi_rxm", "the NIC's own, on InfiniBand and RoCE"},
	{"opx", "the NIC's own, on Omni-Path, in place of psm2"},
	{"psm3", "the NIC's own, on Intel Ethernet"},
	{"psm2", "the NIC's own, on Omni-Path"},
	// The same code under two names: up to 1.17 the one that has reliable
	// datagrams of its own is called net.
	{"tcp" + connected, "connections over TCP, each with a proof that both ends belong to the job"},
	{"net" + connected, "connections over TCP, each with a proof that both ends belong to the job"},
	{"tcp", "reliable datagrams over TCP without a layer between"},
	{"net", "reliable datagrams over TCP without a layer between"},
	{"tcp;ofi_rxm", "a layer over TCP connections: a message takes 1.4 times as long as over net"},
	{"udp;ofi_rxd", "copies twice and resends in software"},
}

// rank returns a provider's index in the list preference, and the list's length, which is after all
// others, for a provider that is not in it.
func rank(provider string) int {
	for i, p := range preference {
		if p.provider == provider {
			return i
		}
	}
	return len(preference)
}

// sameFamily lists the providers that a user may mean by a name: the provider itself, or the layer
// over it. All that speak TCP are one family, so that the name is good for every version of
// libfabric.
func sameFamily(provider string) []string {
	if strings.EqualFold(provider, "tcp") {
		return []string{"tcp" + connected, "net" + connected, "tcp", "net", "tcp;ofi_rxm"}
	}
	if strings.EqualFold(provider, "tcp"+connected) {
		return []string{"tcp" + connected, "net" + connected}
	}
	if strings.Contains(provider, ";") {
		return []string{provider}
	}
	return []string{provider, provider + ";ofi_rxm", provider + ";ofi_rxd"}
}

// virtual lists the prefixes of names of interfaces that lead to containers and virtual machines of
// this host, and to no other host.
var virtual = []string{"docker", "br-", "virbr", "lxcbr", "lxdbr", "podman", "cni", "flannel", "cali"}

// unreachable is the reach of an address that no other host can use.
const unreachable = 4

// reach grades how well other hosts can reach an offer's address: 0 is the best, unreachable the
// worst.
func reach(o *offer) int {
	a := o.address
	switch {
	case a.IsLoopback() || o.NIC == "lo":
		return unreachable
	case a.IsLinkLocalUnicast():
		return 3 // a peer can use it only together with the number of its own interface
	case slices.ContainsFunc(virtual, func(p string) bool { return strings.HasPrefix(o.NIC, p) }):
		return 2
	case a.Is6():
		return 1 // many hosts have no IPv6
	}
	return 0
}

// sortOffers sorts offers by the preference of their providers, those of one provider by the
// preference of their fabrics (secondChoice), and then by how well other hosts can reach the
// address. Offers that are equal in all of these keep libfabric's order, by the speed of the
// interface.
func sortOffers(offers []*offer) {
	slices.SortStableFunc(offers, func(a, b *offer) int {
		if d := rank(a.Provider) - rank(b.Provider); d != 0 {
			return d
		}
		if d := strings.Compare(a.Provider, b.Provider); d != 0 {
			return d
		}
		if a.secondChoice != b.secondChoice {
			return cmp.Compare(number(a.secondChoice), number(b.secondChoice))
		}
		return reach(a) - reach(b)
	})
}

// allowed reports whether a comma-separated list of NICs allows a NIC: the list is empty or has it,
// or begins with ^ and does not have it, as for NVSHMEM_HCA_LIST. A ^ in front of a later name has
// no meaning of its own.
func allowed(nic, list string) bool {
	list, except := strings.CutPrefix(list, "^")
	if list == "" {
		return true
	}
	listed := slices.ContainsFunc(strings.Split(list, ","), func(name string) bool {
		name = strings.TrimPrefix(strings.TrimSpace(name), "^")
		// Some providers append the domain's use: mlx5_0-rdm.
		return name != "" && (nic == name || strings.HasPrefix(nic, name+"-"))
	})
	return listed != except
}

// providerOf returns the name of an offer's provider; names joins it over several offers.
func providerOf(o *offer) string { return o.Provider }

// nicOf returns the name of an offer's NIC; names joins it over several offers.
func nicOf(o *offer) string { return o.NIC }

// names joins, for an error, the different values of a property, such as nicOf, that the offers
// have.
func names(list []*offer, of func(*offer) string) string {
	var found []string
	for _, o := range list {
		if n := of(o); !slices.Contains(found, n) {
			found = append(found, n)
		}
	}
	if len(found) == 0 {
		return "no provider"
	}
	return strings.Join(found, ", ")
}

// nearest returns the provider that a misspelt name most likely means: the one with the least
// distance, or "" if even that is more than half of the name's letters.
func nearest(name string, list []*offer) string {
	best, limit := "", len(name)/2+1
	for _, o := range list {
		if d := distance(strings.ToLower(name), o.Provider); d < limit {
			best, limit = o.Provider, d
		}
	}
	return best
}

// distance returns the number of letters to change, add or drop to get from one name to another
// (the Levenshtein distance). row[j] is the distance of the first i+1 letters of a from the first j
// of b.
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
