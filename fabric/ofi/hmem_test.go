package ofi

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The files are in the table of rules.
func TestFilesForCUDA(t *testing.T) {
	table, err := os.ReadFile("stub/rules.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]string{}
	for line := range strings.Lines(string(table)) {
		if f := strings.Split(line, "\t"); len(f) > 6 {
			rules[f[0]] = f[6]
		}
	}
	for number, want := range map[uint32][]string{
		1<<16 | 22: {rules["R21a"], rules["R21b"]},
		2<<16 | 1:  {rules["R21a"], rules["R21c"]},
		2<<16 | 6:  {rules["R21a"], rules["R21c"]},
	} {
		if got := (Library{number: number}).forCUDA(); !slices.Equal(got, want) {
			t.Errorf("libfabric %x loads %q, want %q", number, got, want)
		}
	}
}

// Each missing file is named, with the remedy.
func TestObstacles(t *testing.T) {
	if _, ok := loads("libcudart.so", false); ok {
		t.Skip("CUDA's runtime is installed")
	}
	old, newer := Library{Version: "1.22", number: 1<<16 | 22}, Library{Version: "2.6", number: 2<<16 | 6}
	has := func(l Library, want string) {
		t.Helper()
		if got := l.addObstacles(os.ErrNotExist).Error(); !strings.Contains(got, want) {
			t.Errorf("%s is missing in: %s", want, got)
		}
	}
	has(newer, "file does not exist: libfabric 2.6 cannot load libcudart.so (")
	has(newer, "in a folder of LD_LIBRARY_PATH")
	if _, ok := loads("libcuda.so", false); !ok {
		has(old, "libfabric 1.22 cannot load libcuda.so (link libcuda.so to libcuda.so.1 in a folder of LD_LIBRARY_PATH, or install libfabric 2.1 or later)")
	}
	if _, ok := loads("libcuda.so.1", false); !ok {
		has(newer, "libfabric 2.6 cannot load libcuda.so.1 (install NVIDIA's driver; ")
	}
	if _, ok := loads("libc.so.6", true); !ok {
		t.Error("the C library is not found")
	}
}

// A setting of the user's is named.
func TestObstacleFI_HMEM(t *testing.T) {
	all := Library{}.Obstacles([]string{"A=1", "FI_HMEM=system"})
	if len(all) == 0 || all[0].String() != "FI_HMEM=system keeps libfabric from CUDA (unset FI_HMEM)" {
		t.Errorf("%v", all)
	}
	for _, fine := range []string{"FI_HMEM=system;cuda", "FI_HMEM=", "FI_HMEM_CUDA_USE_GDRCOPY=0"} {
		if all := (Library{}).Obstacles([]string{fine}); len(all) > 0 && strings.Contains(all[0].Text, "FI_HMEM") {
			t.Errorf("%s: %v", fine, all)
		}
	}
}
