package abi

import (
	"os/exec"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// A dialect is a compiler with the flags of a language version.
type dialect struct{ name, compiler, language, std string }

func dialects() []dialect {
	c, cxx := cc.C(), cc.CXX()
	return []dialect{
		{"C99", c, "c", "c99"},
		{"C11", c, "c", "c11"},
		{"C17", c, "c", "c17"},
		{"C++11", cxx, "c++", "c++11"},
		{"C++14", cxx, "c++", "c++14"},
		{"C++17", cxx, "c++", "c++17"},
		{"C++20", cxx, "c++", "c++20"},
	}
}

func (d dialect) args(more ...string) []string {
	return append([]string{"-x", d.language, "-std=" + d.std, "-Wall", "-Wextra", "-Wpedantic",
		"-I../../include", "-fsyntax-only"}, more...)
}

// TestHeader compiles a file that includes shmem.h first and uses constructs that only a compiler
// can check, in each dialect of users.
func TestHeader(t *testing.T) {
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			tool(t, d.compiler, d.args("-Werror", "testdata/header.c")...)
		})
	}
}

// TestHeaderByClang: clang has no warning about the headers with functions for CUDA either, whose
// types of 16 bits are incomplete there.
func TestHeaderByClang(t *testing.T) {
	clang := need.Command(t, "clang")
	for _, header := range []string{"shmemx.h", "nvshmem/nvshmemx.h"} {
		d := dialect{"C++17", clang, "c++", "c++17"}
		if out, err := exec.Command(clang, d.args("-Werror", "../../include/"+header)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %.1000q", header, err, out)
		}
	}
}

// TestDeprecated: a compiler warns about each use of a deprecated name, once, and about nothing
// else; and not when the program allows deprecated names.
func TestDeprecated(t *testing.T) {
	const file = "testdata/deprecated.c"
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			out, err := exec.Command(d.compiler, d.args(file)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			// The dialect lacks the constructs that it does not compile.
			seen := tool(t, d.compiler, d.args("-E", "-C", file)...)
			_, seen, _ = strings.Cut(seen, "void use(void)\n{")
			want := strings.Count(seen, "WARNED")
			if got := strings.Count(string(out), "warning:"); got != want || want < 9 ||
				strings.Count(string(out), "deprecated: use") != want {
				t.Errorf("%d warnings, want %d:\n%s", got, want, out)
			}
			tool(t, d.compiler, d.args("-Werror", "-DSHMEM_ALLOW_DEPRECATED", file)...)
		})
	}
}
