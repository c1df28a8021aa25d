package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

// TestPrograms runs typical programs of NVSHMEM's users, with heaps in main memory. The programs
// sem01 and following test differences in meaning, which a change of names alone would get wrong.
func TestPrograms(t *testing.T) {
	build := need.Build(t)
	for _, c := range []struct {
		program string
		pes     int
		job     []string // options of shmemrun; nil: the program is not a job
		says    string   // on standard error
	}{
		{"ring", 2, []string{"-n", "2"}, ""},
		{"ring", 2, []string{"-n", "2", "--hosts", "2"}, ""},
		{"sem01", 4, []string{"-n", "4"}, ""},
		{"sem01", 4, []string{"-n", "4", "--hosts", "2"}, ""},
		{"reduce", 3, []string{"-n", "3"}, ""},
		{"reduce", 3, []string{"-n", "3", "--hosts", "2"}, ""},
		{"reduce", 5, []string{"-n", "5", "--hosts", "5", "-x", "SHMEM_COLLECTIVES=steps"}, ""},
		{"reduce", 6, []string{"-n", "6", "--hosts", "3", "-x", "SHMEM_COLLECTIVES=steps"}, ""},
		{"sem02", 4, []string{"-n", "4"}, ""},
		{"sem02", 4, []string{"-n", "4", "--hosts", "3,1"}, ""},
		{"sem07", 4, []string{"-n", "4"}, ""},
		{"sem07", 4, []string{"-n", "4", "--hosts", "2"}, ""},
		{"sem08", 3, []string{"-n", "3"}, ""},
		{"sem08", 3, []string{"-n", "3", "--hosts", "2"}, ""},
		{"sem03", 2, nil, ""},
	} {
		name := c.program
		if len(c.job) > 2 {
			name += "/hosts"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := built(t, build, c.program)
			cmd := exec.Command(program)
			if c.job != nil {
				cmd = exec.Command(launcher(build), append(append([]string{"--timeout", "60"}, c.job...), program)...)
			}
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"), "SHMEM_PROVIDER=tcp", "SHMEM_HEAP=host")
			var errors strings.Builder
			cmd.Stderr = &errors
			out, err := cmd.Output()
			if err != nil || strings.Count(string(out), " passed\n") != c.pes || (c.says == "") != (errors.Len() == 0) || !strings.Contains(errors.String(), c.says) {
				t.Errorf("%v\n%s%s", err, out, errors.String())
			}
		})
	}
}

// TestMPI runs the host part of examples/nvshmem/mpi.cu as processes of Open MPI, on one host and
// on two.
func TestMPI(t *testing.T) {
	build, compiler, start := need.Build(t), need.Command(t, "mpicc.openmpi"), need.Command(t, "mpirun.openmpi")
	asked := func(what string) []string {
		out, err := exec.Command(compiler, "--showme:"+what).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	program, lib := filepath.Join(t.TempDir(), "mpi"), filepath.Join(build, "lib")
	compile(t, "g++", slices.Concat([]string{"-std=c++17", "-Wall", "-Wextra", "-Werror", "-I../../include/nvshmem"}, asked("compile"),
		[]string{"-x", "c++", "../../examples/nvshmem/mpi.cu", "-x", "none", "-o", program, "-L" + lib, "-lnvshmem_host"}, asked("link"))...)
	for _, processes := range [][]string{
		{"-n", "3", program},
		{"-x", "SHMEM_HOST_ID=a", "-n", "1", program, ":", "-x", "SHMEM_HOST_ID=b", "-n", "2", program},
	} {
		cmd := exec.Command(start, append([]string{"--allow-run-as-root", "--oversubscribe"}, processes...)...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib, "SHMEM_PROVIDER=tcp", "SHMEM_HEAP=host")
		if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), ": passed\n") != 3 {
			t.Errorf("%v: %v\n%s", processes, err, out)
		}
	}
}

func launcher(build string) string { return filepath.Join(build, "bin", "shmemrun") }

// built compiles a program of testdata as its users do.
func built(t *testing.T, build, name string) string {
	t.Helper()
	program, lib := filepath.Join(t.TempDir(), name), filepath.Join(build, "lib")
	compile(t, "gcc", "-std=gnu11", "-O1", "-g", "-I../../include/nvshmem", filepath.Join("testdata", name+".c"), "-o", program, "-L"+lib, "-lnvshmem_host", "-lm", "-ldl")
	return program
}

