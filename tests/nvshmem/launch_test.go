package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestLaunch runs a program that looks up the collective launch, with a CUDA runtime that prints
// its calls, and without any.
func TestLaunch(t *testing.T) {
	build := need.Build(t)
	program, runtime := filepath.Join(t.TempDir(), "launch"), filepath.Join(t.TempDir(), "libcudart.so.13")
	compile(t, "gcc", "-O1", "testdata/launch.c", "-o", program, "-L"+filepath.Join(build, "lib"), "-lnvshmem_host", "-ldl")
	compile(t, "gcc", "-shared", "-fPIC", "testdata/cudart.c", "-o", runtime)
	lacks := filepath.Join(t.TempDir(), "libcudart.so.13")
	compile(t, "gcc", "-shared", "-fPIC", "-DLACKS", "-Wl,-soname,libcudart.so.13", "testdata/cudart.c", "-o", lacks)
	const (
		without = ": the process has no libcudart.so with cudaLaunchKernelExC (call the inline form of nvshmemx.h, or link the program with -cudart shared)\n"
		launch  = "shmem: nvshmemx_collective_launch"
		null    = "shmem: nvshmemx_collective_launch_attr: attr is NULL (pass the launch attributes)\n"
	)
	for name, c := range map[string]struct {
		args       []string
		says, errs string
	}{
		"runtime": {[]string{runtime}, `0: 8
8 1 1 blocks of 128 2 1, 64 bytes, stream 0x20, args 0x30, func 0x10: 2=1
0
2 2 2 blocks of 128 2 1, 0 bytes, stream (nil), args 0x30, func 0x10: 2=1
0
6
1
6
4 1 1 blocks of 512 1 1, 0 bytes, stream 0x20, args 0x30, func 0x10: 4=7 2=1
0
1
6
6
`, launch + `: 9 blocks of 256 threads with 0 attributes do not run at the same time, the GPU holds 8 of them (launch fewer or smaller blocks, with at most 32 attributes)
` + launch + `: a block of 0 threads (pass a kernel, and blocks of 1 to 1024 threads)
` + launch + `: ask how many blocks fit: invalid device function (pass func of a __global__ function that is compiled for this GPU)
` + null + launch + `: a block of 1024 threads does not run: the kernel takes 128 registers a thread, with which a block has at most 512 (compile it with __launch_bounds__(1024), or launch smaller blocks)
` + launch + `: a block with 5100 bytes of shared memory does not run (launch with less)
`},
		"lacks a function": {[]string{lacks, "lacks"}, "3\n0\n", launch + without},
		"none": {nil, "3: -1\n3\n3\n3\n1\n3\n3\n1\n3\n3\n",
			launch + "_query_gridsize" + without + launch + without + launch + without + launch + without +
				launch + ": a block of 0 threads (pass a kernel, and blocks of 1 to 1024 threads)\n" + launch + without + launch + "_attr" + without + null + launch + without + launch + without},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(program, c.args...)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"))
			var errs, out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || out.String() != c.says || errs.String() != c.errs {
				t.Errorf("%v\n%s%s", err, out.String(), errs.String())
			}
		})
	}
}
