package main

import (
	"testing"

	"libshmem/fabric/ofi"
)

func TestWithoutAddress(t *testing.T) {
	const text = "the provider verbs does not offer it, because its interface has no IP address: if there is no other NIC, jobs use tcp"
	nics := []nicAt{{"mlx5_0", []string{"ib0"}, true}, {"mlx5_1", []string{"ib1"}, false}, {"rdmap0s6", nil, false}}
	for _, c := range []struct {
		what   string
		offers []ofi.Offer
		want   string
	}{
		{"offered by verbs", []ofi.Offer{{Provider: "verbs;ofi_rxm", NIC: "mlx5_0"}}, "-   NIC mlx5_1: " + text + " (give ib1 an IP address)"},
		{"offered without an address", []ofi.Offer{{Provider: "psm3", NIC: "mlx5_1"}}, ""},
		{"tcp names it as well", []ofi.Offer{{Provider: "tcp", NIC: "mlx5_1"}}, "-   NIC mlx5_1: " + text + " (give ib1 an IP address)"},
		{"for what it is for", []ofi.Offer{{Provider: "verbs", NIC: "mlx5_1-rdm"}}, ""},
	} {
		if got := lines(withoutAddress(c.offers, nics)); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// A provider that answers by a layer over it is not mute.
func TestAnswered(t *testing.T) {
	silent := []ofi.Silent{{Provider: "verbs"}, {Provider: "efa"}, {Provider: "ver"}}
	got := withoutLayered(silent, []ofi.Offer{{Provider: "verbs;ofi_rxm"}, {Provider: "tcp"}})
	if len(got) != 2 || got[0].Provider != "efa" || got[1].Provider != "ver" {
		t.Errorf("%v", got)
	}
}

// The name of the host does not get into the report, words that contain it stay.
func TestWithoutHost(t *testing.T) {
	for _, c := range []struct{ text, host, want string }{
		{"vm: it is vm.", "vm", "HOST: it is HOST."},
		{"kvm vmm vm-1 vm", "vm", "kvm vmm vm-1 HOST"},
		{"vm", "", "vm"},
	} {
		if got := hideHost(c.text, c.host); got != c.want {
			t.Errorf("%q without %q: %q, want %q", c.text, c.host, got, c.want)
		}
	}
}
