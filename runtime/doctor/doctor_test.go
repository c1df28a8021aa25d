package doctor

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"libshmem/runtime/config"
)

var rewrite = flag.Bool("rewrite", false, "write what is found into the files of testdata")

// want is the file of a scenario with the expected findings.
const want = "want"

// TestFindings looks at machines that are made of the files of an archive. Its comment holds the
// settings, the lines that begin with a dollar sign.
func TestFindings(t *testing.T) {
	scenarios, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scenarios) == 0 {
		t.Fatalf("%d scenarios, %v", len(scenarios), err)
	}
	for _, file := range scenarios {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			golden := -1
			for i, f := range a.Files {
				if f.Name == want {
					golden = i
					continue
				}
				name := filepath.Join(root, f.Name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if golden < 0 {
				t.Fatalf("%s has no file %s", file, want)
			}
			var b strings.Builder
			for _, f := range At(root).Findings(settings(t, string(a.Comment))) {
				if (f.Verdict == OK) != (f.Remedy == "") {
					t.Errorf("%s: a remedy, or none, beside this verdict", f)
				}
				fmt.Fprintln(&b, strings.ReplaceAll(f.String(), root, "ROOT"))
			}
			if *rewrite {
				a.Files[golden].Data = []byte(b.String())
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if b.String() != string(a.Files[golden].Data) {
				t.Errorf("got\n%s\nwant\n%s", b.String(), a.Files[golden].Data)
			}
		})
	}
}

func settings(t *testing.T, comment string) *config.Config {
	t.Helper()
	var environ []string
	for line := range strings.Lines(comment) {
		if set, ok := strings.CutPrefix(line, "$ "); ok {
			environ = append(environ, strings.TrimSpace(set))
		}
	}
	cfg, warnings, err := config.Parse(environ)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return cfg
}

func TestThisMachine(t *testing.T) {
	all := At("").Findings(settings(t, ""))
	if len(all) < 8 {
		t.Errorf("%d findings", len(all))
	}
	if all[0].Subject != "kernel" || all[0].Verdict == Wrong {
		t.Errorf("%s", all[0])
	}
}

func TestWorst(t *testing.T) {
	none, some, bad := Well("a", "b"), Lack("a", "c", "b"), Bad("a", "c", "b\nd")
	for _, c := range []struct {
		all  []Finding
		want Verdict
	}{
		{nil, OK}, {[]Finding{none}, OK}, {[]Finding{none, some, none}, Lacks}, {[]Finding{some, bad, none}, Wrong},
	} {
		if got := Worst(c.all); got != c.want {
			t.Errorf("%v: %v, want %v", c.all, got, c.want)
		}
	}
	if got, want := bad.String(), "no  a: b; d (c)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := some.String(), "-   a: b (c)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
