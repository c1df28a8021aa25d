package experiments

import (
	"os"
	"os/exec"
	"testing"

	"libshmem/tests/need"
)

// TestSanitizers: threads that put and complete at once find nothing for ThreadSanitizer and
// AddressSanitizer in the modes.
func TestSanitizers(t *testing.T) {
	if need.Left("experiments") {
		t.Skip("compiles the shim for each sanitizer (TESTS=full)")
	}
	for _, c := range need.Sanitizers {
		t.Run(c.Name, func(t *testing.T) {
			exe := need.Sanitized(t, c.Flag, "testdata/plain.c", "testdata/threads.c")
			for _, mode := range []string{"early", "chaos:1,delay=50us", "early+chaos:2,delay=50us+slow:shmem_quiet=1us"} {
				cmd := exec.Command(exe)
				cmd.Env = append(os.Environ(), "SHMEM_PRELOAD="+mode, "TSAN_OPTIONS=exitcode=66", "ASAN_OPTIONS=detect_leaks=0")
				if out, err := cmd.CombinedOutput(); err != nil || string(out) != "wrong 0\n" {
					t.Errorf("%s: %v\n%.3000s", mode, err, out)
				}
			}
		})
	}
}
