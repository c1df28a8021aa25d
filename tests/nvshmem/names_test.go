package nvshmem

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestNames: the surface has each function and constant of the newest release, or left.tsv gives
// the reason; a row of that list may not claim more names than are missing. There is no other name.
func TestNames(t *testing.T) {
	known := readFacts(t, newest)
	there := map[string]bool{}
	for _, name := range spec.Nvshmem.Exported() {
		there[name] = true
		if slices.Contains(spec.Nvshmem.Private, name) {
			continue
		}
		if known.functions[name] == "" {
			t.Errorf("%s: NVSHMEM has no such function", name)
		}
	}
	for _, g := range slices.Concat(spec.Nvshmem.Constants(), spec.Nvshmem.ExtensionConstants()) {
		for _, c := range g.Constants {
			there[c.Name] = true
			// Enumerators with the prefix of internal names, which bindings use, are no facts; each
			// has the value of an index.
			if index, ok := strings.CutPrefix(c.Name, "NVSHMEMI_"); ok {
				if known.constants["NVSHMEM_"+index+"_INDEX"] != c.Value {
					t.Errorf("%s is %s", c.Name, c.Value)
				}
				continue
			}
			if _, ok := known.constants[c.Name]; !ok && c.Name != "NVSHMEM_VENDOR_STRING" {
				t.Errorf("%s: NVSHMEM has no such constant", c.Name)
			}
			if ok := known.constants[c.Name] != ""; ok && known.enum[c.Name] != g.Enum {
				t.Errorf("%s: a macro here or there, and an enumerator there or here", c.Name)
			}
		}
	}
	for _, macro := range regexp.MustCompile(`#define (\w+)`).FindAllStringSubmatch(spec.Nvshmem.Types, -1) {
		there[macro[1]] = true
	}
	for _, enumerator := range amount.FindAllStringSubmatch(spec.Nvshmem.Device.Types, -1) {
		there[enumerator[1]] = true
	}
	list := readLeft(t, "left.tsv")
	for _, name := range slices.Sorted(maps.Keys(merge(known.exports, known.constants))) {
		if there[name] {
			continue
		}
		listed := false
		for _, l := range list {
			if l.pattern.MatchString(name) {
				l.found, listed = append(l.found, name), true
			}
		}
		if !listed {
			t.Errorf("%s: absent, and not in left.tsv", name)
		}
	}
	for _, l := range list {
		if len(l.found) != l.n {
			t.Errorf("left.tsv: %s: %d names are absent, not %d", l.pattern, len(l.found), l.n)
		}
	}
}

func merge(exports map[string]bool, constants map[string]string) map[string]bool {
	all := maps.Clone(exports)
	for name := range constants {
		all[name] = true
	}
	return all
}

// TestOlder: every name of older releases is in the newest one, so that its list is enough.
func TestOlder(t *testing.T) {
	now := readFacts(t, newest)
	for _, version := range []string{"3.4.5", "3.7.2"} {
		then := readFacts(t, version)
		for name, shape := range then.functions {
			// The attributes have the same members in both versions.
			if strings.ReplaceAll(shape, "init_attr_v1", "init_attr_v2") != now.functions[name] {
				t.Errorf("%s: %s was %s, and is %s", version, name, shape, now.functions[name])
			}
		}
		for name := range then.exports {
			if _, ok := now.exports[name]; !ok {
				t.Errorf("%s: %s was exported", version, name)
			}
		}
		for field, at := range then.offsets {
			if is, ok := now.offsets[field]; ok && is != at {
				t.Errorf("%s: %v was at %d", version, field, at)
			}
		}
	}
}

// TestExports compares the exports of the library, and of that for programs that are built already,
// with the surface, and checks their names.
func TestExports(t *testing.T) {
	for name, node := range map[string]string{"libshmem_nvshmem.so": spec.Nvshmem.Node, "libnvshmem_host.so.3": "NVSHMEM"} {
		t.Run(name, func(t *testing.T) { exports(t, name, node) })
	}
}

