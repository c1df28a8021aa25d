package abi

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/cc"
)

// addresses maps each dynamic symbol of a library to its address.
func addresses(t *testing.T, path string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(tool(t, "nm", "-D", "--defined-only", path)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			name, _, _ := strings.Cut(fields[2], "@")
			out[name] = fields[0]
		}
	}
	return out
}

// TestProfilingNames: the second name of each function is the same code.
func TestProfilingNames(t *testing.T) {
	at := addresses(t, library(t, "libshmem.so"))
	for _, name := range spec.Shmem.Names() {
		if second := spec.Profiled(name); at[name] == "" || at[second] != at[name] {
			t.Errorf("%s is at %q, %s at %q", name, at[name], second, at[second])
		}
	}
}

// TestProfile runs a tool that counts the calls of a program, and only those: the tool does not see
// the library's own barriers and puts. The tool is linked, and then preloaded.
func TestProfile(t *testing.T) {
	libraries := filepath.Dir(library(t, "libshmem.so"))
	dir := t.TempDir()
	toolLibrary := filepath.Join(dir, "libprofile.so")
	flags := []string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I../../include"}
	gcc := func(args ...string) { tool(t, cc.C(), append(flags, args...)...) }
	gcc("-shared", "-fPIC", "-o", toolLibrary, "testdata/profile_tool.c", "-L"+libraries, "-lshmem")
	linkedTo, plain := filepath.Join(dir, "linked"), filepath.Join(dir, "plain")
	gcc("-o", linkedTo, "testdata/profiled.c", "-L"+dir, "-lprofile", "-L"+libraries, "-lshmem")
	gcc("-o", plain, "testdata/profiled.c", "-L"+libraries, "-lshmem")

	const want = "puts 2 collectives 2 starts 1 waits 1\n"
	succeeds(t, want, libraries+":"+dir, linkedTo)
	succeeds(t, "", libraries, plain)
	t.Setenv("LD_PRELOAD", toolLibrary)
	succeeds(t, want, libraries, plain)
}

// TestOverloads: the overloads of C++, each of which has a pointer in zz_overloads.cc.
func TestOverloads(t *testing.T) {
	libraries := filepath.Dir(library(t, "libshmem.so"))
	program := filepath.Join(t.TempDir(), "overloads")
	tool(t, cc.CXX(), "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I../../include",
		"-o", program, "testdata/overloads.cc", filepath.Join(libraries, "..", "gen", "abi", "zz_overloads.cc"), "-L"+libraries, "-lshmem")
	for line := range strings.Lines(tool(t, "nm", "--defined-only", program)) {
		if fields := strings.Fields(line); strings.HasPrefix(fields[len(fields)-1], "shmem_") {
			t.Errorf("the program defines a function of the library: %s", line)
		}
	}
	run := exec.Command(filepath.Join(libraries, "..", "bin", "shmemrun"), "-n", "3", "--timeout", "60", program)
	run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), " checks\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
