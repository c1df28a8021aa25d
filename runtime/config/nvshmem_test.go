package config

import (
	"slices"
	"strings"
	"testing"
)

// TestNvshmemNames: the list is sorted, each name is there once and says something, and it has
// just those aliases that settings have.
func TestNvshmemNames(t *testing.T) {
	if !slices.IsSortedFunc(Nvshmem, func(a, b Theirs) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the list is not sorted")
	}
	listed := map[string]string{}
	for i := range Nvshmem {
		v := &Nvshmem[i]
		if _, twice := listed[v.Name]; twice || !strings.HasPrefix(v.Name, nvshmemPrefix) || len(v.Says()) < 10 {
			t.Errorf("%s: %s", v.Name, v.Says())
		}
		listed[v.Name] = v.Here
		if here := Lookup(v.Here); v.Here != "" && here == nil {
			t.Errorf("%s sets %s, which is no setting", v.Name, v.Here)
		} else if of := Lookup(v.Name); (of != nil) != (v.take == nil && v.Here != "") || of != here && of != nil {
			t.Errorf("%s: the table of settings says something else", v.Name)
		}
	}
	for _, s := range Table {
		for _, a := range s.Aliases {
			if strings.HasPrefix(a, nvshmemPrefix) && listed[a] != s.Name {
				t.Errorf("%s is an alias of %s, and not listed", a, s.Name)
			}
		}
	}
	if len(Nvshmem) < 100 {
		t.Errorf("%d names", len(Nvshmem))
	}
}
