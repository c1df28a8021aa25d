package start

import (
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// A PE that fails in shmem_init ends its job, even if another one has not called it and never will;
// and no other PE reports that it has finalized.
func TestFailedInit(t *testing.T) {
	program := compile(t, "plain")
	shmemrun := filepath.Join(need.Build(t), "bin", "shmemrun")
	for name, c := range map[string]struct {
		env    []string
		script string // of PE 1, before the program
		say    string
	}{
		"another never comes": {[]string{"SHMEM_BOOTSTRAP_TIMEOUT=0.5"}, "sleep 300", "shmem: shmem_init: allgather 1: PE 1 did not come within 500ms "},
		"one cannot":          {nil, "export SHMEM_TRACE=/nonexistent/trace", `shmem: shmem_init: create SHMEM_TRACE "/nonexistent/trace.1": `},
	} {
		t.Run(name, func(t *testing.T) {
			e := run(t, c.env, shmemrun, "-n", "2", "--timeout", "20",
				"sh", "-c", `if [ $SHMEM_LAUNCHER_PE = 1 ]; then `+c.script+`; fi; exec "$0"`, program)
			if e.status != 1 || !strings.Contains(e.out, c.say) || strings.Contains(e.out, "timeout of") ||
				strings.Contains(e.out, "shmem_finalize") {
				t.Errorf("status %d, want 1 at once and a line with %q\n%s", e.status, c.say, e.out)
			}
		})
	}
}
