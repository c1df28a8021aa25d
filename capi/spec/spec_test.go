package spec

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// standard reads the specification's list: name to element type or size.
func standard(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/openshmem.tsv")
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
			t.Fatalf("read testdata/openshmem.tsv: %d fields in %q, want 4", len(fields), line)
		}
		names[fields[0]] = fields[3]
	}
	return names
}

var bytesForm = regexp.MustCompile(`^(\w*(?:put|get|broadcast|collect|alltoalls?))mem`)

// operation folds the types, sizes and the nonblocking form of a name, so that
// all names of one row have the same one.
func operation(name, typ string) string {
	op := strings.TrimSuffix(strings.TrimPrefix(name, "shmem_"), "_nbi")
	if typ == "-" {
		return bytesForm.ReplaceAllString(op, "$1")
	}
	if rest, ok := strings.CutPrefix(op, typ+"_"); ok {
		return rest
	}
	// Elsewhere in the name: ctx_int_put, put8_signal, ctx_put8_signal.
	if typ[0] >= '0' && typ[0] <= '9' {
		return strings.Replace(op, typ, "", 1)
	}
	return strings.Replace(op, "_"+typ+"_", "_", 1)
}

// TestComplete holds the table against the specification: no name that it does
// not have, and each operation that is there at all with every type, size and
// form.
func TestComplete(t *testing.T) {
	names := standard(t)
	present := map[string]bool{}
	operations := map[string]bool{}
	for _, name := range Names() {
		if present[name] {
			t.Errorf("%s: two rows make this name", name)
		}
		present[name] = true
		typ, ok := names[name]
		if !ok {
			t.Errorf("%s: not a function of OpenSHMEM 1.6, or a deprecated one", name)
			continue
		}
		operations[operation(name, typ)] = true
	}
	for name, typ := range names {
		if !present[name] && operations[operation(name, typ)] {
			t.Errorf("%s: missing, though the table has %s", name, operation(name, typ))
		}
	}
}

func TestOperation(t *testing.T) {
	for _, c := range []struct{ name, typ, want string }{
		{"shmem_int_put", "int", "put"},
		{"shmem_int_put_nbi", "int", "put"},
		{"shmem_put8", "8", "put"},
		{"shmem_put128_signal_nbi", "128", "put_signal"},
		{"shmem_putmem_signal", "-", "put_signal"},
		{"shmem_malloc", "-", "malloc"},
		{"shmem_ctx_int_put", "int", "ctx_put"},
		{"shmem_ctx_putmem", "-", "ctx_put"},
		{"shmem_int_atomic_fetch_add_nbi", "int", "atomic_fetch_add"},
	} {
		if got := operation(c.name, c.typ); got != c.want {
			t.Errorf("operation(%s, %s) = %s, want %s", c.name, c.typ, got, c.want)
		}
	}
}

// TestRows finds rows that a reader of the header could not use.
func TestRows(t *testing.T) {
	for _, c := range Chapters {
		for i := range c.Families {
			f := &c.Families[i]
			at := c.File + ": " + f.Name
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
