package express

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem/tests/cc"
)

// program compiles testdata/threads.c, which has lane.c in it, for a sanitizer.
func program(t *testing.T, sanitizer string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "threads")
	args := []string{
		"-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-fno-strict-aliasing", "-fsanitize=" + sanitizer,
		"-I.", "-I../../../abi", "-I../../../device", "-o", out, "testdata/threads.c",
	}
	if sanitizer == "thread" { // it sees no fences: device/shmem/memory.h has something else for it
		args = append(args, "-Wno-tsan", "-DSHMEMI_TSAN")
	}
	cc.Run(t, cc.C(), append(args, flags...)...)
	return out
}

// run runs it for so many rounds and returns what it says.
func run(t *testing.T, program, rounds string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, rounds)
	cmd.Env = append(cmd.Environ(), "TSAN_OPTIONS=halt_on_error=1")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestThreads has a lane and a caller in C work on one endpoint, without Go.
func TestThreads(t *testing.T) {
	for _, sanitizer := range []string{"address", "thread"} {
		out, err := run(t, program(t, sanitizer), "1000")
		if err != nil {
			t.Errorf("%s sanitizer: %v\n%s", sanitizer, err, out)
		}
		t.Logf("%s sanitizer: %s", sanitizer, out)
	}
}

// TestThreadsSeeded holds that the run above would report a mistake.
func TestThreadsSeeded(t *testing.T) {
	for bug, what := range map[string]string{"1": "a caller without the lock", "2": "a signal that is looked at without order"} {
		out, err := run(t, program(t, "thread", "-DSEEDED_BUG="+bug), "1000")
		if err == nil || !strings.Contains(out, "ThreadSanitizer: data race") {
			t.Errorf("%s: not reported: %v\n%s", what, err, out)
		}
	}
}
