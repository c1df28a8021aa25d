package run

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

// TestNIC runs a program whose heap grows, or that lends memory to the heap, with a NIC that cannot
// register all of it: the bytes arrive by another route, and the log names it and the reason. If
// the user's setting requires a route, the job uses that route or fails.
func TestNIC(t *testing.T) {
	build := need.Build(t)
	library, driver := stub.Build(t), cudatest.Build(t)
	for _, c := range []struct {
		way, nic, gpu string
		program       string // growth
		passes        bool
		say           []string
		never         string
	}{
		{
			way: "auto", passes: true, never: "staged",
			say: []string{"the NIC reaches the heap by dma-buf", "network efa on ", ", GPU memory by dma-buf"},
		},
		{
			way: "auto", nic: "dmabuf=0", passes: true, never: "staged",
			say: []string{"does not reach the heap by dma-buf: ", "fi_mr_regattr with FI_MR_DMABUF: operation not supported", ", GPU memory by peer memory"},
		},
		{
			way: "auto", gpu: "attribute124=0", passes: true,
			say: []string{"exports no dma-buf of it", ", GPU memory by peer memory"},
		},
		{
			way: "auto", nic: "hmem=0", passes: true,
			say: []string{"fi_getinfo with FI_HMEM for provider efa on ", ", GPU memory staged"},
		},
		{
			way: "auto", nic: "fail_at=4", passes: true, // PEs have two parts at first
			say: []string{"PE 3: gpu: 33554432 bytes of the heap at offset ", " are staged: register ", ", GPU memory by dma-buf"},
		},
		{way: "stage", passes: true, say: []string{", GPU memory staged"}, never: "reaches the heap"},
		{way: "peermem", passes: true, say: []string{", GPU memory by peer memory"}, never: "dma-buf"},
		{way: "dmabuf", nic: "fail_at=4", say: []string{"shmem_malloc(41943040) returned NULL", "SHMEM_GPU_NET=dmabuf: register "}},
		{way: "dmabuf", nic: "dmabuf=0", say: []string{"SHMEM_GPU_NET=dmabuf: register ", "operation not supported (set it to auto to use what works)"}},
		{way: "peermem", nic: "peer=0", say: []string{"SHMEM_GPU_NET=peermem: register ", "function not implemented (set it to auto to use what works)"}},
		{
			way: "auto", program: "lent", passes: true, never: "staged",
			// The fake driver does not export two chunks together.
			say: []string{"PE 2: gpu: 14680064 bytes that are lent to the heap are registered in 3 parts: ", ", GPU memory by dma-buf"},
		},
		{
			way: "auto", program: "lent", nic: "fail_at=5", passes: true,
			say: []string{"PE 2: gpu: 8388608 bytes of the heap at offset ", " are staged: register "},
		},
		{way: "peermem", program: "lent", passes: true, say: []string{", GPU memory by peer memory"}, never: "dma-buf"},
		{
			// Every PE fails, and the first report ends the others.
			way: "dmabuf", program: "lent", nic: "fail_at=3",
			say: []string{": shmemx_buffer_register_symmetric: the buffer of 10485760 bytes at ", "SHMEM_GPU_NET=dmabuf: register "},
		},
		{way: "dmabuf", gpu: "attribute118=0 attribute117=0", say: []string{"a NIC's writes there are not in order, and the driver, of CUDA 13.3, has no call to flush it"}},
	} {
		t.Run(strings.Join(strings.Fields(c.way+" "+c.program+" "+c.nic+" "+c.gpu), ","), func(t *testing.T) {
			program := cmp.Or(c.program, "growth")
			log := stub.Set(t, c.nic)
			cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "--timeout", "50", "-n", "4", "--hosts", "2", filepath.Join(build, "tests", program))
			cmd.Env = append(os.Environ(), "SHMEM_HEAP=device", "FAKE_CUDA=works=1 "+c.gpu, "LD_LIBRARY_PATH="+driver, "SHMEM_LOG_LEVEL=info",
				"SHMEM_GPU_NET="+c.way, "SHMEM_PROVIDER="+stub.Provider, "SHMEM_LIBFABRIC="+library)
			b, err := cmd.CombinedOutput()
			out := string(b)
			if (err == nil) != c.passes || c.passes && judge(out) != nil {
				t.Errorf("%v", err)
			}
			for _, s := range c.say {
				if !strings.Contains(out, s) {
					t.Errorf("it does not say %q", s)
				}
			}
			if c.never != "" && strings.Contains(out, c.never) {
				t.Errorf("it says %q", c.never)
			}
			if t.Failed() {
				t.Log(excerpt(out))
			}
			registered, closed := 0, 0
			for _, line := range log.Lines() {
				if strings.HasPrefix(line, "close ") {
					closed++
				} else if strings.HasSuffix(line, ": 0") {
					registered++
				}
			}
			if c.passes && registered != closed || c.way == "stage" && registered > 0 {
				t.Errorf("%d parts were registered and %d given back", registered, closed)
			}
		})
	}
}
