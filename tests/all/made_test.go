package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/tests/need"
)

// TestMadeOnce: stages that begin together need the same folders of need.Made. While one builds a
// folder, its lock keeps the others out, and they build nothing afterwards.
func TestMadeOnce(t *testing.T) {
	shared := t.TempDir()
	t.Setenv("MADE", shared)
	builds := 0
	build := func(dir string) {
		builds++
		locks, err := filepath.Glob(filepath.Join(shared, "*.lock"))
		if err != nil || len(locks) != 1 {
			t.Fatalf("during a build there are the locks %q, %v", locks, err)
		}
		lock, err := os.Open(locks[0])
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			t.Errorf("another process takes the lock during a build: %v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		dir := need.Made(t, "thing", []byte("of this"), build)
		if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
			t.Error(err)
		}
	}
	if builds != 1 {
		t.Errorf("two calls build %d times, want once", builds)
	}
}
