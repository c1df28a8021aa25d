package run

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"libshmem/tests/need"
)

// TestAlgorithms: the log names the words of PE 0 and the model's figures once, and only where PEs
// are on several hosts.
func TestAlgorithms(t *testing.T) {
	build := need.Build(t)
	for _, c := range []struct {
		hosts string
		want  int
	}{{"1", 0}, {"2", 1}} {
		argv := []string{"-n", "2", "--hosts", c.hosts, "--timeout", "60", "-x", "SHMEM_PROVIDER=tcp", "-x", "SHMEM_COLLECTIVES=chain,apart",
			"-x", "SHMEM_LOG_LEVEL=debug", "-x", "SHMEM_LOG_SUBSYS=coll", filepath.Join(build, "tests", "sync")}
		out, err := exec.Command(filepath.Join(build, "bin", "shmemrun"), argv...).CombinedOutput()
		line := regexp.MustCompile(`collective calls between hosts: SHMEM_COLLECTIVES=chain,apart, tcp by \S+: a message takes 2 us, each post 6 and a KiB 0\.4\n`)
		if n := len(line.FindAll(out, -1)); err != nil || n != c.want {
			t.Errorf("on %s hosts: %v, %d lines instead of %d\n%s", c.hosts, err, n, c.want, out)
		}
	}
}
