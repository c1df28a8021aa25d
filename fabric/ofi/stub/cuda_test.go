package stub

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FI_HMEM is there when CUDA's libraries are (R21), and CUDA is called in the first fi_getinfo,
// before 2.0 in each fi_domain (R22).
func TestCUDA(t *testing.T) {
	library := Build(t)
	program := compiled(t, "breaks", library)
	cuda := filepath.Join(t.TempDir(), "cuda.so")
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", cuda, "testdata/cudart.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc for cudart.c: %v\n%s", err, out)
	}
	all := []string{"libcudart.so", "libcuda.so", "libcuda.so.1"}
	once := []string{"cudaMalloc", "cudaFree"}
	for _, c := range []struct {
		what, settings, fabric, env string
		missing                     string
		answer                      string
		calls                       []string
	}{
		{"hmem", "", rdm, "", "", "fine", once},
		{"hmem", "", direct, "", "", "fine", once},
		{"hmem", "", direct, "", "libcudart.so", "ENODATA", nil},
		{"hmem", "without=R21a", direct, "", "libcudart.so", "fine", nil},
		{"hmem", "", rdm, "", "libcuda.so.1", "ENODATA", nil},
		{"hmem", "without=R21c", rdm, "", "libcuda.so.1", "fine", once},
		{"hmem", "", rdm, "", "libcuda.so", "fine", once},
		{"hmem", old, rdm, "", "libcuda.so", "ENODATA", nil},
		{"hmem", old + " without=R21b", rdm, "", "libcuda.so", "fine", nil},
		{"hmem", old, rdm, "", "libcuda.so.1", "fine", nil},
		{"open", old, rdm, "", "", "opened", once},
		{"open", old + " without=R22a", rdm, "", "", "opened", nil},
		{"open", "", direct, "", "", "opened", once},
		{"open", "without=R22b", direct, "", "", "opened", nil},
		{"open", "", direct, "FI_HMEM=system", "", "opened", nil},
		{"open", "without=R22c", direct, "FI_HMEM=system", "", "opened", once},
		{"hmem", "", rdm, "FI_HMEM=system", "", "ENODATA", nil},
		{"open", "", direct, "FI_HMEM_DISABLE_P2P=1", "", "opened", nil},
		{"open", "without=R22e", direct, "FI_HMEM_DISABLE_P2P=1", "", "opened", once},
	} {
		dir := t.TempDir()
		for _, name := range all {
			if name == c.missing {
				continue
			}
			if err := os.Symlink(cuda, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		calls := filepath.Join(dir, "calls")
		cmd := exec.Command(program, c.what, c.fabric)
		cmd.Env = append(os.Environ(), "FAKE_NIC=cuda=look "+c.settings, "LD_LIBRARY_PATH="+dir, "CUDA_CALLS="+calls)
		if c.env != "" {
			cmd.Env = append(cmd.Env, c.env)
		}
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.answer {
			t.Errorf("%s with %q and %q, without %q: %v, %q, want %q", c.what, c.settings, c.env, c.missing, err, got, c.answer)
		}
		text, err := os.ReadFile(calls)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if got := strings.Fields(string(text)); !slices.Equal(got, c.calls) {
			t.Errorf("%s with %q and %q, without %q: called %q, want %q", c.what, c.settings, c.env, c.missing, got, c.calls)
		}
	}
}
