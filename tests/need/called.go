package need

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Called compares the names that programs called, from the file that CALLED named, with those of a
// table. The generator's list says which of them programs with FEWER_TYPES leave out.
func Called(t *testing.T, file, list string, table []string, fewer bool) {
	t.Helper()
	lines := func(path string) []string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	listed, expected := []string{}, map[string]bool{}
	for _, line := range lines(list) {
		name, alike := strings.CutSuffix(line, " alike")
		if strings.HasPrefix(line, "#") {
			continue
		}
		listed = append(listed, name)
		if !alike || !fewer {
			expected[name] = true
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(listed)), slices.Sorted(slices.Values(table))) {
		t.Errorf("%s has %d names, the table %d, and they are not the same (make build)", list, len(listed), len(table))
	}
	done := map[string]bool{}
	for _, name := range lines(file) {
		if !expected[name] && !done[name] {
			t.Errorf("%s is called, and not in the list", name)
		}
		done[name] = true
	}
	for _, name := range listed {
		if expected[name] && !done[name] {
			t.Errorf("%s: no program calls it", name)
		}
	}
	t.Logf("%d names called, of %d in the table", len(done), len(table))
}
