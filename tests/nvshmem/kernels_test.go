package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestKernels runs kernels as threads of the host: on one node, where peers are reached directly,
// between hosts, where all operations go through rings and proxies, and with both.
func TestKernels(t *testing.T) {
	build, program := need.Build(t), filepath.Join(t.TempDir(), "kernels")
	// nvcc's pragmas mean nothing here, and handles of queues are ignored.
	compile(t, "g++", "-std=c++17", "-O1", "-g", "-DEMULATED", "-DNVSHMEM_NAMES", "-Wno-unknown-pragmas", "-Wno-unused-parameter", "-I../../device", "-I../../include",
		"-I../device/emulated", "testdata/kernels.cc", "-o", program, "-L"+filepath.Join(build, "lib"), "-lshmem", "-lpthread")
	for _, way := range [][]string{
		{"-n", "2"},
		{"-n", "2", "--hosts", "2"},
		{"-n", "3", "--hosts", "2,1"},
	} {
		cmd := exec.Command(launcher(build), append(append([]string{"--timeout", "120"}, way...), program)...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"), "SHMEM_PROVIDER=tcp")
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), ", 0 failed, all passed\n") != strings.Count(string(out), "checks") || !strings.Contains(string(out), "all passed") {
			t.Errorf("%v: %v\n%.4000s", way, err, out)
		}
	}
}
