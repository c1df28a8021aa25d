package device

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

// TestTeams runs the collectives of kernels on teams as host threads, with the state that the
// library really writes for kernels of a GPU: the memory of the fake driver is the process's own.
// PEs are reached directly, through the ring on one node, and between hosts; the last hosts have
// PEs without a fixed stride.
func TestTeams(t *testing.T) {
	build := need.Build(t)
	lib := filepath.Join(build, "lib")
	fake := cudatest.Build(t)
	program := emulate(t, build, "teams")
	for _, c := range []struct {
		name string
		way  []string
	}{
		{"direct", []string{"-n", "4", "-x", "FAKE_CUDA=works=1 devices=2"}},
		{"ring", []string{"-n", "3", "-x", "SHMEM_DISABLE_P2P=1", "-x", "SHMEM_PROVIDER=tcp"}},
		{"hosts", []string{"-n", "4", "--hosts", "3,1", "--map", "cyclic", "-x", "SHMEM_PROVIDER=tcp", "-x", "FAKE_CUDA=works=1 devices=2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := job(build, append(c.way, "--timeout", "300", program, "few", strconv.Itoa(need.Load("teams")))...)
			cmd.Env = append(os.Environ(), "SHMEM_HEAP=device", "FAKE_CUDA=works=1", "EMULATED_GPU=1", "LD_LIBRARY_PATH="+lib+":"+fake)
			out, err := cmd.CombinedOutput()
			if err != nil || !passed(out, int(c.way[1][0]-'0')) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
