package ofi

import (
	"strings"
	"testing"
)

// TestWhy: each offer that is not taken has a reason, and the reason is the one that
// a user can change first.
func TestWhy(t *testing.T) {
	for _, c := range []struct {
		name           string
		on             machine
		provider, nics string
		want           string // for each offer in the machine's order, ";" between, "-" for a taken one
	}{
		{
			"the best of many", debian, "", "",
			"net comes first: reliable datagrams over TCP without a layer between; it leads to no other host; it is used only if SHMEM_PROVIDER names it; " +
				"its address is valid on one link only; it has an IPv6 address, which other hosts may lack; it leads to containers of this host; " +
				"it leads to no other host; -; no job gets it: it hangs if a header arrives in two parts; tcp is used instead; " +
				"net comes first: reliable datagrams over TCP without a layer between; it is used only if SHMEM_PROVIDER names it",
		},
		{
			"one of several NICs", mixed, "", "",
			"-; mlx5_0 comes first in libfabric's order, and one NIC is used unless SHMEM_NIC_LIST names more; " +
				"verbs;ofi_rxm comes first: the NIC's own, on InfiniBand and RoCE",
		},
		{
			"by name", newer, "tcp;ofi_rxm", "",
			"SHMEM_PROVIDER=tcp;ofi_rxm names another; -; SHMEM_PROVIDER=tcp;ofi_rxm names another",
		},
		{
			"by list", mixed, "", "^mlx5_0",
			"SHMEM_NIC_LIST=^mlx5_0 leaves it out; -; verbs;ofi_rxm comes first: the NIC's own, on InfiniBand and RoCE",
		},
		{"none", newer, "", "nosuch", strings.Repeat("SHMEM_NIC_LIST=nosuch leaves it out; ", 2) + "SHMEM_NIC_LIST=nosuch leaves it out"},
	} {
		first, err := find(c.on, Hints{Provider: c.provider, NICs: c.nics})
		if (err != nil) != (c.name == "none") {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []string
		for _, o := range c.on.list("") {
			text := "-"
			if first == nil || o.Offer != first.Offer || o.address != first.address {
				text = why(o, first, Hints{Provider: c.provider, NICs: c.nics})
			}
			got = append(got, text)
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, s, c.want)
		}
	}
}
