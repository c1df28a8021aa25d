package preload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// An event is one line of a trace.
type event struct {
	Ph, Name, Cat string
	PID, TID      int
	TS, Dur       float64
	Args          struct {
		PE    *int
		Bytes *uint64
		Team  *uint32

		Stolen float64
	}
}

// A head is what the first line says.
type head struct {
	Version, PE, NPEs      int
	Host, Program, Library string
	Lost, Discarded        uint64
	Clock                  []struct{ At, Offset, Error float64 }
	Unseen                 []string
}

// A part is one file.
type part struct {
	head
	calls  []event
	counts map[string]uint64
	teams  map[uint32][]int
}

// read takes a file apart. whole: it must be complete.
func read(t *testing.T, file string, whole bool) part {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if whole && !json.Valid(text) {
		t.Fatalf("%s is no JSON; it ends with %.200q", file, text[max(0, len(text)-200):])
	}
	lines := bytes.Split(text, []byte("\n"))
	if string(lines[0]) != "[" {
		t.Fatalf("%s begins with %.100q", file, lines[0])
	}
	p := part{counts: map[string]uint64{}, teams: map[uint32][]int{}}
	for i, line := range lines[1:] {
		line = bytes.TrimSuffix(bytes.TrimSpace(line), []byte(","))
		if len(line) == 0 || string(line) == "]" {
			continue
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			if !whole && i == len(lines)-2 {
				break
			}
			t.Fatalf("%s:%d: %v: %.300s", file, i+2, err, line)
		}
		var args struct{ Args json.RawMessage }
		var err error
		switch {
		case e.Ph == "X":
			p.calls = append(p.calls, e)
			continue
		case e.Name == "libshmem_trace":
			if err = json.Unmarshal(line, &args); err == nil {
				err = json.Unmarshal(args.Args, &p.head)
			}
			if i != 0 {
				err = fmt.Errorf("the head is not the first line")
			}
		case e.Name == "libshmem_counts":
			if err = json.Unmarshal(line, &args); err == nil {
				err = json.Unmarshal(args.Args, &p.counts)
			}
		case e.Name == "libshmem_team":
			var team struct {
				Team uint32
				PEs  []int
			}
			if err = json.Unmarshal(line, &args); err == nil {
				err = json.Unmarshal(args.Args, &team)
			}
			p.teams[team.Team] = team.PEs
		}
		if err != nil {
			t.Fatalf("%s:%d: %v: %.300s", file, i+2, err, line)
		}
	}
	if p.Version != 1 {
		t.Fatalf("%s: version %d in its head, which should be 1: %.300s", file, p.Version, lines[1])
	}
	return p
}

// names returns the functions in the order of the file.
func (p part) names() []string {
	var out []string
	for _, e := range p.calls {
		out = append(out, e.Name)
	}
	return out
}

// shim returns the library under test.
func shim(t *testing.T) string {
	return filepath.Join(need.Build(t), "lib", "libshmem_preload.so")
}

// program compiles a program of testdata against libshmem.so.
func program(t *testing.T, name string, flags ...string) string {
	t.Helper()
	build := need.Build(t)
	out := filepath.Join(t.TempDir(), name)
	cc.Source(t, out, filepath.Join("testdata", name+".c"), append(flags, "-L"+filepath.Join(build, "lib"), "-lshmem", "-ldl")...)
	return out
}

// A job is a command and what it is run with.
type job struct {
	dir    string // where it runs
	env    []string
	status int
}

// run starts a command, and returns standard output and error together.
func (j job) run(t *testing.T, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = j.dir
	cmd.Env = append(os.Environ(), j.env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != j.status {
		t.Fatalf("%s: %v, and not status %d\n%.4000s", strings.Join(argv, " "), err, j.status, out)
	}
	return string(out)
}

// traced runs a program of libshmem.so under shmemrun with words of SHMEM_PRELOAD, which may be
// "", and returns the first file of each PE.
func traced(t *testing.T, pes int, words, program string, args ...string) []part {
	t.Helper()
	dir := t.TempDir()
	build := need.Build(t)
	argv := []string{filepath.Join(build, "bin", "shmemrun"), "-n", fmt.Sprint(pes), "--timeout", "120",
		"-x", "LD_PRELOAD=" + shim(t), "-x", "SHMEM_PRELOAD=trace,file=" + dir + words, program}
	job{}.run(t, append(argv, args...)...)
	var out []part
	for pe := range pes {
		out = append(out, read(t, filepath.Join(dir, fmt.Sprintf("%d.json", pe)), true))
	}
	return out
}
