package bad

import (
	"strings"
	"testing"

	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

// onGPU are the rows of PEs with a fake GPU: it runs none of the library's kernels.
var onGPU = []row{
	{what: "stream_kernel", status: aborted, say: []string{`PE \d: shmemx_sync_all_on_stream: load /\S+/libshmem_kernels.fatbin: .*, which the driver has no name for \(run shmem-doctor\)`}},
	{what: "stream_wrong_pe", status: aborted, say: []string{`PE \d: shmemx_long_put_on_stream: PE 2 does not exist, there are 2 \(use 0 to shmem_n_pes\(\) - 1\)`}},
	{what: "stream_private", status: aborted, say: []string{`PE \d: shmemx_long_get_on_stream: source 0x\w+ with 8 bytes is not in the symmetric heap \(pass memory from shmem_malloc`}},
	{what: "stream_past_end", status: aborted, say: []string{`PE \d: shmemx_long_fcollect_on_stream: dest 0x\w+ with \d+ bytes is not in the symmetric heap`}},
	{what: "stream_null_source", status: aborted, say: []string{`PE \d: shmemx_putmem_signal_on_stream: the local source is NULL \(pass memory of this PE\)`}},
	{what: "stream_misaligned", status: aborted, say: []string{`PE \d: shmemx_long_p_on_stream: dest 0x\w+ is not aligned to 8 bytes`}},
	{what: "stream_operation", status: aborted, say: []string{`PE \d: shmemx_signal_op_on_stream: signal operation 77 does not exist \(use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD\)`}},
	{what: "stream_comparison", status: aborted, say: []string{`PE \d: shmemx_long_wait_until_on_stream: comparison 42 does not exist`}},
	{what: "stream_root", status: aborted, say: []string{`PE \d: shmemx_long_broadcast_on_stream: root PE 2 does not exist, the team has 2 \(use 0 to shmem_team_n_pes\(team\) - 1\)`}},
	{what: "stream_team", status: aborted, say: []string{`PE \d: shmemx_long_sum_reduce_on_stream: team 4711 does not exist \(pass SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED or a team that a split has made\)`}},
	{what: "register_apart", status: 0, say: []string{`PE 0: shmemx_buffer_register_symmetric: the buffer of 4096 bytes at 0x\w+: the symmetric heap is in the memory of a GPU, and memory of the host cannot be in it \(set SHMEM_HEAP=host or pinned\)`}},
	{what: "module_without_gpu", status: 0, say: []string{`PE \d: shmemx_cumodule_init: find variable shmemi_here on .*cuModuleGetGlobal.*\(compile the code with shmem/shmem.cuh, and use the library in it\)`, `PE 0 went on`}},
	{what: "module_of_another_size", status: 0, say: []string{`PE \d: shmemx_cumodule_init: the code was compiled with another version of shmem/shmem.cuh \(64 bytes of state\), the library has version \d+ \(\d+ bytes\) \(compile it with the header of this library\)`, `PE 0 went on`}},
	{what: "module_of_another_version", status: 0, say: []string{`PE \d: shmemx_cumodule_init: check the version of libnvshmem_device.bc in the code: it is 0.0.0, of another version of libshmem: the last number of this library's is 1\d\d\d \(link the code with the file beside this library: NVSHMEM_LIB_DIR or NVSHMEM_HOME names its folder\)`, `PE 0 went on`}},
	{what: "unit_newer", status: 1, say: []string{`shmem: shmem_init: .*the kernels of bad.cu were compiled with version \d+ of shmem/shmem.cuh \(\d+ bytes of state\), the library has version \d+ \(\d+ bytes\) \(compile them with the header that came with this library\)`}},
	{what: "unit_larger", status: 1, say: []string{`shmem: shmem_init: .*the kernels of bad.cu were compiled with version \d+ of shmem/shmem.cuh \(\d+ bytes of state\), the library has version \d+`}},
	{what: "unit_architecture", status: 1, say: []string{`shmem: shmem_init: .*the kernels of bad.cu cannot be given the job's state on GPU 0: no kernel image is available .* \(compile them for the architecture of this GPU\)`}},
	{what: "nothing", env: []string{"FAKE_CUDA=version=10020"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_HEAP=device: .*libcuda.so.1 is of CUDA 10.2, older than 11.0 \(install a newer driver\)`}},
	{what: "nothing", env: []string{"FAKE_CUDA=init=100"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_HEAP=device: .*no CUDA-capable device is detected \(nvidia-smi must list a GPU`}},
	{what: "module_finalized", status: 0, say: []string{`PE \d: shmemx_cumodule_finalize: the code has not been initialised \(pass a handle that was passed to an init call\)`, `PE 1 went on`}},
}

func TestBadInputWithGPU(t *testing.T) { runOnGPU(t, "bad", onGPU) }

// runOnGPU runs the rows of a program with fake GPUs.
func runOnGPU(t *testing.T, name string, rows []row) {
	build := need.Build(t)
	program := compile(t, build, name)
	t.Setenv("LD_LIBRARY_PATH", cudatest.Build(t))
	t.Setenv("FAKE_CUDA", "works=1")
	for _, r := range rows {
		r.env = append(r.env, "SHMEM_HEAP=device")
		t.Run(strings.Join(append([]string{r.what}, r.env...), ","), func(t *testing.T) { r.run(t, build, program, onNode) })
	}
}
