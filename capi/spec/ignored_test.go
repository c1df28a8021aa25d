package spec

import (
	"strings"
	"testing"
)

// TestIgnored: a field that the generator does not read in an extension is an error that names it.
func TestIgnored(t *testing.T) {
	if err := Ignored(); err != nil {
		t.Error(err)
	}
	for field, row := range map[string]Family{
		"Kernel": {Name: "flush", Kernel: []Kernel{{}}},
		"Stream": {Name: "flush", Stream: &Stream{}},
		"Python": {Name: "flush", Python: &Python{}},
		"Check":  {Name: "flush", Check: CheckPut},
	} {
		if err := ignoredIn(&row); err == nil || !strings.Contains(err.Error(), "the extension flush: nothing is made from its "+field+" (instead: ") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestNvshmemExtensions: of the extensions NVSHMEM's header has those that say so, and no others.
func TestNvshmemExtensions(t *testing.T) {
	have := map[string]bool{}
	for _, f := range Nvshmem.spelled(beyond, true) {
		for i := range f.Families {
			have[f.Families[i].Name] = true
		}
	}
	for _, c := range beyond {
		for i := range c.Families {
			if f := &c.Families[i]; f.Nvshmem != have[f.Name] {
				t.Errorf("nvshmemx_%s: there: %v, the row says %v", f.Name, have[f.Name], f.Nvshmem)
			}
		}
	}
	row := Family{Name: "later", Front: "0", X: true}
	if nvshmemRow(&row) {
		t.Error("a new extension is in NVSHMEM's header")
	}
}
