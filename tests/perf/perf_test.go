package perf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/need"
)

// run starts a command of the build, and returns what it wrote and its status.
func run(t *testing.T, argv ...string) (stdout, stderr string, status int) {
	t.Helper()
	bin := filepath.Join(need.Build(t), "bin")
	file := argv[0]
	if !filepath.IsAbs(file) {
		file = filepath.Join(bin, file)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, argv[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir()) // where mpirun leaves files
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// line is a line of the file of figures, as far as tests read it.
type line struct {
	Kind, System, Test, Measure, Path, Unit, Until string
	Size                                           int64
	PEs                                            int
	Batches                                        []float64
	Singles                                        *struct{ Count int64 }
	NICs                                           []string
	Hosts                                          []struct {
		PE         int
		Processors int
		NICs       []struct{ Name, By string }
	}
}

func (l line) name() string { return l.Test + "_" + l.Measure }

func parse(t *testing.T, text string) (lines []line) {
	t.Helper()
	for one := range strings.Lines(text) {
		var l line
		if err := json.Unmarshal([]byte(one), &l); err != nil {
			t.Fatalf("%v in %s", err, one)
		}
		lines = append(lines, l)
	}
	return lines
}

func ofKind(lines []line, kind string) (names []string) {
	for _, l := range lines {
		if l.Kind == kind {
			names = append(names, l.name())
		}
	}
	return names
}

// promised returns the figures that the page names.
func promised(t *testing.T) (names []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "perf.md"))
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile("`([a-z_-]+)`")
	_, section, _ := strings.Cut(string(page), "\n## What is measured\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for row := range strings.Lines(section) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 || !strings.HasPrefix(cells[1], " `") || strings.Contains(cells[1], "-") {
			continue
		}
		own, more, _ := strings.Cut(cells[2], ";")
		for _, test := range word.FindAllStringSubmatch(cells[1], -1) {
			for _, measure := range word.FindAllStringSubmatch(own, -1) {
				names = append(names, test[1]+"_"+measure[1])
			}
			if also := word.FindAllStringSubmatch(more, -1); len(also) == 2 && also[0][1] == test[1] {
				names = append(names, test[1]+"_"+also[1][1])
			}
		}
	}
	if len(names) < 30 {
		t.Fatalf("docs/guides/perf.md names %q", names)
	}
	return names
}

// unsized have one size.
func unsized(name string) bool {
	test, _, _ := strings.Cut(name, "_")
	return slices.Contains([]string{"p", "g", "fetch", "add", "compare", "swap", "set", "barrier", "sync"}, test)
}

// TestAll: what the page promises is measured, once for each size, and nothing else; each figure has
// the batches that were asked for, and the data are right.
func TestAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.jsonl")
	out, errs, status := run(t, "shmem-perf", "-n", "3", "-T", "1", "--batches", "3", "-s", "8,4K", "--out", file)
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s\n%s", status, errs, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := parse(t, string(text))
	var want []string
	for _, name := range promised(t) {
		want = append(want, name)
		if !unsized(name) {
			want = append(want, name)
		}
	}
	got := ofKind(lines, "figure")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("measured are\n%q\nwant\n%q", got, want)
	}
	for _, l := range lines[1:] {
		if l.Kind != "figure" || l.PEs != 3 || l.Path != "node" || len(l.Batches) != 3 || slices.Min(l.Batches) <= 0 || l.Until == "" {
			t.Errorf("line %+v", l)
		}
		if (l.Unit == "us") != (l.Singles != nil) {
			t.Errorf("%s in %s has single operations: %v", l.name(), l.Unit, l.Singles != nil)
		}
		if !strings.Contains(out, fmt.Sprintf("\n# %s %s, %s, until %s\n", l.Test, l.Measure, l.Unit, l.Until)) {
			t.Errorf("the table lacks %s", l.name())
		}
	}
	if r := lines[0]; r.Kind != "run" || r.PEs != 3 || len(r.Hosts) != 2 || r.Hosts[1].PE != 2 || r.Hosts[0].Processors == 0 {
		t.Errorf("run %+v", r)
	}
	// The same tests by their names.
	out, errs, status = run(t, "shmem-perf", "-n", "1", "-T", "1", "--batches", "1", "-s", "8", strings.Join(promised(t), ","))
	if status != 0 || !strings.Contains(out, "# barrier latency, us") || strings.Contains(out, "# put latency") || !regexp.MustCompile(`\n# left out: \d+ figures need 2 PEs\n`).MatchString(out) {
		t.Errorf("one PE, which has collectives alone: status %d: %s\n%s", status, errs, out)
	}
}

// TestNothing: a command line by which nothing can be measured is an error.
func TestNothing(t *testing.T) {
	for text, why := range map[string]string{"-n 1 put": "need 2 PEs", "-s 4 sum": "have elements of 8 bytes, and no such size"} {
		out, errs, status := run(t, append([]string{"shmem-perf", "-T", "1"}, strings.Fields(text)...)...)
		if status != 1 || !strings.Contains(out, "figures "+why+"\n") || !strings.HasPrefix(errs, "shmem-perf: measure: there is nothing of these tests and sizes to measure (") {
			t.Errorf("%s: status %d: %s\n%s", text, status, errs, out)
		}
	}
}

