// Package cc compiles the programs of tests, with the compilers that CC and CXX name, as make
// does, and with no warning.
package cc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// T is the part of testing.TB that is used here.
type T interface {
	Helper()
	TempDir() string
	Fatal(args ...any)
}

// C returns the compiler of C.
func C() string { return named("CC", "gcc") }

// CXX returns the compiler of C++.
func CXX() string { return named("CXX", "g++") }

func named(variable, usual string) string {
	if compiler := os.Getenv(variable); compiler != "" {
		return compiler
	}
	return usual
}

// Try runs a compiler. The error has the compiler's output.
func Try(compiler string, args ...string) error {
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%.4000s", compiler, strings.Join(args, " "), err, out)
	}
	return nil
}

// Run runs a compiler. If it fails the test ends with its output.
func Run(t T, compiler string, args ...string) {
	t.Helper()
	if err := Try(compiler, args...); err != nil {
		t.Fatal(err)
	}
}

// Source compiles one file of C or C++ into out. The flags override the usual ones.
func Source(t T, out, source string, flags ...string) {
	t.Helper()
	compiler, standard := C(), "-std=gnu11"
	if filepath.Ext(source) == ".cc" {
		compiler, standard = CXX(), "-std=c++17"
	}
	args := []string{standard, "-Wall", "-Wextra", "-Werror", "-O2", "-pthread", "-I../../include", "-o", out, source}
	Run(t, compiler, append(args, flags...)...)
}

// Program compiles one file into a program of the library in build, and returns its path, in a
// folder of the test's.
func Program(t T, build, source string, flags ...string) string {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
	program := filepath.Join(t.TempDir(), name)
	Source(t, program, source, append(flags, "-L"+filepath.Join(build, "lib"), "-lshmem")...)
	return program
}

// Header compiles a header of C++ that several programs begin with into a folder, and returns the
// flags by which a program with the same other flags takes it from there. One of 50,000 lines took
// 2 s of each program's 3.
func Header(t T, folder, header string, flags ...string) []string {
	t.Helper()
	at := filepath.Join(folder, filepath.Base(header))
	// Another process may map the file that is there (tests/seeded): a compiler died of the change.
	made := fmt.Sprintf("%s.gch.%d", at, os.Getpid())
	Run(t, CXX(), append(flags[:len(flags):len(flags)], "-x", "c++-header", "-o", made, header)...)
	if err := os.Rename(made, at+".gch"); err != nil {
		t.Fatal(err)
	}
	return []string{"-include", at}
}
