package seeded

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// root returns the folder of the tree.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// plant makes a copy of the tree with one mistake. Files compiled in it contain no path
// (-trimpath), so that Go's build cache serves everything that the mistake does not touch.
func plant(t *testing.T, d *defect, build string) string {
	t.Helper()
	tree := place(t, build)
	if *keep {
		t.Logf("in %s", tree)
	} else {
		t.Cleanup(func() { _ = os.RemoveAll(tree) })
	}
	from := root(t)
	if err := copyFolder(from, tree, copyFile, func(rel string) bool {
		return filepath.Join(from, rel) == build || slices.Contains([]string{".git", "build", "dist", "shared"}, rel)
	}); err != nil {
		t.Fatal(err)
	}
	if err := changeFile(filepath.Join(tree, d.file), d); err != nil {
		t.Fatal(err)
	}
	if len(d.by.needs) > 0 {
		if err := copyBuild(build, filepath.Join(tree, "build")); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// place returns a folder that no other defect has, from the same few folders: the output of cgo has
// the path of its folder in it, and is in Go's build cache for that one.
func place(t *testing.T, build string) string {
	t.Helper()
	dir := filepath.Join(build, "seeded")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		at := filepath.Join(dir, strconv.Itoa(n))
		lock, err := os.OpenFile(at+".lock", os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			lock.Close()
			continue
		}
		t.Cleanup(func() { lock.Close() })
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		return at
	}
}

// changeFile makes the mistake.
func changeFile(file string, d *defect) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), d.was); n != 1 {
		return fmt.Errorf("%s has the text of %s %d times, not once (name more of what is around it)", d.file, d.id, n)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(text), d.was, d.is, 1)), 0o644)
}

// copyBuild copies the build, so that make builds only the files that the mistake changes.
// Compilers write through the names of dependency files, so objects are copied; linkers and Go make
// a file anew.
func copyBuild(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"lib", "bin", "tests", "stub", "chaos"} {
		if err := copyFolder(filepath.Join(from, name), filepath.Join(to, name), os.Link, never); err != nil {
			return err
		}
	}
	for _, name := range []string{"obj/plain", "obj/nvshmem", "obj/preload", "gen"} {
		if err := copyFolder(filepath.Join(from, name), filepath.Join(to, name), copyFile, never); err != nil {
			return err
		}
	}
	for _, name := range []string{"obj/fit", "obj/gen", "go.sum.fetched"} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return os.Symlink(filepath.Join(from, "tools"), filepath.Join(to, "tools"))
}

func never(string) bool { return false }

// copyFolder copies a folder, file by file, without the names that are left out.
func copyFolder(from, to string, file func(from, to string) error, without func(rel string) bool) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch at := filepath.Join(to, rel); {
		case without(rel) && e.IsDir():
			return filepath.SkipDir
		case without(rel):
			return nil
		case e.IsDir():
			return os.MkdirAll(at, 0o755)
		case e.Type()&fs.ModeSymlink != 0:
			name, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(name, at)
		case e.Type().IsRegular():
			return file(path, at)
		}
		return nil
	})
}

// copyFile keeps the time of a file, by which make sees what has changed.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
