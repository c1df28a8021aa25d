// Package ofitest gives tests a libfabric with a NIC that takes GPU memory, on
// machines that have neither: a shared library, built from C beside it, in front
// of the real libfabric. A program takes it by SHMEM_LIBFABRIC, this package's own
// tests by its path.
//
// It knows what a registration is asked with, keeps a log of it, and fails where a
// test wants it. How bytes get to the memory of a real GPU it does not know: here
// the CPU moves them.
package ofitest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/nic.c
var source []byte

// Provider is the name of the provider that takes GPU memory.
const Provider = "efa"

// kept is where what was built is kept; "": nowhere.
var kept string

// Keep has Build keep the library in a folder, until the tests of the package end.
func Keep(dir string) { kept = dir }

// Build compiles the library and returns its file.
func Build(t testing.TB) string {
	t.Helper()
	dir := kept
	if dir == "" {
		dir = t.TempDir()
	} else if _, err := os.Stat(filepath.Join(dir, "libnic.so")); err == nil {
		return filepath.Join(dir, "libnic.so")
	}
	code, library := filepath.Join(dir, "nic.c"), filepath.Join(dir, "libnic.so")
	if err := os.WriteFile(code, source, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o", library, code, "-ldl")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc for nic.c: %v\n%s", err, text)
	}
	return library
}

// Log is what the library was asked since Set.
type Log struct {
	t    testing.TB
	File string
}

// Set gives the library its settings, words KEY=NUMBER, and a fresh log.
func Set(t testing.TB, settings string) *Log {
	t.Helper()
	l := &Log{t, filepath.Join(t.TempDir(), "log")}
	t.Setenv("FAKE_NIC", settings)
	t.Setenv("FAKE_NIC_LOG", l.File)
	return l
}

// Lines are the registrations of GPU memory and their ends.
func (l *Log) Lines() []string {
	l.t.Helper()
	b, err := os.ReadFile(l.File)
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })
}
