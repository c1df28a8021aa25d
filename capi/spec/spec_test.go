package spec

import (
	"maps"
	"os"
	"strings"
	"testing"
)

// standardNames reads the specification's list: name to element type or size.
func standardNames(t *testing.T, list string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 4 {
			t.Fatalf("read %s: %d fields in %q, want 4", list, len(fields), line)
		}
		names[fields[0]] = fields[3]
	}
	return names
}

// TestDeprecated: each name is in the table, and said to be deprecated; no other is.
func TestDeprecated(t *testing.T) {
	old := standardNames(t, "testdata/deprecated.tsv")
	for _, c := range Shmem.Chapters() {
		for i := range c.Families {
			for _, f := range c.Families[i].Functions() {
				if _, ok := old[f.Name]; ok != (f.Family.Instead != "") {
					t.Errorf("%s: deprecated by the specification: %v, by the table: %v", f.Name, ok, !ok)
				}
				delete(old, f.Name)
			}
		}
	}
	for name := range old {
		t.Errorf("%s: deprecated, and missing", name)
	}
}

// TestComplete holds the table against the specification: each of its names, and no
// other, deprecated ones included.
func TestComplete(t *testing.T) {
	names := standardNames(t, "testdata/openshmem.tsv")
	maps.Copy(names, standardNames(t, "testdata/deprecated.tsv"))
	if len(names) < 1870 {
		t.Fatalf("the lists have %d names", len(names))
	}
	present := map[string]bool{}
	for _, name := range Shmem.Names() {
		if present[name] {
			t.Errorf("%s: two rows make this name", name)
		}
		present[name] = true
		if _, ok := names[name]; !ok {
			t.Errorf("%s: not a function of OpenSHMEM 1.6", name)
		}
	}
	for name := range names {
		if !present[name] {
			t.Errorf("%s: missing", name)
		}
	}
}

// TestRows finds rows that a reader of the header could not use.
func TestRows(t *testing.T) {
	for _, c := range Shmem.Chapters() {
		for i := range c.Families {
			f := &c.Families[i]
			at := c.File + ": " + f.Name
			if f.Front == "" && (f.Kernel != nil || f.Stream != nil) {
				continue // only kernels and streams have it
			}
			if f.Section == "" || f.Since == "" || f.Doc == "" || f.Front == "" {
				t.Errorf("%s: Section, Since, Doc and Front must be set", at)
			}
			if (f.Variants&Nbi != 0) != (f.DocNbi != "") {
				t.Errorf("%s: DocNbi and the variant Nbi belong together", at)
			}
			if (f.Result != "") != (f.Returns != "") {
				t.Errorf("%s: Returns says what Result means, and needs one", at)
			}
			if !strings.Contains(f.Front, "$call") {
				t.Errorf("%s: Front must pass $call, which error messages name", at)
			}
			if len(f.Types) > 0 && f.Check == ByHand {
				t.Errorf("%s: a family with types needs a Check", at)
			}
			for _, text := range []string{f.Doc, f.DocNbi, f.Returns, f.Errors, f.Order} {
				if text != "" && !strings.HasSuffix(text, ".") {
					t.Errorf("%s: not a sentence: %q", at, text)
				}
			}
			for _, p := range f.Params {
				if p.Doc == "" && p.Role == Plain {
					t.Errorf("%s: parameter %s has neither Role nor Doc", at, p.Name)
				}
			}
		}
	}
}
