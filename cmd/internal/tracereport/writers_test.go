package tracereport

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/cmd/internal/tracefile/sample"
)

// report returns the report of some files.
func report(t *testing.T, files ...*sample.File) (*Report, string) {
	t.Helper()
	dir := t.TempDir()
	for i, f := range files {
		if err := f.Write(filepath.Join(dir, fmt.Sprintf("%d.json", i))); err != nil {
			t.Fatal(err)
		}
	}
	r, _, err := Make([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	return r, text.String()
}

var spaces = regexp.MustCompile(`(?m)^ +| +`)

// In TestWriters PE 0 waits for PE 1, which writes last, then for PE 2, and at last for a value
// that is there already.
func TestWriters(t *testing.T) {
	f := []*sample.File{sample.Head(0, 3, ""), sample.Head(1, 3, ""), sample.Head(2, 3, "")}
	f[0].Call("shmem_int_wait_until", 1000, 500, "")
	f[2].Call("shmem_int_put", 1100, 10, `"pe":0,"bytes":4`)
	f[1].Call("shmem_int_get", 1450, 10, `"pe":0,"bytes":4`)
	f[1].Call("shmem_int_p", 1460, 10, `"pe":0,"bytes":4`)
	f[2].Call("shmem_int_p", 1470, 10, `"pe":1,"bytes":4`)
	f[0].Call("shmem_signal_wait_until", 2000, 3000, "")
	f[2].Call("shmem_putmem_signal", 4000, 10, `"pe":0,"bytes":4`)
	f[0].Call("shmem_signal_wait_until", 6000, 10, "")
	f[1].Call("shmem_int_wait_until", 7000, 10, "")
	f[2].Call("shmem_int_wait_until", 7000, 40, "")
	r, text := report(t, f...)
	want := []Guess{{0, 2, 3010, 2}, {0, 1, 500, 1}, {2, noWriter, 40, 1}, {1, 2, 10, 1}}
	if !slices.Equal(r.Guesses, want) {
		t.Errorf("%+v, want %+v", r.Guesses, want)
	}
	for _, line := range []string{"a guess, the PE that wrote there last", "\n0 PE 2? 3.01 us 2\n", "\n2 not known 40 ns 1\n"} {
		if !strings.Contains(strings.ReplaceAll(spaces.ReplaceAllString(text, " "), "\n ", "\n"), line) {
			t.Errorf("no line %q:\n%s", line, text)
		}
	}
	var page bytes.Buffer
	if err := r.HTML(&page); err != nil || !strings.Contains(page.String(), "<td>PE 2?<td>") {
		t.Errorf("%v, the page lacks the likely writers", err)
	}
}

// TestStarved: PE 1 had no processor for 80 % of the time, and the report begins with it.
func TestStarved(t *testing.T) {
	quiet, busy := sample.Head(0, 3, `"host":"one"`), sample.Head(1, 3, `"host":"one"`)
	some := sample.Head(2, 3, `"host":"one"`)
	for _, f := range []*sample.File{quiet, busy, some} {
		f.Call("shmem_init", 0, 1000, "")
	}
	quiet.Call("shmem_fence", 99_000, 1000, `"stolen":4`)
	busy.Call("shmem_fence", 99_000, 1000, `"stolen":80`)
	some.Call("shmem_fence", 99_000, 1000, `"stolen":6.5`)
	_, text := report(t, quiet, busy, some)
	const want = "Before the figures\n- PE 1 had no processor for 80 % of the time, PE 2 for 6 %: record on a quiet machine.\n"
	if !strings.HasPrefix(text, want) {
		t.Errorf("it does not begin with %q:\n%s", want, text)
	}
}

// TestSimulatedHosts: shmemrun --hosts gives the PEs of one machine names of hosts.
func TestSimulatedHosts(t *testing.T) {
	var files []*sample.File
	for pe := range 4 {
		f := sample.Head(pe, 4, fmt.Sprintf(`"host":"one","host_id":"host%d"`, pe/2))
		f.Call("shmem_init", int64(pe), 1000, "")
		files = append(files, f)
	}
	if _, text := report(t, files...); !strings.Contains(text, "4 PEs on one host (2 simulated by shmemrun --hosts) made 4 calls") {
		t.Error(text)
	}
}
