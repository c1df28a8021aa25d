package figure

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const written = `head	library=libshmem 0.1.0	pes=4	path=network	of=2
facts	pe=0	text={"cpu":"first","nics":[{"name":"eth0","up":true}]}
facts	pe=3	text={"cpu":"last"}
nic	name=eth0
figure	test=put	measure=latency	scope=host	size=4096	unit=us	until=quiet	iterations=64	singles=20	p50=2	p90=3	p99=4	max=5	batches=3,1,2
progress	done=1	of=2
hello
wrong	test=put	measure=rate	size=8	pes=2
figure	test=put	measure=rate	scope=host	size=8	unit=Mop/s	until=quiet after each burst	iterations=1	batches=7
progress	done=2	of=2
end	figures=2	wrong=1
`

// kept reads lines and returns what the events made of them, in their order, as JSON lines.
func kept(t *testing.T, text string) (lines string, others []string, err error) {
	t.Helper()
	var out strings.Builder
	keep := func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(data, '\n'))
	}
	err = Read(strings.NewReader(text), Ours, "id", []string{"put"}, Events{
		Run: func(r *Run) { keep(r) }, Figure: func(f *Figure) { keep(f) }, Wrong: func(w *Wrong) { keep(w) },
		Progress: func(int, int) {}, Other: func(line string) { others = append(others, line) },
	})
	return out.String(), others, err
}

// TestRead: what PE 0 writes is in the file, and is the same when the file is read.
func TestRead(t *testing.T) {
	lines, others, err := kept(t, written)
	if err != nil || len(others) != 1 || others[0] != "hello" {
		t.Errorf("%v, other lines %q", err, others)
	}
	name := filepath.Join(t.TempDir(), "figures.jsonl")
	if err := os.WriteFile(name, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Runs) != 1 || len(s.Figures) != 2 || len(s.Wrong) != 1 {
		t.Fatalf("%d runs, %d figures, %d wrong in\n%s", len(s.Runs), len(s.Figures), len(s.Wrong), lines)
	}
	run, put := s.Runs[0], s.Figures[0]
	if run.PEs != 4 || run.Path != "network" || len(run.NICs) != 1 || run.NICs[0] != "eth0" || len(run.Hosts) != 2 || run.Hosts[1].PE != 3 ||
		run.Hosts[1].CPU != "last" || len(run.Hosts[0].NICs) != 1 {
		t.Errorf("run %+v", run)
	}
	if put.Key().String() != "put latency of 4K, 4 PEs, network" || put.NICs != 1 || put.Median != 2 || put.Low != 1 || put.High != 3 || put.Singles == nil ||
		*put.Singles != (Singles{20, 2, 3, 4, 5}) || put.Until != "quiet" || put.Iterations != 64 {
		t.Errorf("figure %+v, %+v", put, put.Singles)
	}
	if s.Figures[1].Singles != nil || s.Wrong[0].PEs != 2 || s.Wrong[0].Measure != "rate" {
		t.Errorf("figure %+v, wrong %+v", s.Figures[1], s.Wrong[0])
	}
}

// TestUnfinished: PEs that end before their last figure are an error, and what they wrote is kept.
func TestUnfinished(t *testing.T) {
	cut := written[:strings.Index(written, "wrong\t")]
	lines, _, err := kept(t, cut)
	if !errors.Is(err, ErrUnfinished) || strings.Count(lines, "\n") != 2 {
		t.Errorf("%v after\n%s", err, lines)
	}
}

func TestLoadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "has none",
		"no\n":                              "line 1: ",
		`{"kind":"run"}` + "\n":             "has none",
		`{"kind":"other"}` + "\n":           `line 1: kind "other" is not run, figure or wrong`,
		"\n" + `{"kind":"figure"}` + "\n":   "line 2: a figure without batches",
		`{"kind":"figure","size":"8"}` + "": "line 1: ",
	} {
		name := filepath.Join(t.TempDir(), "figures.jsonl")
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Load("no such file"); err == nil || !strings.Contains(err.Error(), "(name a file that --out has written)") {
		t.Errorf("%v", err)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{1234.5: "1234", 123.4: "123", 12.34: "12.3", 1.234: "1.23", 0.01234: "0.0123"} {
		if got := Number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 8: "8", 1 << 10: "1K", 3 << 20: "3M", 1 << 30: "1G", 1025: "1025"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
		if got, err := ParseBytes(want); err != nil || got != n {
			t.Errorf("%s: %d, %v", want, got, err)
		}
	}
	for _, text := range []string{"", "-1", "1.5K", "K", "9999999999999999999", "2000G"} {
		if n, err := ParseBytes(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}