func exports(t *testing.T, file, want string) {
	library := filepath.Join(need.Build(t), "lib", file)
	out, err := exec.Command("nm", "-D", "--defined-only", library).Output()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		name, node, ok := strings.Cut(fields[len(fields)-1], "@@")
		if fields[1] == "A" {
			continue // the node itself
		}
		if !ok || node != want || there[name] {
			t.Errorf("%s is exported with the node %q", name, node)
		}
		there[name] = true
	}
	names := spec.Nvshmem.Exported()
	for _, name := range names {
		if !there[name] {
			t.Errorf("%s is not exported", name)
		}
	}
	if len(there) != len(names) {
		t.Errorf("%d names are exported, and the surface has %d", len(there), len(names))
	}
	// A program's other OpenSHMEM must not be taken for libshmem.so (capi/nvshmem/below.c).
	dynamic, err := exec.Command("readelf", "-d", library).Output()
	if err != nil || !strings.Contains(string(dynamic), "soname: ["+file+"]") || strings.Contains(string(dynamic), "[libshmem.so]") {
		t.Errorf("%s, %v", dynamic, err)
	}
	asked, err := exec.Command("nm", "-D", "--undefined-only", library).Output()
	asked = bytes.Replace(asked, []byte("w nvshmemi_headers_release\n"), nil, 1) // of the program
	if err != nil || strings.Contains(string(asked), "shmem") {
		t.Errorf("%s, %v", asked, err)
	}
}

// TestShapes compiles a program that asserts the type of each function, the value of each constant
// and the place of each member.
func TestShapes(t *testing.T) {
	known := readFacts(t, newest)
	var b strings.Builder
	b.WriteString("#include <nvshmem.h>\n#include <nvshmemx.h>\n#include <cstddef>\n#include <type_traits>\n")
	functions, constants := 0, 0
	for _, name := range slices.Concat(spec.Nvshmem.Names(), spec.Nvshmem.ExtensionNames()) {
		functions++
		fmt.Fprintf(&b, "static_assert(std::is_same<decltype(&%s), %s>::value, \"%s\");\n", name, known.functions[name], name)
	}
	for _, g := range slices.Concat(spec.Nvshmem.Constants(), spec.Nvshmem.ExtensionConstants()) {
		for _, c := range g.Constants {
			if value, ok := known.constants[c.Name]; ok {
				constants++
				fmt.Fprintf(&b, "static_assert((long long)(%s) == %sLL, \"%s\");\n", c.Name, value, c.Name)
			}
		}
	}
	for name, size := range known.structs {
		fmt.Fprintf(&b, "static_assert(sizeof(%s) == %d, \"%s\");\n", name, size, name)
	}
	for field, at := range known.offsets {
		fmt.Fprintf(&b, "static_assert(offsetof(%s, %s) == %d, \"%s\");\n", field[0], field[1], at, strings.Join(field[:], "."))
	}
	if functions < 1100 || constants < 60 {
		t.Errorf("%d functions and %d constants", functions, constants)
	}
	source := filepath.Join(t.TempDir(), "shapes.cc")
	if err := os.WriteFile(source, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	compile(t, "g++", "-std=c++17", "-I../../include/nvshmem", "-fsyntax-only", source)
}

func compile(t *testing.T, compiler string, args ...string) {
	t.Helper()
	if strings.HasPrefix(compiler, "g") {
		args = append([]string{"-Wall", "-Wextra", "-Werror"}, args...)
	}
	cc.Run(t, compiler, args...)
}

// TestHeaders compiles each header alone, without CUDA and with it.
func TestHeaders(t *testing.T) {
	const root = "../../include/nvshmem"
	var headers []string
	for _, pattern := range []string{"*.h", "*/*.h", "*/*.cuh", "*/*/*.h", "*/*/*.hpp", "*/*/*.cuh", "*/*/*/*.cuh"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		headers = append(headers, found...)
	}
	if len(headers) < 15 {
		t.Fatalf("%d headers", len(headers))
	}
	work := t.TempDir()
	write := func(name string) string {
		var b strings.Builder
		for _, h := range headers {
			rel, err := filepath.Rel(root, h)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "#include <%s>\n", rel)
		}
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Run("alone", func(t *testing.T) {
		for _, h := range headers {
			compile(t, "gcc", "-std=c11", "-I"+root, "-fsyntax-only", "-x", "c", h)
			compile(t, "g++", "-std=c++17", "-I"+root, "-fsyntax-only", "-x", "c++", "-include", h, os.DevNull)
		}
	})
	t.Run("cuda", func(t *testing.T) {
		nvcc := need.NVCC(t)
		cuda := filepath.Join(filepath.Dir(nvcc), "..", "include")
		system := []string{"-isystem", cuda, "-isystem", filepath.Join(cuda, "cccl"), "-I" + root, "-fsyntax-only"}
		compile(t, "gcc", append(system, "-std=c11", write("all.c"))...)
		compile(t, "g++", append(system, "-std=c++17", write("all.cc"))...)
		compile(t, nvcc, "-std=c++17", "-arch=sm_75", "-ccbin", "gcc", "-Werror", "all-warnings", "-I"+root, "-I../../device", "-ptx", "-o", filepath.Join(work, "all.ptx"), write("all.cu"))
	})
}
