package need

import (
	"os"
	"path/filepath"
	"testing"
)

// Build returns the directory where make put the libraries and the programs.
func Build(t *testing.T) string {
	t.Helper()
	dir := Folder(t)
	if _, err := os.Stat(filepath.Join(dir, "bin", "shmemrun")); err != nil {
		t.Fatalf("find shmemrun: %v (run make test, which builds first)", err)
	}
	return dir
}

// Programs returns the sources of the C programs: tests/c has some, and the generator writes the
// others in a build.
func Programs(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, folder := range []string{filepath.Join("..", "c"), filepath.Join(Folder(t), "gen", "c")} {
		sources, err := filepath.Glob(filepath.Join(folder, "*.c"))
		if err != nil || len(sources) == 0 {
			t.Fatalf("list %s: %d programs, error %v (run make tests)", folder, len(sources), err)
		}
		all = append(all, sources...)
	}
	return all
}

// Folder returns the place where make puts what it builds, whether or not it has, for a test
// in a package two levels below the root. BUILD names another one.
func Folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BUILD")
	if dir == "" {
		dir = "build"
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", "..", dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
