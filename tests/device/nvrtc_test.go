package device

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// nvrtcSource has one call of each kind, and a kernel with a context.
const nvrtcSource = `#include <shmem/shmem.cuh>
extern "C" __global__ void all(int *target, uint64_t *signal)
{
    int me = shmem_my_pe();
    shmem_int_p(target, me, (me + 1) % shmem_n_pes());
    shmemx_int_put_signal_block(target, target + 8, 8, signal, 1, SHMEM_SIGNAL_ADD, 0);
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, 1);
    shmem_int_atomic_add(target, 1, 0);
    shmemx_int_sum_reduce_warp(SHMEM_TEAM_WORLD, target, target, 10);
    shmemx_barrier_all_block();
}
extern "C" __global__ void given(shmem_context ctx, int *target)
{
    shmem_int_p(ctx, target, 1, 1);
    shmem_quiet(ctx);
}
`

// TestNVRTC compiles the header as programs do that compile kernels at run time: without a C
// library's headers, with and without CUDA's own. Such programs then look for the symbol of the
// state.
func TestNVRTC(t *testing.T) {
	library := filepath.Join(need.Folder(t), "tools", "nvrtc-13.0.88", "libnvrtc.so.13")
	if _, err := os.Stat(library); err != nil {
		t.Fatalf("find NVRTC: %v (scripts/setup test)", err)
	}
	cuda := filepath.Join(filepath.Dir(filepath.Dir(need.NVCC(t))), "include")
	source := filepath.Join(t.TempDir(), "kernels.cu")
	if err := os.WriteFile(source, []byte(nvrtcSource), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		options []string
	}{
		{"alone, C++14", []string{"-std=c++14", "--gpu-architecture=compute_75"}},
		{"alone, C++20", []string{"-std=c++20", "--gpu-architecture=compute_120"}},
		{"with CUDA's headers", []string{"-std=c++17", "--gpu-architecture=compute_90", "-I" + cuda, "-I" + cuda + "/cccl"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"nvrtc.py", library, source, "-I../../device", "-I../../include"}, c.options...)
			cmd := exec.Command("python3", args...)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(library))
			var log strings.Builder
			cmd.Stderr = &log
			ptx, err := cmd.Output()
			if err != nil || log.Len() > 0 {
				t.Fatalf("compile: %v\n%s", err, log.String())
			}
			if !strings.Contains(string(ptx), " shmemi_here[1184];") {
				t.Error("the PTX has no symbol shmemi_here of 1184 bytes")
			}
		})
	}
	cmd := exec.Command("python3", "nvrtc.py", library, source, "--gpu-architecture=compute_90")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(library))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "shmem/shmem.cuh") {
		t.Errorf("without the header: %v\n%s", err, out)
	}
}
