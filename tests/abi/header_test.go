package abi

import (
	"testing"
)

// TestHeader compiles a file that includes shmem.h first and uses what only a
// compiler can judge, in each dialect that users have.
func TestHeader(t *testing.T) {
	for _, d := range []struct{ name, compiler, language, std string }{
		{"C99", compiler("CC", "gcc"), "c", "c99"},
		{"C11", compiler("CC", "gcc"), "c", "c11"},
		{"C17", compiler("CC", "gcc"), "c", "c17"},
		{"C++17", compiler("CXX", "g++"), "c++", "c++17"},
	} {
		t.Run(d.name, func(t *testing.T) {
			tool(t, d.compiler, "-x", d.language, "-std="+d.std, "-Wall", "-Wextra", "-Wpedantic",
				"-Werror", "-I../../include", "-fsyntax-only", "testdata/header.c")
		})
	}
}
