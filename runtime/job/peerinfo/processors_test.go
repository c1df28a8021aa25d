package peerinfo

import (
	"slices"
	"testing"

	"libshmem/runtime/topo"
)

// TestCrowded has the processor sets that launchers give.
func TestCrowded(t *testing.T) {
	set := func(cpus ...int) topo.Set { return topo.NewSet(cpus...) }
	four := set(0, 1, 2, 3)
	for name, c := range map[string]struct {
		sets []topo.Set
		want []bool
	}{
		"as many PEs as processors":          {[]topo.Set{four, four, four, four}, []bool{false, false, false, false}},
		"one PE more":                        {[]topo.Set{set(0, 1), set(0, 1), set(0, 1)}, []bool{true, true, true}},
		"each bound to its own":              {[]topo.Set{set(0), set(1), set(2), set(3)}, []bool{false, false, false, false}},
		"two bound to one":                   {[]topo.Set{set(0), set(0), set(1)}, []bool{true, true, false}},
		"two bound to one beside a free one": {[]topo.Set{set(2), four, set(2)}, []bool{true, false, true}},
		"bound ones leave nothing":           {[]topo.Set{set(0), set(1), set(0, 1)}, []bool{true, true, true}},
		"a half each":                        {[]topo.Set{set(0, 1), set(0, 1), set(2, 3), set(2, 3), set(2, 3)}, []bool{false, false, true, true, true}},
		"alone, not known":                   {[]topo.Set{""}, []bool{false}},
		"not known":                          {[]topo.Set{"", four}, []bool{true, false}},
	} {
		if got := crowded(c.sets); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
