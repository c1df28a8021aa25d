package abi

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/abi/fold"
	"libshmem/tests/need"
)

// exported lists the dynamic symbols that a library defines, sorted, as nm
// prints them: with the version node after @@.
func exported(t *testing.T, path string) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(tool(t, "nm", "-D", "--defined-only", path)) {
		fields := strings.Fields(line)
		// A version node is listed as an absolute symbol.
		if name := fields[len(fields)-1]; fields[len(fields)-2] != "A" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// listed gives the names of symbols.txt.
func listed(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("symbols.txt")
	if err != nil {
		t.Fatal(err)
	}
	names, err := fold.Expand(string(data))
	if err != nil {
		t.Fatalf("symbols.txt: %v", err)
	}
	return names
}

// global lists the names that a version script makes public, sorted.
func global(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	_, text, ok := strings.Cut(text, "global:")
	text, rest, ok2 := strings.Cut(text, "local:")
	if !ok || !ok2 || strings.Fields(rest)[0] != "*;" {
		t.Fatalf("read %s: no global: part, or a local: part that does not hide all else", path)
	}
	var names []string
	for _, name := range strings.Fields(text) {
		name = strings.TrimSuffix(name, ";")
		if strings.ContainsAny(name, "*?[") {
			t.Errorf("%s: %s is a wildcard", path, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// differ reports the differences in both directions.
func differ(t *testing.T, a string, as []string, b string, bs []string) {
	t.Helper()
	for _, name := range as {
		if !slices.Contains(bs, name) {
			t.Errorf("%s is in %s, not in %s", name, a, b)
		}
	}
	for _, name := range bs {
		if !slices.Contains(as, name) {
			t.Errorf("%s is in %s, not in %s", name, b, a)
		}
	}
}

func TestFrontExports(t *testing.T) {
	want := listed(t)
	table := slices.Concat(spec.Shmem.Names(), spec.Shmem.ProfilingNames(), spec.Shmem.ExtensionNames(), spec.Shmem.Private)
	slices.Sort(table)
	differ(t, "symbols.txt", want, "capi/spec", table)
	differ(t, "symbols.txt", want, "zz_libshmem.map", global(t, filepath.Join(need.Folder(t), "gen", "front", "zz_libshmem.map")))
	versioned := make([]string, len(want))
	for i, name := range want {
		versioned[i] = name + "@@" + spec.Shmem.Node
	}
	differ(t, "symbols.txt", versioned, "libshmem.so", exported(t, library(t, "libshmem.so")))
}

// TestCoreExports: the Go half has one public name. Any other would be a Go runtime's, and clash
// with a second Go library in the process.
func TestCoreExports(t *testing.T) {
	want := []string{spec.CoreSymbol}
	differ(t, "capi/spec", want, "zz_core.map", global(t, "../../capi/core/zz_core.map"))
	differ(t, "capi/spec", want, "libshmem_core.so", exported(t, library(t, "libshmem_core.so")))
}

// TestPluginExports: NCCL finds the plugin's tables by name, and takes a file with other names of
// its plugins for more than this one is.
func TestPluginExports(t *testing.T) {
	want := []string{"ncclRmaPlugin_v13", "ncclRmaPlugin_v14", "ncclRmaPlugin_v15", "ncclRmaPlugin_v16"}
	differ(t, "NCCL", want, "libshmem_rma.so", exported(t, library(t, "libshmem_rma.so")))
}

// TestNeeds: both libraries load on a machine that has only a C library; libfabric and hwloc are
// loaded if they exist.
func TestNeeds(t *testing.T) {
	needed := regexp.MustCompile(`\(NEEDED\).*\[(.*)\]`)
	allowed := regexp.MustCompile(`^(libc|libdl|libpthread|ld-linux[\w-]*)\.so\.\d+$`)
	for _, name := range []string{"libshmem.so", "libshmem_core.so"} {
		dynamic := tool(t, "readelf", "-d", library(t, name))
		for _, m := range needed.FindAllStringSubmatch(dynamic, -1) {
			if !allowed.MatchString(m[1]) {
				t.Errorf("%s needs %s", name, m[1])
			}
		}
		if !strings.Contains(dynamic, "NODELETE") {
			t.Errorf("%s can be unloaded: a Go runtime in the process cannot", name)
		}
	}
}

// TestEveryNameIsCalled: a public function that no program of tests/c calls could have no effect,
// and no test would fail.
func TestEveryNameIsCalled(t *testing.T) {
	programs, err := filepath.Glob("../c/*.h")
	if err != nil || len(programs) == 0 {
		t.Fatalf("list the headers of tests/c: %d files, error %v", len(programs), err)
	}
	called := map[string]bool{}
	call := regexp.MustCompile(`\b(\w+)\)?\(`)
	for _, path := range append(programs, need.Programs(t)...) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(data), -1) {
			called[m[1]] = true
		}
	}
	for _, name := range spec.Shmem.Names() {
		if !called[name] {
			t.Errorf("%s: no program of tests/c calls it", name)
		}
	}
}
