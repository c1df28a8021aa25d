package preload

import (
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestSanitizers: threads that come and go, and calls of teams, find nothing for ThreadSanitizer and
// AddressSanitizer in the shim.
func TestSanitizers(t *testing.T) {
	for _, c := range need.Sanitizers {
		if c.Name == "address" && need.Left("preload") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			exe, dir := need.Sanitized(t, c.Flag, "testdata/fake.c", "testdata/threads.c"), t.TempDir()
			out := job{env: []string{"SHMEM_PRELOAD=trace,file=" + dir + ",size=4m", "TSAN_OPTIONS=exitcode=66"}}.run(t, exe)
			if strings.Contains(out, "Sanitizer") || out != "" {
				t.Errorf("%.4000s", out)
			}
			p := read(t, filepath.Join(dir, "0.json"), true)
			if p.Discarded == 0 || p.NPEs != 1 || len(p.calls) == 0 {
				t.Errorf("head %+v; %d calls", p.head, len(p.calls))
			}
		})
	}
}
