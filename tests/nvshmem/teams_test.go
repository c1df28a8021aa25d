package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestTeamsOfGPUs has PEs share GPUs that the test plays: as init gives them out, as the program
// chooses after init, and without any.
func TestTeamsOfGPUs(t *testing.T) {
	build := need.Build(t)
	program := built(t, build, "sem02gpu")
	for _, c := range []struct {
		name, settings string
		pes            int
		args           []string
	}{
		{"in turn", "works=1 devices=2", 5, []string{"-n", "5", program, "2"}},
		{"hosts", "works=1 devices=2", 6, []string{"-n", "6", "--hosts", "4,2", program, "2"}},
		{"one", "works=1 devices=1", 3, []string{"-n", "3", program, "1"}},
		{"chosen", "works=1 devices=2", 4, []string{"-n", "4", program, "2", "chosen"}},
		{"chosen hosts", "works=1 devices=2", 5, []string{"-n", "5", "--hosts", "3,2", program, "2", "chosen"}},
		{"none", "", 4, []string{"-n", "4", "--hosts", "2", program}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := played(t, build, c.settings, c.args...)
			if c.settings == "" {
				cmd = exec.Command(launcher(build), append([]string{"--timeout", "60"}, c.args...)...)
				cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"), "SHMEM_HEAP=host")
			}
			cmd.Env = append(cmd.Env, "SHMEM_PROVIDER=tcp")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), " passed\n") != c.pes {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
