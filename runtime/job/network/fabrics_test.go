package network

import (
	"strings"
	"testing"

	"libshmem/runtime/job/meet"
)

func TestCommonFabric(t *testing.T) {
	var (
		old    = nicInfo{NICs: 1, Fabric: "efa", Fabrics: []string{"efa"}, Version: "1.22"}
		middle = nicInfo{NICs: 1, Fabric: "efa", Fabrics: []string{"efa", "efa-direct"}, Version: "2.3"}
		newer  = nicInfo{NICs: 4, Fabric: "efa-direct", Fabrics: []string{"efa-direct", "efa"}, Version: "2.6"}
		forced = nicInfo{NICs: 1, Fabric: "efa-direct", Fabrics: []string{"efa-direct"}, Version: "2.6"}
		tcp    = nicInfo{NICs: 1}
	)
	const remedy = ": their endpoints do not understand each other (set SHMEM_FABRIC to the same value on all PEs, or give all the same libfabric)"
	for what, test := range map[string]struct {
		cards      []nicInfo
		want, text string
	}{
		"alone":             {[]nicInfo{newer}, "efa-direct", ""},
		"alike":             {[]nicInfo{newer, newer, forced}, "efa-direct", ""},
		"alike on efa":      {[]nicInfo{old, middle}, "efa", ""},
		"old and new":       {[]nicInfo{old, newer}, "efa", ""},
		"new and old":       {[]nicInfo{newer, newer, old}, "efa", ""},
		"both have both":    {[]nicInfo{newer, middle}, "efa", ""},
		"set for one":       {[]nicInfo{middle, forced}, "efa-direct", ""},
		"no fabric by name": {[]nicInfo{tcp, tcp}, "", ""},
		"another provider":  {[]nicInfo{newer, tcp, old}, "", ""},
		"refused":           {[]nicInfo{old, forced}, "", "PE 0 can only use fabric efa of libfabric 1.22 and PE 1 can only use fabric efa-direct of libfabric 2.6" + remedy},
		"refused, later":    {[]nicInfo{middle, forced, newer, old}, "", "PE 1 can only use fabric efa-direct of libfabric 2.6 and PE 3 can only use fabric efa of libfabric 1.22" + remedy},
	} {
		got, err := commonFabric(test.cards)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != test.want || text != test.text {
			t.Errorf("%s: %q, error %q; want %q, %q", what, got, text, test.want, test.text)
		}
	}
	// A nicInfo is small: a large job gathers one from each PE.
	b, err := meet.Encode(newer)
	if err != nil || len(b) > 40 || strings.Contains(string(b), "NICs") {
		t.Errorf("a nicInfo has %d bytes, error %v", len(b), err)
	}
}
