package bad

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"libshmem/tests/need"
)

// TestFewDescriptorsForTheNetwork gives PEs that talk by tcp fewer and fewer open files: a
// job goes on or says which limit is in its way. One that can accept no connection would
// wait for ever.
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
