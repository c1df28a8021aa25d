package setup

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// planned is make's plan for a separate build folder, or its refusal.
func planned(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-n", "-C", "../..", "BUILD=" + t.TempDir()}, args...)...)
	for _, v := range os.Environ() { // the caller's variables are not the test's
		if !strings.HasPrefix(v, "KERNELS=") && !strings.HasPrefix(v, "NVCC=") && !strings.HasPrefix(v, "MAKE") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Every build has the library's kernels, and set-up gets the compiler if there is none. KERNELS=no
// omits them, and removes those of an earlier build.
func TestKernelsInEveryBuild(t *testing.T) {
	const compiles, fetches, drops = "-fatbin -o", "scripts/setup kernels", "rm -f"
	for _, target := range []string{"build", "install", "wheel"} {
		out, err := planned(t, target)
		if err != nil || !strings.Contains(out, compiles) || !strings.Contains(out, fetches) {
			t.Errorf("make %s: %v, and it would not compile the kernels or get the compiler:\n%s", target, err, out)
		}
	}
	for _, target := range []string{"build", "install"} {
		out, err := planned(t, target, "KERNELS=no")
		if err != nil || strings.Contains(out, compiles) || !strings.Contains(out, drops) {
			t.Errorf("make %s KERNELS=no: %v, and it would compile the kernels or leave old ones:\n%s", target, err, out)
		}
	}
}

// An invalid value is refused with one line.
func TestKernelsRefused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"build KERNELS=maybe", "KERNELS=maybe: set it to yes or no"},
		{"build KERNELS=", "KERNELS=: set it to yes or no"},
	} {
		if out, err := planned(t, strings.Fields(c.args)...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("make %s: %v, %s", c.args, err, out)
		}
	}
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"wheel KERNELS=no", "wheel: it has the library's own kernels, which its operators for torch need (leave KERNELS=no out)"},
		{dir + "/lib/libshmem_kernels.fatbin NVCC=/no/such/nvcc", "build: NVCC=/no/such/nvcc is not there (set NVCC to CUDA's compiler, or leave it out)"},
	} {
		cmd := exec.Command("make", append([]string{"-C", "../..", "BUILD=" + dir}, strings.Fields(c.args)...)...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("make %s: %v, %s", c.args, err, out)
		}
	}
}
