package device

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

// TestNotifications runs puts with notifications of kernels as host threads, with the state that
// the library writes for kernels of a GPU: a counter is then a word in the heap, which the kernels
// add to, and one in main memory, which the network and the host add to. PEs are reached directly,
// through the ring, by copies within a host, and between hosts.
func TestNotifications(t *testing.T) {
	build := need.Build(t)
	lib, fake := filepath.Join(build, "lib"), cudatest.Build(t)
	program := emulate(t, build, "notify")
	for _, c := range []struct {
		name string
		way  []string
	}{
		{"direct", []string{"-n", "3"}},
		{"pinned", []string{"-n", "2", "-x", "SHMEM_HEAP=pinned"}},
		{"ring", []string{"-n", "2", "-x", "SHMEM_DISABLE_P2P=1"}},
		{"copy", []string{"-n", "2", "-x", "SHMEM_DISABLE_P2P=1", "-x", "SHMEM_GPU_NET=copy"}},
		{"hosts", []string{"-n", "3", "--hosts", "2"}},
		{"full", []string{"-n", "2", "--hosts", "2", "-x", "SHMEM_CHECKS=full"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), append(c.way, "--timeout", "120", program)...)
			cmd.Env = append(os.Environ(), "SHMEM_HEAP=device", "SHMEM_PROVIDER=tcp", "FAKE_CUDA=works=1", "EMULATED_GPU=1", "LD_LIBRARY_PATH="+lib+":"+fake)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), " passed, 0 failed") != int(c.way[1][0]-'0') {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
