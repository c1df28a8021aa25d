package pmix

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/tests/cc"
)

// stepTimeout is more than any step takes that goes well.
const stepTimeout = 30 * time.Second

// play loads a fake launcher's library, with the settings of testdata/pmix.c. It returns a function
// that lists the calls that ended something.
func play(t *testing.T, settings ...string) func() string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "libpmix.so.2")
	cc.Run(t, cc.C(), "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-o", file, "testdata/pmix.c")
	log := filepath.Join(dir, "log")
	for _, s := range append(settings, "PLAY_LOG="+log) {
		name, value, _ := strings.Cut(s, "=")
		t.Setenv(name, value)
	}
	use(t, file)
	return func() string {
		b, _ := os.ReadFile(log)
		return string(b)
	}
}

// use makes this a new process, with another library.
func use(t *testing.T, file string) {
	t.Helper()
	was := library
	library = file
	fresh := func() {
		process.loaded, process.joined, process.busy = false, false, false
		process.steps = bootstrap.Steps{}
	}
	fresh()
	t.Cleanup(func() {
		library = was
		fresh()
	})
}

func TestSteps(t *testing.T) {
	ended := play(t, "PLAY_SIZE=5", "PLAY_FENCE=4:late")
	secrets := map[string]bool{}
	for again := range 3 {
		c, err := New(stepTimeout)
		if err != nil {
			t.Fatal(err)
		}
		secrets[string(c.Secret()[:])] = true
		if c.Rank() != 0 || c.Size() != 5 || c.Name() != "pmix" || c.Over() {
			t.Errorf("%s: PE %d of %d, over %v", c.Name(), c.Rank(), c.Size(), c.Over())
		}
		for _, n := range []int{0, 1, 10000} {
			mine := bytes.Repeat([]byte{byte(again)}, n)
			all, err := c.Allgather(mine)
			if err != nil || len(all) != 5 || slices.ContainsFunc(all, func(b []byte) bool { return !bytes.Equal(b, mine) }) {
				t.Errorf("%d bytes: %v", n, err)
			}
			if err := errors.Join(c.Barrier(), c.LeaveBarrier()); err != nil {
				t.Error(err)
			}
		}
		if _, err := New(stepTimeout); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("a second one at a time: %v", err)
		}
		Depart()
		if e := ended(); e != "" {
			t.Errorf("%q while a bootstrap is open", e)
		}
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	}
	if len(secrets) != 3 {
		t.Errorf("%d secrets of 3 jobs", len(secrets))
	}
	Depart()
	Depart()
	if e := ended(); e != "finalize 0 \n" {
		t.Errorf("at the end: %q", e)
	}
}

func TestFailures(t *testing.T) {
	const soon = 400 * time.Millisecond // where a PE is waited for in vain
	for _, c := range []struct {
		settings string
		want     string // of the error
	}{
		{"PLAY_INIT=-25", "join job by PMIx: connect to the launcher: PMIx says UNREACHABLE (-25)"},
		{"PLAY_INIT=:never", "join job by PMIx: connect to the launcher: its PMIx server does not answer within 400ms (check whether mpirun, "},
		{"PLAY_SIZE=0", "PE 0 of 0"},
		{"PLAY_SIZE=2 PLAY_RANK=2", "PE 2 of 2"},
		{"PLAY_SIZE=2 PLAY_RANK=1", "PE 0 has put 0 bytes, not 32"},
		{"PLAY_SIZE=2 PLAY_FENCE=1:-61", "allgather 1: PMIx says SOMETHING (-61)"},
		{"PLAY_SIZE=2 PLAY_LOST=1", "allgather 1: the values of PE 1: PMIx says SOMETHING (-46)"},
		{"PLAY_SIZE=9 PLAY_FENCE=1:never PLAY_GONE=4", "allgather 1: PE 4 did not come within 400ms"},
		{"PLAY_SIZE=2 PLAY_FENCE=1:never", "all PEs have arrived, but the launcher does not say so"},
	} {
		t.Run(c.settings, func(t *testing.T) {
			ended := play(t, strings.Fields(c.settings)...)
			timeout := stepTimeout
			if strings.Contains(c.settings, ":never") {
				timeout = soon
			}
			_, err := New(timeout)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, not %s", err, c.want)
			}
			Depart()
			if e := ended(); e != "" {
				t.Errorf("at the end: %q", e)
			}
		})
	}
}

// A step after the first names the missing PEs, and no step follows it.
func TestMissing(t *testing.T) {
	ended := play(t, "PLAY_SIZE=9", "PLAY_FENCE=3:never")
	c, err := New(stepTimeout)
	if err == nil {
		err = c.Barrier()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.timeout = 400 * time.Millisecond
	t.Setenv("PLAY_LOST", "7")
	err = c.Barrier()
	var m *bootstrap.MissingError
	if !errors.As(err, &m) || !slices.Equal(m.Missing, []libshmem.PE{7}) || m.Step != "barrier 3" {
		t.Errorf("%v", err)
	}
	if err := c.Barrier(); err == nil || !strings.Contains(err.Error(), "barrier 4: an earlier step has failed: barrier 3: PE 7") {
		t.Errorf("after that: %v", err)
	}
	c.Abort(3, "a reason")
	c.Exit(5)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	Depart()
	if e := ended(); e != "abort 5 \n" {
		t.Errorf("at the end: %q", e)
	}
}

func TestNoLibrary(t *testing.T) {
	use(t, "libpmix-of-nobody.so.2")
	if _, err := New(stepTimeout); err == nil || !strings.Contains(err.Error(), "load libpmix-of-nobody.so.2: ") || !strings.Contains(err.Error(), "libpmix2") {
		t.Errorf("no library: %v", err)
	}
	use(t, "libc.so.6")
	if _, err := New(stepTimeout); err == nil || !strings.Contains(err.Error(), "libc.so.6 has no function PMIx_Init") {
		t.Errorf("another library: %v", err)
	}
}