// TestWrong: damaged data are noticed in each figure that has data, and are an error.
func TestWrong(t *testing.T) {
	out, errs, status := run(t, "shmem-perf", "-T", "0.2", "--batches", "1", "-s", "64", "--json", "--spoil", "all")
	lines := parse(t, out)
	var want []string
	for _, name := range ofKind(lines, "figure") {
		if name != "barrier_latency" && name != "sync_latency" {
			want = append(want, name)
		}
	}
	if got := ofKind(lines, "wrong"); status != 1 || !slices.Equal(got, want) {
		t.Errorf("status %d, wrong are\n%q\nwant\n%q", status, got, want)
	}
	if !regexp.MustCompile(`(?m)^shmem-perf: check the data of put latency of 64: \d of the PEs found bytes that were not sent \(see `).MatchString(errs) {
		t.Errorf("%s", errs)
	}
}

// TestLaunchers: as PEs of a job, PE 0 alone prints, and the job ends with its status.
func TestLaunchers(t *testing.T) {
	tool := filepath.Join(need.Build(t), "bin", "shmem-perf")
	for _, argv := range [][]string{
		{"shmemrun", "-n", "2", "--timeout", "60"},
		{"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"},
		{"mpiexec.hydra", "-n", "2"},
	} {
		t.Run(argv[0], func(t *testing.T) {
			if argv[0] != "shmemrun" {
				argv[0] = need.Command(t, argv[0])
			}
			out, errs, status := run(t, append(slices.Clone(argv), tool, "-T", "1", "--batches", "1", "-s", "8", "put_lat")...)
			if status != 0 || strings.Count(out, "# put latency, us, until quiet\n") != 1 || strings.Count(out, ", 2 PEs, ") != 1 {
				t.Errorf("status %d: %s\n%s", status, errs, out)
			}
		})
	}
	_, errs, status := run(t, "shmemrun", "-n", "2", tool, "-T", "1", "--batches", "1", "-s", "8", "put_lat", "--spoil", "put:latency")
	if status != 1 || strings.Count(errs, "shmem-perf: check the data of put latency of 8") != 1 {
		t.Errorf("wrong data in a job: status %d: %s", status, errs)
	}
}

// TestLost: PEs that end too early are an error.
func TestLost(t *testing.T) {
	out, errs, status := run(t, "shmem-perf", "-T", "100000", "-s", "8", "put_lat", "--timeout", "1")
	if status != 1 || !strings.Contains(errs, "shmem-perf: the job of shmemrun ended with status 124 (see its messages above)") {
		t.Errorf("status %d: %s\n%s", status, errs, out)
	}
}

// TestEnded: a signal ends the PEs, too.
func TestEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.jsonl")
	bin := filepath.Join(need.Build(t), "bin")
	cmd := exec.Command(filepath.Join(bin, "shmem-perf"), "-T", "100000", "-s", "8", "-o", file, "put_latency", "-x", "SHMEM_PERF_TEST="+file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pes := func() (n int) {
		all, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is a good one
		for _, one := range all {
			text, _ := os.ReadFile(one) // of a process that has ended
			if bytes.Contains(text, []byte("SHMEM_PERF_TEST="+file)) {
				n++
			}
		}
		return n
	}
	need.Eventually(t, "two PEs", func() bool { return pes() == 2 })
	if err := cmd.Process.Signal(os.Interrupt); err != nil { // of another process than a terminal: ignored
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("ended by a signal: %v", err)
	}
	need.Eventually(t, "the end of the PEs", func() bool { return pes() == 0 })
}

// TestOSHMEM: the sources that are installed build against another OpenSHMEM, and measure it in
// turns with libshmem.
func TestOSHMEM(t *testing.T) {
	need.Command(t, "oshcc")
	tests := []string{"put_latency", "put_visible", "put_bandwidth", "fetch_add_latency", "broadcast_latency", "sum_latency", "alltoalls_latency"}
	args := []string{"shmem-perf", "-T", "0.2", "--batches", "1", "-s", "8", "--json", "--beside=oshmem", "--repeat", "2"}
	out, errs, status := run(t, append(args, tests...)...)
	var want, got []string
	for _, system := range []string{"libshmem", "oshmem", "libshmem", "oshmem"} {
		for _, test := range tests {
			want = append(want, system+" "+test)
		}
	}
	for _, l := range parse(t, out) {
		if l.Kind == "figure" {
			got = append(got, l.System+" "+l.name())
		}
	}
	if status != 0 || !slices.Equal(got, want) {
		t.Errorf("status %d: %s\nmeasured are\n%q\nwant\n%q", status, errs, got, want)
	}
}
