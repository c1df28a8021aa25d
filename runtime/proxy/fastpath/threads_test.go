package fastpath

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem/tests/cc"
)

// program compiles testdata/threads.c, which includes innerloop.c, for a sanitizer.
func program(t *testing.T, sanitizer string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "threads")
	args := []string{
		"-std=gnu11", "-O1", "-g1", "-Wall", "-Wextra", "-Werror", "-pthread", "-fno-strict-aliasing", "-fsanitize=" + sanitizer,
		"-I.", "-I../../../abi", "-I../../../device", "-o", out, "testdata/threads.c",
	}
	if sanitizer == "thread" { // it does not model fences, and device/shmem/memory.h avoids them
		args = append(args, "-Wno-tsan", "-DSHMEMI_TSAN")
	}
	cc.Run(t, cc.C(), args...)
	return out
}

// run runs the program and returns its output.
func run(t *testing.T, program, rounds string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, rounds)
	cmd.Env = append(cmd.Environ(), "TSAN_OPTIONS=halt_on_error=1")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestThreads lets an inner loop and a caller in C share an endpoint, in a program without Go. Then
// it checks that ThreadSanitizer reports two mistakes, which it sees only where the threads meet:
// on a busy machine not in every run.
func TestThreads(t *testing.T) {
	for _, sanitizer := range []string{"address", "thread"} {
		program := program(t, sanitizer)
		out, err := run(t, program, "1000")
		if err != nil {
			t.Errorf("%s sanitizer: %v\n%s", sanitizer, err, out)
		}
		t.Logf("%s sanitizer: %s", sanitizer, out)
		if sanitizer == "thread" {
			seeded(t, program)
		}
	}
}

func seeded(t *testing.T, program string) {
	t.Helper()
	for bug, what := range map[string]string{"1": "a caller without the lock", "2": "a signal that is loaded without acquire"} {
		t.Setenv("SEEDED_BUG", bug)
		out, err := "", error(nil)
		for i := 0; i < 20 && err == nil; i++ {
			out, err = run(t, program, "1000")
		}
		if err == nil || !strings.Contains(out, "ThreadSanitizer: data race") {
			t.Errorf("%s: not reported: %v\n%s", what, err, out)
		}
	}
}
