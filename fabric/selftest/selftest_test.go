package selftest

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/fabric/ofi/stub"
	"libshmem/tests/need"
)

// gpus returns two methods to register memory that stands for a GPU's.
func gpus(t *testing.T) []GPU {
	t.Helper()
	const n = 1 << 16
	var all []GPU
	for _, method := range []string{"dma-buf", "peer memory"} {
		b, fd := stub.Memory(t, n)
		t.Cleanup(func() { _ = unix.Close(fd) }) // of a memory file
		m := fabric.GPUMemory{Base: unsafe.Pointer(&b[0]), Len: n, File: fd}
		if method != "dma-buf" {
			m.File = -1
		}
		all = append(all, GPU{Method: method, Memory: m, Read: func(to []byte) error { copy(to, b); return nil }, Clear: func() error { clear(b); return nil }, Spare: method != "dma-buf"})
	}
	return all
}

func lines(results []Result) string {
	var all []string
	for _, r := range results {
		all = append(all, r.Verdict.String()+" "+r.Test+": "+r.Text)
	}
	return strings.Join(all, "\n")
}

// Each rule that a setting breaks has a failed line of its own, and the others stay as they
// were.
func TestRules(t *testing.T) {
	library := stub.Build(t)
	for _, c := range []struct {
		nic    string
		failed string            // the tests that fail, with | between
		says   map[string]string // of some test
	}{
		{"version=1.22", "", map[string]string{"wait objects": "skipped wait objects: the provider has none", "endpoint": "passed endpoint: fabric efa, no wait descriptor"}},
		{"version=2.3", "", map[string]string{"endpoint": "passed endpoint: fabric efa, "}},
		{"version=2.6", "", map[string]string{
			"endpoint": "passed endpoint: fabric efa-direct, CUDA_API_PERMITTED off, SHARED_MEMORY_PERMITTED off$", "wait objects": "passed wait objects: 20 sleeps", "order": "passed order: 64 messages arrived, each once; no order is promised",
			"queue sizes": "passed queue sizes: 32768 completions, 4096 operations, 8192 receives",
		}},
		{"provider=verbs", "", map[string]string{"order": "passed order: 64 messages arrived, each once, in order"}},
		{"version=2.6 max_cq=4096", "queue sizes", map[string]string{"queue sizes": "a completion queue of 32768 entries: .*fi_cq_open: invalid argument"}},
		{"version=2.6 hmem=0", "memory of GPUs by dma-buf|memory of GPUs by peer memory", map[string]string{"memory of GPUs by dma-buf": "fi_getinfo with FI_HMEM"}},
		{"version=2.6 cuda=look", "memory of GPUs by dma-buf|memory of GPUs by peer memory", map[string]string{"endpoint": "fabric efa-direct, libfabric .* cannot load libcudart.so", "memory of GPUs by peer memory": "cannot load libcudart.so"}},
		{"version=2.6 dmabuf=0", "memory of GPUs by dma-buf", map[string]string{"memory of GPUs by dma-buf": "FI_MR_DMABUF"}},
		{"version=2.6 peer=0", "", map[string]string{"memory of GPUs by peer memory": "skipped .*fi_mr_regattr"}},
		{"version=2.6 peer=0 dmabuf=0", "memory of GPUs by dma-buf|memory of GPUs by peer memory", nil},
		{"version=2.6 again=4", "postings", map[string]string{"postings": `\d+ of 512 writes were refused for lack of room with nothing in flight`}},
		{"version=2.6 sick=1", "main memory|immediate data|order|postings|wait objects|memory of GPUs by dma-buf|memory of GPUs by peer memory", map[string]string{"main memory": "write 262144 bytes: .*, 2"}},
		{"version=2.6 overrun_at=1", "endpoint", map[string]string{"endpoint": "completion queue overrun"}},
	} {
		t.Run(c.nic, func(t *testing.T) {
			t.Setenv("FAKE_NIC", c.nic)
			provider := "efa"
			if strings.Contains(c.nic, "verbs") {
				provider = "verbs"
			}
			results := Run(func(cfg fabric.Config) (fabric.Provider, error) {
				cfg.Library, cfg.Provider = library, provider
				// Without it, the version counts that the library had when it was loaded.
				if strings.HasPrefix(c.nic, "version=2.6") {
					cfg.Fabric = "efa-direct"
				}
				return ofi.Open(cfg)
			}, gpus(t))
			var failed []string
			for _, r := range results {
				if r.Verdict == Failed {
					failed = append(failed, r.Test)
				}
				if want, ok := c.says[r.Test]; ok && !regexp.MustCompile(want).MatchString(lines([]Result{r})) {
					t.Errorf("want %q of: %s", want, lines([]Result{r}))
				}
			}
			if got := strings.Join(failed, "|"); got != c.failed {
				t.Errorf("these failed: %s, want %s\n%s", got, c.failed, lines(results))
			}
		})
	}
}

func TestMain(m *testing.M) { os.Exit(need.Keep(m)) }
