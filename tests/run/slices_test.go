package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestSlices: a PE that waits beside a thread that computes, and so has lost a whole slice, uses
// short slices for a while.
func TestSlices(t *testing.T) {
	build := need.Build(t)
	program := cc.Program(t, build, "testdata/slices.c")
	cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "--timeout", "60", "-n", "2", program)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if regexp.MustCompile(`PE 0: old\n`).Match(out) {
		t.Skip("Linux has no slices of a thread's own before 6.12")
	}
	for _, pe := range []string{"0", "1"} {
		if !regexp.MustCompile(`PE ` + pe + `: slices of 100000 ns, before 3000000\n`).Match(out) {
			t.Errorf("PE %s has no short slices:\n%s", pe, out)
		}
	}
}
