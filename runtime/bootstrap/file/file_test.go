package file

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/tests/need"
)

var local = uid.Filter{Interfaces: "=lo"}

func job(t *testing.T, path string, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for pe := range libshmem.PE(n) {
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
			if err := errors.Join(m.LeaveBarrier(), m.Close()); err != nil {
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

// Remains of earlier jobs do no harm: an id without a listener, half of one, something else.
func TestStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "id")
	root, id, err := uid.NewRoot(local)
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	for _, stale := range [][]byte{id[:], id[:64], {}} {
		if err := os.WriteFile(path, stale, 0o600); err != nil {
			t.Fatal(err)
		}
		job(t, path, 2)
	}
}

func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "id")
	soon := 2 * time.Second // PE 0 reaches itself within that
	_, err := Join(Options{Path: path, PE: 1, Size: 2, Timeout: time.Millisecond})
	var missing *bootstrap.MissingError
	if !errors.As(err, &missing) || len(missing.Missing) != 1 || missing.Missing[0] != 0 || !strings.HasPrefix(err.Error(), "join job by "+path+", which is not there: PE 0 did not come") {
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
		{Options{Path: path, PE: 1, Size: 2, Timeout: time.Millisecond}, path + " does not contain a unique id of 128 bytes"},
		{Options{Path: path, PE: 0, Size: 2, Filter: local, Timeout: soon}, path + " has something else than the unique id of a job in it (name a file that does not exist in SHMEM_BOOTSTRAP_FILE)"},
		{Options{Path: path, PE: 2, Size: 2, Timeout: soon}, "SHMEM_BOOTSTRAP_PE is 2, SHMEM_BOOTSTRAP_NPES 2"},
		{Options{Path: path, PE: -1, Size: 0, Timeout: soon}, "SHMEM_BOOTSTRAP_PE is -1, SHMEM_BOOTSTRAP_NPES 0"},
		{Options{Path: filepath.Join(path, "in", "a", "file"), PE: 0, Size: 1, Filter: local, Timeout: soon}, "write the unique id"},
	} {
		if _, err := Join(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, not %q", c.o, err, c.want)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "hello\n" {
		t.Errorf("a file of the user is %q now, %v", b, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Join(Options{Path: path, PE: 0, Size: 2, Filter: local, Timeout: soon}); err == nil || !strings.Contains(err.Error(), "it has mode 0644") {
		t.Errorf("a file that others can read: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// A file that another user can have made, or can read, is refused; and PE 0 does not write to an
// object at the path of its file.
func TestStrangersFile(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "id"), filepath.Join(dir, "other")
	soon := 200 * time.Millisecond
	for _, c := range []struct {
		what string
		make func() error
		want string
	}{
		{"others can read it", func() error { return os.Chmod(path, 0o644) }, "it has mode 0644, expected 0600"},
		{"others can write it", func() error { return os.Chmod(path, 0o620) }, "it has mode 0620, expected 0600"},
		{"it leads elsewhere", func() error { return errors.Join(os.Rename(path, other), os.Symlink(other, path)) }, "too many levels of symbolic links"},
		{"it is a pipe", func() error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) }, "id is not a file"},
		{"it is another user's", func() error { return os.Chown(path, 4711, 4711) }, "belongs to user 4711"},
	} {
		if c.want == "belongs to user 4711" && os.Geteuid() != 0 {
			continue // only root can make it
		}
		os.RemoveAll(path)
		root, id, err := uid.NewRoot(local)
		if err == nil {
			defer root.Close()
			err = errors.Join(os.WriteFile(path, id[:], 0o600), c.make())
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Join(Options{Path: path, PE: 1, Size: 2, Timeout: soon}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.what, err, c.want)
		}
	}
	os.RemoveAll(path)
	if err := errors.Join(os.WriteFile(other, []byte("mine"), 0o600), os.Symlink(other, path)); err != nil {
		t.Fatal(err)
	}
	job(t, path, 2)
	if b, err := os.ReadFile(other); err != nil || string(b) != "mine" {
		t.Errorf("what the name led to is %q now, %v", b, err)
	}
}

// Two jobs of one name: the second PE 0 is refused and leaves the first one's file alone;
// where it came at the same moment, the first one finds another's id at the end.
func TestTwoJobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "id")
	lead := func(path string) chan error {
		ended := make(chan error, 1)
		go func() {
			m, err := Join(Options{Path: path, PE: 0, Size: 2, Filter: local, Timeout: 30 * time.Second})
			if err == nil {
				err = errors.Join(m.LeaveBarrier(), m.Close())
			}
			ended <- err
		}()
		return ended
	}
	id := func() (id uid.ID) {
		need.Eventually(t, "an id", func() bool {
			b, err := get(path)
			return err == nil && copy(id[:], b) == uid.Len
		})
		return id
	}
	first := lead(path)
	was := id()
	var taken *fileError
	if err := <-lead(path); !errors.As(err, &taken) || !strings.Contains(err.Error(), path+" belongs to another job, whose PEs are about to arrive (give each job its own name in SHMEM_BOOTSTRAP_FILE)") {
		t.Errorf("the second job: %v", err)
	}
	if id() != was {
		t.Error("the second job has put its id into the file of the first")
	}
	m, err := Join(Options{Path: path, PE: 1, Size: 2, Filter: local, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.LeaveBarrier(), m.Close(), <-first); err != nil {
		t.Errorf("the first job: %v", err)
	}

	first = lead(path)
	was = id()
	other := append([]byte("xxxxSHMU"), bytes.Repeat([]byte("x"), uid.Len-8)...)
	if err := os.WriteFile(path, other, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err = uid.Join(uid.Options{ID: was, PE: 1, Size: 2, Timeout: 30 * time.Second})
	if err == nil {
		_ = m.Barrier() // PE 0 may have ended the job
		_ = m.Close()
	}
	if err := <-first; !errors.As(err, &taken) {
		t.Errorf("with another's id in the file: %v, %v", err, m)
	}
	if b, err := get(path); err != nil || !bytes.Equal(b, other) {
		t.Errorf("the other's file has %q, %v", b, err)
	}
	// No PE answers by that one: it was left behind.
	job(t, path, 2)
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestNobodyAnswers: the error has the time of the setting, although each try is shorter, the host
// of this PE and the addresses that were tried.
func TestNobodyAnswers(t *testing.T) {
	root, id, err := uid.NewRoot(local)
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
	path := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(path, id[:], 0o600); err != nil {
		t.Fatal(err)
	}
	const timeout = try + try/2
	_, err = Join(Options{Path: path, PE: 1, Size: 2, Filter: local, Timeout: timeout})
	host, _ := os.Hostname()
	if err == nil {
		t.Fatal("PE 1 has joined a job that is over")
	}
	for _, part := range []string{"did not answer PE 1 of 2, on host " + host + ", within 1.5s: 127.0.0.1:", "run shmem-doctor on both hosts)"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}
