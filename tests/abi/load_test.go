package abi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem"
)

// TestLoad: loading starts nothing, prints nothing, changes no signal's
// handling, and does not end the process.
func TestLoad(t *testing.T) {
	front := library(t, "libshmem.so")
	succeeds(t, "loaded\n", filepath.Dir(front), compile(t, "load.c", "-ldl"), front)
}

// TestLoadTwice: a program and its plug-ins may each open the library, close it
// and open it again, before and after use.
func TestLoadTwice(t *testing.T) {
	front := library(t, "libshmem.so")
	succeeds(t, "used twice\n", filepath.Dir(front), compile(t, "twice.c", "-ldl"), front)
}

// TestStaticProgram: a program without a dynamic loader can load the library, but not use it: the
// first initialisation reports this; it used to end with a segmentation fault.
func TestStaticProgram(t *testing.T) {
	front := library(t, "libshmem.so")
	for _, how := range []string{"-static", "-static-pie"} {
		r := start(t, filepath.Dir(front), compile(t, "twice.c", how), front)
		if r.status != 1 || r.stdout != "" {
			t.Errorf("%s: status %d, stdout %q; want 1 and nothing", how, r.status, r.stdout)
		}
		oneMessage(t, r.stderr, "shmem_init", "linked statically")
	}
}

// TestFork: a process that has loaded the library, but not used it, may fork;
// child and parent are then jobs of their own.
func TestFork(t *testing.T) {
	dir := filepath.Dir(library(t, "libshmem.so"))
	succeeds(t, "child done\nparent done\n", dir, linked(t, "fork.c"))
}

// TestForkAfterInit: the child of a PE is not a PE. Its call ends with one line, and does not hang
// or disturb the parent.
func TestForkAfterInit(t *testing.T) {
	dir := filepath.Dir(library(t, "libshmem.so"))
	program := linked(t, "forked.c")
	for _, call := range []string{"shmem_my_pe", "shmem_barrier_all", "shmem_int_p", "shmem_malloc", "shmem_init"} {
		t.Run(call, func(t *testing.T) {
			r := start(t, dir, program, call)
			if r.status != 0 || r.stdout != "child failed, parent done\n" {
				t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
			}
			oneMessage(t, r.stderr, call)
		})
	}
}

// TestWithoutSignalStack: a process ends normally although its main thread no longer has a signal
// stack. Without the fix one of some 130 runs failed.
func TestWithoutSignalStack(t *testing.T) {
	dir := filepath.Dir(library(t, "libshmem.so"))
	program := linked(t, "stackless.c")
	for range 300 {
		if r := start(t, dir, program); r.status != 0 || r.stdout != "ends\n" {
			t.Fatalf("status %d, stdout %q, stderr %.300q", r.status, r.stdout, r.stderr)
		}
	}
}

// TestPython: ctypes loads the library late, into a process with threads, and earlier settings
// apply.
func TestPython(t *testing.T) {
	front := library(t, "libshmem.so")
	r := start(t, filepath.Dir(front), "python3", filepath.Join("testdata", "late.py"), front)
	if r.status != 0 || r.stdout != "ok\n" {
		t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
	// The program allocates more than its setting allows.
	oneMessage(t, r.stderr, "shmem_malloc", "SHMEM_SYMMETRIC_SIZE")
}

// oneMessage: one line, in the form of every message, that names the call.
func oneMessage(t *testing.T, stderr string, words ...string) {
	t.Helper()
	if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "shmem: ") ||
		!strings.HasSuffix(stderr, ")\n") {
		t.Errorf("stderr %q: want one line `shmem: ...: cause (remedy)`", stderr)
	}
	for _, w := range words {
		if !strings.Contains(stderr, w) {
			t.Errorf("stderr %q does not name %q", stderr, w)
		}
	}
}

// TestCore: the front refuses a core that is missing, damaged, or of another
// build, before anything else happens.
func TestCore(t *testing.T) {
	program := linked(t, "single.c")
	front, err := os.ReadFile(library(t, "libshmem.so"))
	if err != nil {
		t.Fatal(err)
	}
	fake := func(t *testing.T, path string, flags ...string) {
		tool(t, "cp", compile(t, "core.c", append(flags, "-shared", "-fPIC")...), path)
	}
	for _, c := range []struct {
		name  string
		core  func(t *testing.T, path string)
		words []string
	}{
		{"missing", func(*testing.T, string) {}, []string{"cannot be loaded"}},
		{"damaged", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("not a library\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, []string{"cannot be loaded"}},
		{"other library", func(t *testing.T, path string) {
			tool(t, "cp", library(t, "libshmem.so"), path)
		}, []string{libshmem.Version}},
		{"other version", func(t *testing.T, path string) {
			fake(t, path, `-DBUILD="9.8.7"`)
		}, []string{"9.8.7", libshmem.Version}},
		{"other layout", func(t *testing.T, path string) {
			fake(t, path, "-DEXTRA=8")
		}, []string{libshmem.Version}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "libshmem.so"), front, 0o755); err != nil {
				t.Fatal(err)
			}
			core := filepath.Join(dir, "libshmem_core.so")
			c.core(t, core)
			r := start(t, dir, program)
			if r.status == 0 || r.stdout != "" {
				t.Errorf("status %d, stdout %q; want a failure without output", r.status, r.stdout)
			}
			oneMessage(t, r.stderr, append(c.words, "shmem_init", core)...)
		})
	}
}
