package setup

import (
	"os/exec"
	"strings"
	"testing"
)

// TestBitcode: make build and make install have the bitcode for NVSHMEM's kernels where clang is and
// say so where it is not; make wheel has it everywhere, and set-up gets a clang.
func TestBitcode(t *testing.T) {
	const compiles = " -x cuda --cuda-device-only "
	for _, c := range []struct {
		args, clang, not string
		want             []string
	}{
		{"build", "/some/clang", "without libnvshmem_device.bc", []string{"/some/clang" + compiles}},
		{"install", "", compiles, []string{"without libnvshmem_device.bc", `rm -f "/usr/local/lib/libnvshmem_device.bc"`}},
		{"wheel", "", "clang-14", []string{"scripts/setup bitcode", compiles}},
	} {
		out, err := planned(t, t.TempDir(), c.args, "KERNELS=yes", "BITCODE_CLANG="+c.clang)
		for _, want := range c.want {
			if err != nil || !strings.Contains(out, want) || strings.Contains(out, c.not) {
				t.Errorf("make %s BITCODE_CLANG=%s: %v, the plan lacks %q or has %q", c.args, c.clang, err, want, c.not)
			}
		}
	}
	cmd := exec.Command("../../scripts/bitcode-clang")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "BITCODE_CLANG=gcc"}
	if out, err := cmd.Output(); err != nil || len(out) != 0 {
		t.Errorf("it takes gcc for a clang: %v, %q", err, out)
	}
}
