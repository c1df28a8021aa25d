package nvshmem

import (
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// archiveProgram builds a program as with NVIDIA's library: it needs libnvshmem_host.so.3.
func archiveProgram(t *testing.T, build, name string) string {
	t.Helper()
	program, lib := filepath.Join(t.TempDir(), name), filepath.Join(build, "lib")
	compile(t, "gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I../../include/nvshmem", filepath.Join("testdata", name+".c"), "-o", program,
		filepath.Join(lib, "libnvshmem_host.so.3"), "-Wl,-rpath-link,"+lib, "-ldl")
	return program
}

// TestArchive runs a program that registers as NVIDIA's device archive does, on fake GPUs, and reads
// back each structure that its kernels would read.
func TestArchive(t *testing.T) {
	build := need.Build(t)
	program := archiveProgram(t, build, "archive")
	for _, c := range []struct {
		pes, minor, what string
	}{
		{"3", "4", "state"}, {"2", "7", "state"}, {"1", "6", "state"}, {"2", "5", "state"}, {"2", "8", "late"}, {"1", "3", "counts"}, {"2", "8", "counts"}, {"2", "4", "modules"},
	} {
		t.Run(strings.Join([]string{c.pes, c.minor, c.what}, "-"), func(t *testing.T) {
			cmd := onFakeGPUs(t, build, "works=1 devices=2 memory=4294967296", "-n", c.pes, program, c.minor, c.what)
			cmd.Env = append(cmd.Env, "NVSHMEM_MAX_TEAMS=8")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), "PE passed\n") != int(c.pes[0]-'0') {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestArchiveExit ends the job as a kernel of the archive does.
func TestArchiveExit(t *testing.T) {
	build := need.Build(t)
	cmd := onFakeGPUs(t, build, "works=1 devices=2 memory=4294967296", "-n", "2", archiveProgram(t, build, "archive"), "4", "exit")
	cmd.Env = append(cmd.Env, "NVSHMEM_MAX_TEAMS=8")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("status %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
}

// TestArchiveRefused: what would be wrong or wait for ever is refused at the registration.
func TestArchiveRefused(t *testing.T) {
	build := need.Build(t)
	program := archiveProgram(t, build, "archive")
	const recompile = "compile the program's device code against the headers of this library, docs/start/from-nvshmem.md)"
	for _, c := range []struct {
		name, minor string
		env         []string
		args        []string
		says        string
	}{
		{"newer", "9", nil, []string{"-n", "1"}, "shmem: nvshmem_init: device code of NVSHMEM 3.9.1, and this library serves that of 3.3 to 3.8 (" + recompile},
		{"older", "2", nil, []string{"-n", "1"}, "shmem: nvshmem_init: device code of NVSHMEM 3.2.1, "},
		{"odd", "5", nil, []string{"-n", "1"}, "shmem: nvshmem_init: device code of NVSHMEM 3.5 in a job of 1 PEs, and this library serves it only with an even number of them (add a PE, or " + recompile},
		{"no channel", "4", []string{"SHMEM_PROVIDER=tcp", "FAKE_CUDA=works=1 devices=2 memory=4294967296 attribute19=0"}, []string{"-n", "2", "--hosts", "2"}, "shmem: nvshmem_init: kernels of PE 0 do not reach all PEs by loads and stores, and for the others: make a proxy channel for device code of NVIDIA's archive: "},
		{"no GPU", "7", []string{"SHMEM_HEAP=host"}, []string{"-n", "2"}, "shmem: nvshmem_init: PE 0 has no GPU, and device code of NVIDIA's archive reaches only memory of GPUs (run all PEs on GPUs, or " + recompile},
		{"own name", "4", nil, []string{"-n", "1"}, "shmem: nvshmem_init: the job has no memory for device code of NVIDIA's (load this library by the name libnvshmem_host.so.3 before init"},
		{"no memory", "4", []string{"SHMEM_SYMMETRIC_SIZE=64m"}, []string{"-n", "1"}, "bytes of the heap are left for collectives of NVIDIA's device code (raise SHMEM_SYMMETRIC_SIZE)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			of := program
			if c.name == "own name" {
				of = built(t, build, "archive")
			}
			cmd := onFakeGPUs(t, build, "works=1 devices=2 memory=4294967296", append(c.args, of, c.minor, "refused")...)
			cmd.Env = append(cmd.Env, c.env...)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.says) || strings.Contains(string(out), "PE ?") {
				t.Errorf("%v, and not %q\n%s", err, c.says, out)
			}
		})
	}
}
