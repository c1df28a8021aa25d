package start

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rounds = flag.Int("rounds", 102, "jobs one after the other in a set of processes")

// fresh gives PEs a folder for temporary files, and, if this user may, shared memory of their own.
// Files left in either are an error.
func fresh(t *testing.T) (env []string, wrap []string) {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left in TMPDIR: %v, %v", left, err)
		}
	})
	if os.Geteuid() == 0 {
		wrap = []string{"unshare", "--mount", "sh", "-c", `mount -t tmpfs none /dev/shm && "$@"; s=$?; left=$(ls -A /dev/shm); test -z "$left" || { echo "left in /dev/shm: $left"; exit 1; }; exit $s`, "sh"}
	}
	return []string{"TMPDIR=" + dir}, wrap
}

// Jobs of 1, 2 and 3 PEs, a hundred of them in the same processes, leave no descriptors,
// threads, mappings, memory, namespaces or files.
func TestManyJobs(t *testing.T) {
	program := compile(t, "again")
	for name, place := range map[string]func(int) []string{"one host": same(), "a host each": apart} {
		t.Run(name, func(t *testing.T) {
			env, wrap := fresh(t)
			wrap = append(wrap, program)
			file := filepath.Join(t.TempDir(), "id")
			all(t, 3, func(pe int) {
				args := append(wrap[1:len(wrap):len(wrap)], fmt.Sprint(pe), "3", file, fmt.Sprint(*rounds))
				e := run(t, append(place(pe), env...), wrap[0], args...)
				if e.status != 0 || !strings.Contains(e.out, fmt.Sprintf("PE %d done", pe)) {
					t.Errorf("PE %d: status %d\n%s", pe, e.status, e.out)
				}
			})
		})
	}
}

// The same with parts of MPI_COMM_WORLD.
func TestManyCommunicators(t *testing.T) {
	m := implementations[0]
	m.flags = append(m.flags, "-DMPI")
	program := m.compile(t, "again")
	e := run(t, nil, m.run[0], append(m.run[1:len(m.run):len(m.run)], program, "0", "0", "none", fmt.Sprint(*rounds))...)
	if e.status != 0 || !strings.Contains(e.out, "PE 0 done") || !strings.Contains(e.out, "PE 2 done") {
		t.Errorf("status %d\n%s", e.status, e.out)
	}
}
