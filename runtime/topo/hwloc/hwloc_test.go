package hwloc

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/runtime/shmerr"
	"libshmem/runtime/topo"
	"libshmem/tests/cc"
)

// TestRead: hwloc sees the processors, NUMA nodes and NICs that the kernel shows.
func TestRead(t *testing.T) {
	m, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	sys, err := topo.ReadSys("")
	if err != nil {
		t.Fatal(err)
	}
	if m.CPUs != sys.CPUs || len(m.Nodes) != len(sys.Nodes) || !slices.Equal(m.Packages, sys.Packages) {
		t.Errorf("hwloc says %+v, /sys says %+v", m, sys)
	}
	for _, d := range sys.Devices {
		got := m.Find(d.PCI, "")
		if got == nil || got.Kind != d.Kind || !slices.Equal(got.Names, d.Names) || !slices.Equal(got.Bridges, d.Bridges) {
			t.Errorf("hwloc says %+v, /sys says %+v", got, d)
		}
	}
	if !strings.HasPrefix(m.Source, "this machine, hwloc 2.") {
		t.Errorf("source %q", m.Source)
	}
}

// TestMissing: without hwloc there is an error with its remedy, and nothing else.
func TestMissing(t *testing.T) {
	mu.Lock()
	defer mu.Unlock()
	had := version
	version = 0
	defer func() { version = had }()
	for file, want := range map[string]string{
		"libnosuch.so.15": "libnosuch.so.15: cannot open shared object file",
		"libc.so.6":       "libc.so.6 has no function hwloc_get_api_version",
	} {
		_, err := read(file)
		if !errors.Is(err, shmerr.ErrNoLibrary) || !strings.HasPrefix(err.Error(), "load hwloc: "+want) || !strings.HasSuffix(err.Error(), "(install hwloc 2, for example libhwloc15 on Debian)") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := read(soname); err != nil {
		t.Errorf("after a library that is none: %v", err)
	}
}

// BenchmarkRead reads this machine.
func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		if _, err := Read(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEnvironment: a thread that searches the environment while hwloc is read reads memory that is
// still there, and finds each variable of the program; behind it the variable for hwloc is gone.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	library, program := filepath.Join(dir, "library.so"), filepath.Join(dir, "program")
	cc.Run(t, cc.C(), "-shared", "-fPIC", "testdata/library.c", "-o", library)
	cc.Run(t, cc.C(), "-std=gnu11", "-g", "-fsanitize=address", "-rdynamic", "testdata/environment.c", "load.c", "-ldl", "-o", program)
	out, err := exec.Command(program, library).CombinedOutput()
	const one = "within: /nowhere, MINE 1, before 1\nhwloc_topology_init failed; behind it: none, MINE 1, before 1\n"
	if err != nil || string(out) != one+one+one {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSteps: a failure names the function of hwloc that has failed.
func TestSteps(t *testing.T) {
	dir := t.TempDir()
	library, program := filepath.Join(dir, "library.so"), filepath.Join(dir, "program")
	cc.Run(t, cc.C(), "-shared", "-fPIC", "testdata/library.c", "-o", library)
	cc.Run(t, cc.C(), "-std=gnu11", "-rdynamic", "testdata/steps.c", "load.c", "-ldl", "-o", program)
	out, err := exec.Command(program, library).CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 6 {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if failed, said, _ := strings.Cut(strings.TrimSpace(line), ": "); failed != said {
			t.Errorf("%s failed, and the error names %s", failed, said)
		}
	}
}
