package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestCalled has kernels call each name of the table, in the programs of tests/gpu built with
// NVSHMEM's names as programs of the host. They compare the result of each call. PEs are reached
// directly, and between hosts. It is for make test-full: on each push tests/device and TestKernels
// test the templates that the names use, and TestNames that each name compiles.
func TestCalled(t *testing.T) {
	build, work := need.Build(t), t.TempDir()
	lists := filepath.Join(build, "gen", "nvshmem", "gpu")
	called, fewer := filepath.Join(work, "called"), need.Left("emulated")
	run := func(status int, args ...string) {
		t.Helper()
		cmd := exec.Command(launcher(build), append([]string{"--timeout", "300", "-n", "2"}, args...)...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"), "SHMEM_PROVIDER=tcp", "CALLED="+called)
		out, _ := cmd.CombinedOutput() // its status reports the result
		if cmd.ProcessState.ExitCode() != status || status == 0 && strings.Count(string(out), " passed, 0 failed") != 2 {
			t.Errorf("%v: status %d, want %d\n%.4000s", args, cmd.ProcessState.ExitCode(), status, out)
		}
	}
	// nvcc's pragmas mean nothing here, and handles of queues are ignored.
	flags := []string{"-Wall", "-Wextra", "-Werror", "-std=c++17", "-O0", "-DEMULATED", "-DNVSHMEM_NAMES", "-Wno-unknown-pragmas",
		"-Wno-unused-parameter", "-I../../device", "-I../../include", "-I../device/emulated", "-I" + lists}
	if fewer {
		flags = append(flags, "-DFEWER_TYPES")
	}
	header := cc.Header(t, work, "../gpu/try.h", flags...)
	for _, name := range []string{"rma", "strided", "atomics", "waits", "colls", "singles"} {
		program := filepath.Join(work, name)
		cc.Run(t, cc.CXX(), slices.Concat(flags, header, []string{"-x", "c++", "../gpu/" + name + ".cu", "-x", "none", "-o", program,
			"-L" + filepath.Join(build, "lib"), "-lnvshmem_host", "-lshmem", "-lpthread"})...)
		run(0, program)
		if !fewer {
			run(0, "--hosts", "2", program)
		}
	}
	run(7, filepath.Join(work, "singles"), "exit")
	need.Called(t, called, filepath.Join(lists, "zz_names.txt"), spec.Nvshmem.KernelNames(), fewer)
}
