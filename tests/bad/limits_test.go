package bad

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestFewDescriptorsForTheNetwork gives PEs that use tcp fewer and fewer open files: a job
// continues or names the limit. A PE that can accept no connection would wait for ever.
func TestFewDescriptorsForTheNetwork(t *testing.T) {
	build := need.Build(t)
	program := compile(t, build, "bad")
	refused := regexp.MustCompile(`shmem: shmem_init: .*(RLIMIT_NOFILE of \d+ leaves \d+|too many open files) \(raise the limit .*ulimit -Hn`)
	said := 0
	for limit := 46; limit >= 10; limit -= 3 {
		out, err := exec.CommandContext(t.Context(), filepath.Join(build, "bin", "shmemrun"), "-n", "2", "--hosts", "2", "--timeout", "90",
			"-x", "SHMEM_PROVIDER=tcp", "sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" nothing`, limit), program).CombinedOutput()
		switch {
		case bytes.Contains(out, []byte("goroutine ")):
			t.Errorf("%d open files: a trace\n%s", limit, out)
		case err != nil && !refused.Match(out):
			t.Errorf("%d open files: %v\n%s", limit, err, out)
		case err != nil:
			said++
		}
	}
	if said == 0 {
		t.Error("a job goes on with 10 open files")
	}
}

// TestFewDescriptorsForPEs gives one PE the fewest open files with which its network opens. They
// are fewer than the PEs of the other host, each of which may need a tcp connection, and the
// library warns about that.
func TestFewDescriptorsForPEs(t *testing.T) {
	build := need.Build(t)
	program := compile(t, build, "bad")
	start := func(limit int) string {
		out, _ := exec.CommandContext(t.Context(), filepath.Join(build, "bin", "shmemrun"), "--hosts", "1,3", "--timeout", "90", "-x", "SHMEM_PROVIDER=tcp",
			"sh", "-c", fmt.Sprintf(`[ $SHMEM_LAUNCHER_PE != 0 ] || ulimit -n %d; exec "$0" nothing`, limit), program).CombinedOutput()
		return string(out)
	}
	if out := start(200); out != "" {
		t.Errorf("200 open files:\n%s", out)
	}
	warning := regexp.MustCompile(`^shmem: \S+ PE 0: fabric: RLIMIT_NOFILE of \d+ leaves [12] open files: a network that keeps one for each PE, as tcp, ` +
		`connects with no more than [12] of 3 \(raise the limit with ulimit -Hn\)\n$`)
	limit := 24
	for limit < 200 && strings.Contains(start(limit), "shmem: shmem_init: ") {
		limit++
	}
	if out := start(limit); !warning.MatchString(out) {
		t.Errorf("%d open files: want\n%s\ngot\n%s", limit, warning, out)
	}
}