// onFakeGPUs starts a job on fake GPUs, with these settings.
func onFakeGPUs(t *testing.T, build, settings string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(launcher(build), append([]string{"--timeout", "60"}, argv...)...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+cudatest.Build(t)+":"+filepath.Join(build, "lib"), "FAKE_CUDA="+settings)
	return cmd
}

// TestStream runs calls on the stream of a fake GPU. The last call of the program is refused.
func TestStream(t *testing.T) {
	build := need.Build(t)
	cmd := onFakeGPUs(t, build, "works=1", "-n", "2", built(t, build, "stream"))
	cmd.Env = append(cmd.Env, "SHMEM_HEAP=device")
	out, err := cmd.CombinedOutput()
	const refused = "PE 1: nvshmemx_int_iput_on_stream: strides of 0 and 1 (use 1 or more)"
	if err == nil || !strings.Contains(string(out), "2 passed") || !strings.Contains(string(out), refused) {
		t.Errorf("%v\n%s", err, out)
	}
}

// In TestChosen PEs choose GPUs after init: other GPUs than init chose, which is possible before
// the first team.
func TestChosen(t *testing.T) {
	build := need.Build(t)
	program := built(t, build, "sem06")
	for _, c := range []struct {
		args, program []string
		status        int
		says          []string
	}{
		{[]string{"-n", "2"}, nil, 0, []string{"PE 1: gpu: GPU 1 ", "PE 1: gpu: GPU 0 ", "PE 1 passed"}},
		{[]string{"-n", "3", "--hosts", "3"}, nil, 0, []string{"PE 2: gpu: GPU 0 ", "PE 2: gpu: GPU 1 ", "PE 2 passed"}},
		{[]string{"-n", "2"}, []string{"teams"}, 134, []string{
			"PE 1: nvshmem_malloc: this thread chose another GPU than init, and the heap cannot follow it once the program has made teams (call cudaSetDevice before the first call that makes a team)",
		}},
	} {
		argv := slices.Concat(c.args, []string{"-x", "SHMEM_PROVIDER=tcp", "--", program}, c.program)
		cmd := onFakeGPUs(t, build, "works=1 devices=2", argv...)
		cmd.Env = append(cmd.Env, "SHMEM_DEBUG=1")
		out, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != c.status {
			t.Errorf("%v ends with status %d:\n%s", argv, status, out)
		}
		for _, text := range c.says {
			if !strings.Contains(string(out), text) {
				t.Errorf("%v does not say %q:\n%s", argv, text, out)
			}
		}
	}
}

// In TestGrows PEs allocate until a GPU of 4 GiB, or the heap, is full.
func TestGrows(t *testing.T) {
	build := need.Build(t)
	program := built(t, build, "sem04")
	for setting, blocks := range map[string]string{
		"SHMEM_INFO=0":               "7",
		"NVSHMEM_SYMMETRIC_SIZE=64m": "7",
		"SHMEM_SYMMETRIC_SIZE=1200m": "2",
		"SHMEM_GPU_SHARE=ipc":        "1",
	} {
		cmd := onFakeGPUs(t, build, "works=1 devices=2 memory=4294967296", "-n", "2", program, blocks)
		cmd.Env = append(cmd.Env, setting)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("with %s: %v\n%s", setting, err, out)
		}
	}
}

// In TestPreloaded a program loads another library of the soname by its path.
func TestPreloaded(t *testing.T) {
	build := need.Build(t)
	program, other := filepath.Join(t.TempDir(), "sem11"), filepath.Join(t.TempDir(), "libnvshmem_host.so.3")
	compile(t, "gcc", "-O1", "testdata/sem11.c", "-o", program, "-ldl")
	compile(t, "gcc", "-shared", "-fPIC", "-Wl,-soname,libnvshmem_host.so.3", "testdata/wheel.c", "-o", other)
	cmd := exec.Command(program, other)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+filepath.Join(build, "lib", "libnvshmem_host.so.3"))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "all passed\n" {
		t.Errorf("%v\n%s", err, out)
	}
	// Init does not warn of what the preload asked for.
	cmd = exec.Command(program, other, "init")
	cmd.Env = append(os.Environ(), "SHMEM_HEAP=host", "LD_PRELOAD="+filepath.Join(build, "lib", "libnvshmem_host.so.3"))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "all passed\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
