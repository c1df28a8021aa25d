package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/uid"
)

var local = uid.Filter{Interfaces: "=lo"}

func job(t *testing.T, path string, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for pe := range n {
		wg.Go(func() {
			m, err := Join(Options{Path: path, PE: pe, Size: n, Filter: local, Timeout: 30 * time.Second})
			if err != nil {
				t.Errorf("PE %d: %v", pe, err)
				return
			}
			all, err := m.Allgather(fmt.Append(nil, pe))
			if err != nil || len(all) != n || string(all[n-1]) != fmt.Sprint(n-1) || m.Name() != "file" {
				t.Errorf("PE %d: %s has %q, %v", pe, m.Name(), all, err)
			}
			if err := errors.Join(m.Part(), m.Close()); err != nil {
				t.Errorf("PE %d: %v", pe, err)
			}
		})
	}
	wg.Wait()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left behind: %v", err)
	}
}

func TestJob(t *testing.T) {
	path := filepath.Join(t.TempDir(), "id")
	job(t, path, 3)
	job(t, path, 2)
}

// What earlier jobs have left is no hindrance: an id that nobody listens to, half of one,
// something else.
func TestStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "id")
	root, id, err := uid.NewRoot(local)
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	for _, stale := range [][]byte{id[:], id[:64], []byte("hello\n")} {
		if err := os.WriteFile(path, stale, 0o600); err != nil {
			t.Fatal(err)
		}
		job(t, path, 2)
	}
}

func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "id")
	soon := 200 * time.Millisecond
	_, err := Join(Options{Path: path, PE: 1, Size: 2, Timeout: soon})
	var missing *bootstrap.MissingError
	if !errors.As(err, &missing) || len(missing.Missing) != 1 || missing.Missing[0] != 0 || !strings.Contains(err.Error(), path) {
		t.Errorf("without PE 0: %v", err)
	}
	_, err = Join(Options{Path: path, PE: 0, Size: 2, Filter: local, Timeout: soon})
	if !errors.As(err, &missing) || len(missing.Missing) != 1 || missing.Missing[0] != 1 {
		t.Errorf("without PE 1: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left behind: %v", err)
	}
	if err := os.WriteFile(path, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Path: path, PE: 1, Size: 2, Timeout: soon}, path + " has 6 bytes, a unique id has 128"},
		{Options{Path: path, PE: 2, Size: 2, Timeout: soon}, "SHMEM_BOOTSTRAP_PE is 2, SHMEM_BOOTSTRAP_NPES 2"},
		{Options{Path: path, PE: -1, Size: 0, Timeout: soon}, "SHMEM_BOOTSTRAP_PE is -1, SHMEM_BOOTSTRAP_NPES 0"},
		{Options{Path: filepath.Join(path, "in", "a", "file"), PE: 0, Size: 1, Filter: local, Timeout: soon}, "write the unique id"},
	} {
		if _, err := Join(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, not %q", c.o, err, c.want)
		}
	}
}
