package device

import (
	"os"
	"path/filepath"
	"testing"

	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestLocals passes local buffers in GPU memory, out of the CPU's reach, to calls of the host. The
// heap is in the memory of the fake GPU or in main memory; PEs are reached directly, by copies, and
// between hosts.
func TestLocals(t *testing.T) {
	build := need.Build(t)
	program := cc.Program(t, build, filepath.Join("testdata", "locals.c"), "-ldl")
	fake := cudatest.Build(t)
	for name, way := range map[string][]string{
		"device": {"-n", "2", "-x", "SHMEM_HEAP=device"},
		"pinned": {"-n", "2", "-x", "SHMEM_HEAP=pinned"},
		"copy":   {"-n", "2", "-x", "SHMEM_HEAP=device", "-x", "SHMEM_DISABLE_P2P=1", "-x", "SHMEM_GPU_NET=copy"},
		"hosts":  {"-n", "3", "--hosts", "2", "-x", "SHMEM_HEAP=device"},
		"both":   {"-n", "3", "--hosts", "2", "-x", "SHMEM_HEAP=pinned"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := job(build, append(way, "--timeout", "60", program)...)
			cmd.Env = append(os.Environ(), "SHMEM_PROVIDER=tcp", "FAKE_CUDA=works=1 apart=1",
				"LD_LIBRARY_PATH="+filepath.Join(build, "lib")+":"+fake)
			out, err := cmd.CombinedOutput()
			if err != nil || !passed(out, int(way[1][0]-'0')) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
