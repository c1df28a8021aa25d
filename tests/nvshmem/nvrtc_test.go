package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// nvrtcSource has names of each header, and constants in the places of arguments.
const nvrtcSource = `#include <nvshmem.h>
#include <nvshmemx.h>
extern "C" __global__ void all(int *target, uint64_t *signal, __half *half)
{
    int me = nvshmem_my_pe(), major, minor, patch;
    nvshmem_int_p(target, me, (me + 1) % nvshmem_n_pes());
    nvshmem_half_p(half, __float2half(1.5f), me);
    nvshmemx_int_put_signal_block(target, target + 8, 8, signal, 1, NVSHMEM_SIGNAL_ADD, 0);
    nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, 1);
    nvshmemx_int_sum_reduce_warp(NVSHMEM_TEAM_WORLD, target, target, 10);
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
#ifdef NVSHMEMI_TENSORS
    auto layout = nvshmemx::make_layout(nvshmemx::make_shape(4, 4), nvshmemx::make_stride(4, ConstInt<1>{}));
    nvshmemx::Tensor tile(half, layout);
    struct none {};
    nvshmemx::tile_sum_reduce_block<decltype(tile), decltype(tile), none, nvshmemx::NVLS_TWO_SHOT_PUSH_NBI>(NVSHMEM_TEAM_WORLD, tile, tile, none{}, none{}, 0, 0);
    nvshmemx::tile_collective_wait_block<nvshmemx::NVLS_TWO_SHOT_PUSH_NBI>(NVSHMEM_TEAM_WORLD, 0);
#endif
    *target = NVSHMEMX_TMA_POLICY_MAX + NVSHMEMX_REGION_HINT_NONE + NVSHMEMX_SUCCESS + nvshmem_sync(NVSHMEMX_TEAM_NODE);
}
`

// TestNVRTC compiles kernels of NVSHMEM as programs do that compile them at run time. The headers
// declare no host code there: NVRTC refuses it.
func TestNVRTC(t *testing.T) {
	cuda := filepath.Join(filepath.Dir(filepath.Dir(need.NVCC(t))), "include")
	for _, c := range []struct {
		name    string
		options []string
	}{
		{"C++14", []string{"-std=c++14", "--gpu-architecture=compute_75", "-I" + cuda}},
		{"C++17", []string{"-std=c++17", "--gpu-architecture=compute_90", "-I" + cuda}},
		{"C++20, all of CUDA", []string{"-std=c++20", "--gpu-architecture=compute_90", "-I" + cuda, "-I" + cuda + "/cccl"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ptx, log := nvrtc(t, nvrtcSource, c.options...)
			if log != "" || !strings.Contains(ptx, " shmemi_here[1184];") {
				t.Errorf("it says %s, or the PTX has no symbol shmemi_here of 1184 bytes", log)
			}
			if all := len(c.options) > 3; strings.Contains(ptx, "shmemi_tile_reduce") != all {
				t.Errorf("tiles: %v, not %v", !all, all)
			}
		})
	}
	if ptx, log := nvrtc(t, nvrtcSource, "-std=c++17", "--gpu-architecture=compute_90"); ptx != "" || !strings.Contains(log, "NVRTC has no cuda_fp16.h: pass the folder of CUDA's headers to nvrtcCompileProgram (-I)") {
		t.Errorf("without CUDA's headers it says %s", log)
	}
}

// nvrtc compiles a text, and returns the PTX and NVRTC's output.
func nvrtc(t *testing.T, text string, options ...string) (ptx, log string) {
	t.Helper()
	library := filepath.Join(need.Folder(t), "tools", "nvrtc-13.0.88", "libnvrtc.so.13")
	if _, err := os.Stat(library); err != nil {
		t.Fatalf("find NVRTC: %v (scripts/setup test)", err)
	}
	source := filepath.Join(t.TempDir(), "kernels.cu")
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"../device/nvrtc.py", library, source, "-I../../include/nvshmem", "-I../../device"}, options...)
	cmd := exec.Command("python3", args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(library))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && said.Len() == 0 {
		t.Fatal(err)
	}
	return string(out), said.String()
}
