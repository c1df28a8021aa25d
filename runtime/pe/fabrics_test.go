package pe

import (
	"strings"
	"testing"
)

func TestCommonFabric(t *testing.T) {
	var (
		old    = nicCard{NICs: 1, Fabric: "efa", Fabrics: []string{"efa"}, Version: "1.22"}
		middle = nicCard{NICs: 1, Fabric: "efa", Fabrics: []string{"efa", "efa-direct"}, Version: "2.3"}
		newer  = nicCard{NICs: 4, Fabric: "efa-direct", Fabrics: []string{"efa-direct", "efa"}, Version: "2.6"}
		forced = nicCard{NICs: 1, Fabric: "efa-direct", Fabrics: []string{"efa-direct"}, Version: "2.6"}
		tcp    = nicCard{NICs: 1}
	)
	const remedy = ": their endpoints do not understand each other (set SHMEM_FABRIC alike for all PEs, or give all the same libfabric)"
	for what, test := range map[string]struct {
		cards      []nicCard
		want, text string
	}{
		"alone":             {[]nicCard{newer}, "efa-direct", ""},
		"alike":             {[]nicCard{newer, newer, forced}, "efa-direct", ""},
		"alike on efa":      {[]nicCard{old, middle}, "efa", ""},
		"old and new":       {[]nicCard{old, newer}, "efa", ""},
		"new and old":       {[]nicCard{newer, newer, old}, "efa", ""},
		"both have both":    {[]nicCard{newer, middle}, "efa", ""},
		"set for one":       {[]nicCard{middle, forced}, "efa-direct", ""},
		"no fabric by name": {[]nicCard{tcp, tcp}, "", ""},
		"another provider":  {[]nicCard{newer, tcp, old}, "", ""},
		"refused":           {[]nicCard{old, forced}, "", "PE 0 can take fabric efa of libfabric 1.22 only and PE 1 can take fabric efa-direct of libfabric 2.6 only" + remedy},
		"refused, later":    {[]nicCard{middle, forced, newer, old}, "", "PE 1 can take fabric efa-direct of libfabric 2.6 only and PE 3 can take fabric efa of libfabric 1.22 only" + remedy},
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
	// What PEs tell is small: a large job gathers it from each.
	b, err := encode(newer)
	if err != nil || len(b) > 40 || strings.Contains(string(b), "NICs") {
		t.Errorf("a card has %d bytes, error %v", len(b), err)
	}
}
