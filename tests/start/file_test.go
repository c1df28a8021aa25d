package start

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"libshmem/tests/need"
)

// A program that calls plain shmem_init, and PEs that share a file of which a killed job has left
// an old one.
func TestFile(t *testing.T) {
	program := compile(t, "plain")
	path := filepath.Join(t.TempDir(), "job")
	for _, given := range []string{"3", "2"} { // 2: PE 2 is one too many
		stale := run(t, []string{
			"SHMEM_BOOTSTRAP_FILE=" + path, "SHMEM_BOOTSTRAP_NPES=3", "SHMEM_BOOTSTRAP_PE=0",
		}, "sh", "-c", `"$0" & pe=$!; until [ -s "$1" ]; do sleep 0.01; done; kill -9 $pe; wait`, program, path)
		if info, err := os.Stat(path); err != nil || info.Size() != 128 || stale.status != 0 {
			t.Fatalf("no file is left behind: %v, %+v", err, stale)
		}
		ends := make([]ending, 3)
		var wg sync.WaitGroup
		for pe := range ends {
			wg.Go(func() {
				ends[pe] = run(t, []string{
					"SHMEM_DEBUG=1", "SHMEM_BOOTSTRAP_FILE=" + path,
					"SHMEM_BOOTSTRAP_NPES=" + given, fmt.Sprintf("SHMEM_BOOTSTRAP_PE=%d", pe),
				}, program)
			})
		}
		wg.Wait()
		for pe, e := range ends {
			good := e.status == 0 && strings.Contains(e.out, fmt.Sprintf("PE %d of %s done", pe, given))
			if pe == 2 && given == "2" {
				good = e.status != 0 && strings.Contains(e.out, "SHMEM_BOOTSTRAP_PE is 2, SHMEM_BOOTSTRAP_NPES 2")
			}
			if !good {
				t.Errorf("PE %d of %s: status %d\n%s", pe, given, e.status, e.out)
			}
		}
		if !strings.Contains(ends[0].out, given+" PE") || !strings.Contains(ends[0].out, " on 1 host, ") || !strings.Contains(ends[0].out, "bootstrap file;") {
			t.Errorf("the banner:\n%s", ends[0].out)
		}
	}
}

// Two jobs of one name at once: PE 0 of the second ends and reports it, the first continues.
func TestTwoJobsByAFile(t *testing.T) {
	program := compile(t, "plain")
	path := filepath.Join(t.TempDir(), "job")
	start := func(pe int) ending {
		return run(t, []string{
			"SHMEM_BOOTSTRAP_FILE=" + path, "SHMEM_BOOTSTRAP_NPES=3", fmt.Sprintf("SHMEM_BOOTSTRAP_PE=%d", pe),
		}, program)
	}
	all(t, 3, func(pe int) {
		if pe > 0 {
			need.Eventually(t, "the file of PE 0", func() bool {
				info, err := os.Stat(path)
				return err == nil && info.Size() == 128
			})
		}
		if pe == 1 { // of three, so that the first job cannot begin in the meantime
			if e := start(0); e.status == 0 || !strings.Contains(e.out, path+" belongs to another job, whose PEs are about to arrive (give each job its own name in SHMEM_BOOTSTRAP_FILE)") {
				t.Errorf("PE 0 of the second job: status %d\n%s", e.status, e.out)
			}
		}
		if e := start(pe); e.status != 0 || !strings.Contains(e.out, fmt.Sprintf("PE %d of 3 done", pe)) {
			t.Errorf("PE %d of the first job: status %d\n%s", pe, e.status, e.out)
		}
	})
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Children of a PE have its variables but not its place: they are refused, and the job continues.
// The refusal has a remedy.
func TestChildrenByAFile(t *testing.T) {
	program := compile(t, "child")
	path := filepath.Join(t.TempDir(), "job")
	all(t, 2, func(pe int) {
		e := run(t, []string{
			"SHMEM_BOOTSTRAP_FILE=" + path, "SHMEM_BOOTSTRAP_NPES=2", fmt.Sprintf("SHMEM_BOOTSTRAP_PE=%d", pe),
		}, program, "env -u SHMEM_BOOTSTRAP_FILE", "")
		want := []string{fmt.Sprintf("PE %d of 2 done", pe)}
		if pe == 1 {
			want = append(want,
				"shmem_init: this process is a child forked after shmem_init (exec a program, or fork before shmem_init)", "forked ended with 1",
				"join job the place of SHMEM_BOOTSTRAP_PE, SHMEM_BOOTSTRAP_FILE: process ", ", which started this one, has it (to have a job of its own, ",
				"with env -u SHMEM_BOOTSTRAP_FILE and it is one of one PE)", "started ended with 1",
				"PE 0 of 1 done", "started alone ended with 0")
		}
		if e.status != 0 {
			t.Errorf("PE %d: status %d", pe, e.status)
		}
		for _, w := range want {
			if !strings.Contains(e.out, w) {
				t.Errorf("PE %d does not say %q:\n%s", pe, w, e.out)
			}
		}
	})
}
