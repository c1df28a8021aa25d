package bad

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem/tests/need"
)

// TestOnePEWithoutMemory makes memory scarce for one PE, by a /proc/meminfo of its own: then no PE
// may get memory that the others cannot have.
func TestOnePEWithoutMemory(t *testing.T) {
	need.Namespaces(t)
	build := need.Build(t)
	program := compile(t, build, "starved")
	meminfo := filepath.Join(t.TempDir(), "meminfo")
	if err := os.WriteFile(meminfo, []byte("MemTotal: 1000 kB\nMemAvailable: 1000 kB\nSwapFree: 0 kB\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{
		"node":  "-n 3",
		"hosts": "-n 4 --hosts 2 -x SHMEM_PROVIDER=tcp",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			words := append(strings.Fields(args), "--timeout", "90", program, meminfo)
			out, err := exec.CommandContext(ctx, filepath.Join(build, "bin", "shmemrun"), words...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for pe := range map[string]int{"node": 3, "hosts": 4}[name] {
				if line := fmt.Sprintf("PE %d refused 10 and went on\n", pe); !strings.Contains(string(out), line) {
					t.Errorf("no line %q in\n%s", line, out)
				}
			}
		})
	}
}
