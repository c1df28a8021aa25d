package stub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/cc"
)

const (
	once   = ": libnvidia-ml.so.1 cudaMalloc cudaFree"
	copied = once + " cudaMemcpy"
)

// cudaBreaks are the rules about CUDA's libraries and the calls of them, which an answer has
// behind a colon; of version 1.22 without NVML.
var cudaBreaks = []struct {
	broken
	missing string // of the libraries
}{
	{broken{"R18a", "gpu-post-forbidden", "", rdm, "", "posted" + once, "posted" + copied}, ""},
	{broken{"R18b", "gpu-post", "", rdm, "", "posted" + copied, "posted" + once}, ""},
	{broken{"R18d", "gpu-post", "", direct, "", "posted" + once, "posted" + copied}, ""},
	{broken{"R21a", "hmem", "", direct, "", "ENODATA", "fine: libnvidia-ml.so.1"}, "libcudart.so"},
	{broken{"R21b", "hmem", old, rdm, "", "ENODATA", "fine"}, "libcuda.so"},
	{broken{"R21c", "hmem", "", rdm, "", "ENODATA", "fine" + once}, "libcuda.so.1"},
	{broken{"R21d", "hmem", "", rdm, "", "fine" + once, "fine: cudaMalloc cudaFree"}, ""},
	{broken{"R22a", "open", old, rdm, "", "opened: cudaMalloc cudaFree", "opened"}, ""},
	{broken{"R22b", "open", "", direct, "", "opened" + once, "opened: libnvidia-ml.so.1"}, ""},
	{broken{"R22c", "open", "", direct, "FI_HMEM=system", "opened", "opened" + once}, ""},
	{broken{"R22d", "open", "", direct, "FI_HMEM=system;cuda", "opened" + once, "opened"}, ""},
	{broken{"R22d", "open", "", direct, "FI_HMEM=system,cuda", "opened", "opened" + once}, ""},
	{broken{"R22e", "open", "", direct, "FI_HMEM_DISABLE_P2P=1", "opened: libnvidia-ml.so.1", "opened" + once}, ""},
}

// cudaHolds are further facts about them.
var cudaHolds = []struct{ what, settings, fabric, env, missing, answer string }{
	{"hmem", "", rdm, "", "libcuda.so", "fine" + once},
	{"hmem", "", rdm, "", "libnvidia-ml.so.1", "fine: cudaMalloc cudaFree"},
	{"hmem", old, rdm, "", "libcuda.so.1", "fine"},
	{"hmem", "", rdm, "FI_HMEM=system", "", "ENODATA"},
	{"gpu-post", "", rdm, "", "libnvidia-ml.so.1", "posted: cudaMalloc cudaFree cudaMemcpy"},
}

// FI_HMEM is there when CUDA's libraries are (R21), and CUDA is called in the first fi_getinfo,
// before 2.0 in each fi_domain (R22), and with memory of GPUs (R18).
func TestCUDA(t *testing.T) {
	program := compiled(t, "breaks", Build(t))
	built := t.TempDir()
	for _, name := range []string{"cudart", "nvml"} {
		cc.Run(t, cc.C(), "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(built, name), "testdata/"+name+".c")
	}
	// call runs a program where a library is missing, and returns its output and calls.
	call := func(t *testing.T, what, fabric, settings, env, missing string) string {
		t.Helper()
		dir := t.TempDir()
		for name, file := range map[string]string{
			"libcudart.so": "cudart", "libcuda.so": "cudart", "libcuda.so.1": "cudart", "libnvidia-ml.so.1": "nvml",
		} {
			if name == missing {
				continue
			}
			if err := os.Symlink(filepath.Join(built, file), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		calls := filepath.Join(dir, "calls")
		said := run(t, program, what, fabric, "cuda=look "+settings, append(strings.Fields(env), "LD_LIBRARY_PATH="+dir, "CUDA_CALLS="+calls)...)
		text, err := os.ReadFile(calls)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if len(text) > 0 {
			said += ": " + strings.Join(strings.Fields(string(text)), " ")
		}
		return said
	}
	for _, b := range cudaBreaks {
		t.Run(b.name(), func(t *testing.T) {
			t.Parallel() // much of the time is sleep
			b.test(t, func(settings string) string {
				return call(t, b.what, b.fabric, settings, b.env, b.missing)
			})
		})
	}
	for _, h := range cudaHolds {
		if got := call(t, h.what, h.fabric, h.settings, h.env, h.missing); got != h.answer {
			t.Errorf("%s with %q and %q, without %q: %q, want %q", h.what, h.settings, h.env, h.missing, got, h.answer)
		}
	}
}
