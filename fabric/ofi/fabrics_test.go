package ofi

import (
	"slices"
	"strings"
	"testing"
)

// Two fabrics of each NIC, in the order of libfabric, and as an older and a newer one wants them.
var (
	twoFabrics = machine{
		"efa rdmap0-rdm 100G efa-direct", "efa rdmap1-rdm 100G efa-direct", "efa rdmap0-rdm 100G efa?", "efa rdmap1-rdm 100G efa?",
		"tcp eth0 192.0.2.2",
	}
	twoOlder = machine{
		"efa rdmap0-rdm 100G efa-direct?", "efa rdmap1-rdm 100G efa-direct?", "efa rdmap0-rdm 100G efa", "efa rdmap1-rdm 100G efa",
		"tcp eth0 192.0.2.2",
	}
	oneFabric = machine{"efa rdmap0-rdm 100G efa", "tcp eth0 192.0.2.2"}
)

func TestFabric(t *testing.T) {
	for _, c := range []struct {
		name string
		on   machine
		w    Hints
		want string // the NICs and their fabric, those it could be moved to; or the error
	}{
		{"newer", twoFabrics, Hints{}, "rdmap0-rdm rdmap1-rdm on efa-direct of efa-direct efa"},
		{"older", twoOlder, Hints{}, "rdmap0-rdm rdmap1-rdm on efa of efa efa-direct"},
		{"oldest", oneFabric, Hints{Provider: "efa"}, "rdmap0-rdm on efa of efa"},
		{"named, and first", twoFabrics, Hints{Fabric: "efa-direct"}, "rdmap0-rdm rdmap1-rdm on efa-direct of efa-direct"},
		{"named, and second", twoFabrics, Hints{Fabric: "efa"}, "rdmap0-rdm rdmap1-rdm on efa of efa"},
		{"named with its provider", twoOlder, Hints{Provider: "EFA", Fabric: "efa-direct"}, "rdmap0-rdm rdmap1-rdm on efa-direct of efa-direct"},
		{"listed", twoFabrics, Hints{NICs: "rdmap1,rdmap0"}, "rdmap1-rdm rdmap0-rdm on efa-direct of efa-direct efa"},
		{"a NIC of the other fabric alone", append(slices.Clone(twoFabrics), "efa rdmap2-rdm 100G efa?"), Hints{}, "rdmap0-rdm rdmap1-rdm on efa-direct of efa-direct efa"},
		{"of another provider", twoFabrics, Hints{Provider: "tcp"}, "eth0 on  of "},
		{
			"not offered", oneFabric, Hints{Fabric: "efa-direct", version: "1.22"},
			`choose fabric "efa-direct": SHMEM_FABRIC names it, and libfabric 1.22 offers rdmap0-rdm on efa only (unset SHMEM_FABRIC, or install libfabric 2.1 or later for efa-direct)`,
		},
		{
			"no NIC", machine{"tcp eth0 192.0.2.2"}, Hints{Fabric: "efa", version: "2.6"},
			`choose fabric "efa": SHMEM_FABRIC names it, and libfabric 2.6 offers no NIC of the provider efa (unset SHMEM_FABRIC; shmem-info --fabric lists the offers)`,
		},
		{"on no NIC that is allowed", twoFabrics, Hints{Fabric: "efa", NICs: "rdmap7"}, `choose NIC: SHMEM_NIC_LIST=rdmap7 allows none of rdmap0-rdm, rdmap1-rdm (name one of them, or unset SHMEM_NIC_LIST)`},
		{
			"with another provider", twoFabrics, Hints{Provider: "tcp", Fabric: "efa"},
			`choose provider "tcp": SHMEM_FABRIC=efa names a fabric of the provider efa (unset SHMEM_FABRIC, or set SHMEM_PROVIDER=efa)`,
		},
		{
			"as a provider", twoFabrics, Hints{Provider: "efa-direct"},
			`choose provider "efa-direct": it is a fabric of the provider efa, not a provider (set SHMEM_PROVIDER=efa and SHMEM_FABRIC=efa-direct)`,
		},
	} {
		got := ""
		if choice, err := choose(c.on, c.w); err != nil {
			got = err.Error()
		} else {
			got = strings.Join(choice.NICs(), " ") + " on " + choice.Fabric() + " of " + strings.Join(choice.Fabrics(), " ")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A choice keeps its NICs on another fabric, in their order, or stays as it is.
func TestMoveTo(t *testing.T) {
	c, err := choose(twoFabrics, Hints{NICs: "rdmap1,rdmap0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.moveTo(twoFabrics, "efa"); err != nil || c.Fabric() != "efa" || strings.Join(c.NICs(), " ") != "rdmap1-rdm rdmap0-rdm" {
		t.Errorf("moved to %s on %v, error %v", c.Fabric(), c.NICs(), err)
	}
	if err := c.moveTo(twoFabrics[1:3], "efa-direct"); err == nil || !strings.Contains(err.Error(), "NIC rdmap0-rdm is not offered on it") {
		t.Errorf("error %v", err)
	}
}

func TestSecond(t *testing.T) {
	for _, c := range []struct {
		version          string
		number           uint32
		provider, fabric string
		want             bool
	}{
		{"1.22", 1<<16 | 22, "efa", "efa", false},
		{"2.3", 2<<16 | 3, "efa", "efa", false},
		{"2.3", 2<<16 | 3, "efa", "efa-direct", true},
		{"2.4", 2<<16 | 4, "efa", "efa", true},
		{"2.4", 2<<16 | 4, "efa", "efa-direct", false},
		{"3.0", 3 << 16, "efa", "efa", true},
		{"2.4", 2<<16 | 4, "net", "192.0.2.0/24", false},
	} {
		if got := (Library{number: c.number}).isSecondChoice(&offer{Offer: Offer{Provider: c.provider, Fabric: c.fabric}}); got != c.want {
			t.Errorf("%s of %s with libfabric %s comes secondChoice: %t", c.fabric, c.provider, c.version, got)
		}
	}
}

// Why an offer is not taken says which fabric is.
func TestWhyFabric(t *testing.T) {
	for _, c := range []struct{ fabric, want string }{
		{"", "fabric efa-direct of this version of libfabric comes first, unless SHMEM_FABRIC names this one"},
		{"efa-direct", "SHMEM_FABRIC=efa-direct names another"},
	} {
		w := Hints{Fabric: c.fabric}
		first, err := find(twoFabrics, w)
		if err != nil {
			t.Fatal(err)
		}
		if got := why(twoFabrics.list("")[2], first, w); got != c.want {
			t.Errorf("SHMEM_FABRIC=%s: %s, want %s", c.fabric, got, c.want)
		}
	}
}
