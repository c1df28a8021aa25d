package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// withoutCUDA returns the environment without variables of make and of CUDA, and without the
// folders of PATH that have nvcc.
func withoutCUDA() (env []string) {
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "KERNELS" || name == "NVCC" || name == "CUDA_HOME" || strings.HasPrefix(name, "MAKE"):
		case name == "PATH":
			var path []string
			for _, folder := range filepath.SplitList(value) {
				if _, err := os.Stat(filepath.Join(folder, "nvcc")); err != nil {
					path = append(path, folder)
				}
			}
			env = append(env, "PATH="+strings.Join(path, ":"))
		default:
			env = append(env, v)
		}
	}
	return env
}

// planned returns make's plan for a separate build folder, or its refusal.
func planned(t *testing.T, build string, args ...string) (string, error) {
	t.Helper()
	return plannedIn(t, withoutCUDA(), build, args...)
}

func plannedIn(t *testing.T, env []string, build string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"-n", "-C", "../..", "BUILD=" + build}, args...)...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const (
	compiles = "-fatbin -o"
	fetches  = "scripts/setup kernels"
	drops    = "rm -f"
	without  = "without the library's own kernels"
)

// make install and make wheel have the library's kernels, and set-up gets the compiler if there is
// none. KERNELS=no omits them, and removes those of an earlier build.
func TestKernelsInEveryInstallation(t *testing.T) {
	for _, target := range []string{"install", "wheel", "build KERNELS=yes"} {
		out, err := planned(t, t.TempDir(), strings.Fields(target)...)
		if err != nil || !strings.Contains(out, compiles) || !strings.Contains(out, fetches) || strings.Contains(out, without) {
			t.Errorf("make %s: %v, and it would not compile the kernels or get the compiler:\n%s", target, err, out)
		}
	}
	for _, target := range []string{"build", "install"} {
		out, err := planned(t, t.TempDir(), target, "KERNELS=no")
		if err != nil || strings.Contains(out, compiles) || !strings.Contains(out, drops) {
			t.Errorf("make %s KERNELS=no: %v, and it would compile the kernels or leave old ones:\n%s", target, err, out)
		}
	}
}

// make build has them where CUDA's compiler is, and where an earlier build has made them, which
// would not fit the new library.
func TestKernelsWhereCUDAIs(t *testing.T) {
	home, build := t.TempDir(), t.TempDir()
	for file := range map[string]bool{home + "/bin/nvcc": true, build + "/lib/libshmem_kernels.fatbin": true} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, file, "#!/bin/sh\n")
	}
	for _, c := range []struct{ what, build, variable, compiler string }{
		{"the compiler in CUDA_HOME", t.TempDir(), "CUDA_HOME=" + home, home + "/bin/nvcc"},
		{"the compiler in PATH", t.TempDir(), "PATH=" + home + "/bin:" + os.Getenv("PATH"), "nvcc"},
		{"the compiler in NVCC", t.TempDir(), "NVCC=" + home + "/bin/nvcc", home + "/bin/nvcc"},
		{"earlier kernels", build, "LC_ALL=C", "nvcc"},
	} {
		out, err := plannedIn(t, append(withoutCUDA(), c.variable), c.build, "build")
		if err != nil || !strings.Contains(out, compiles) || !strings.Contains(out, `nvcc="`+c.compiler+`"`) || strings.Contains(out, without) {
			t.Errorf("%s: %v, and make build would not compile the kernels:\n%s", c.what, err, out)
		}
	}
	for _, file := range []string{"/dev/nvidiactl", "/dev/dxg"} {
		if _, err := os.Stat(file); err == nil {
			t.Skip("there is a GPU, so every build has kernels")
		}
	}
	out, err := planned(t, t.TempDir(), "build")
	if err != nil || strings.Contains(out, compiles) || !strings.Contains(out, without) {
		t.Errorf("no CUDA: %v, and make build would compile the kernels, or not say that it omits them:\n%s", err, out)
	}
}

// An invalid value is refused with one line.
func TestKernelsRefused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"build KERNELS=maybe", "KERNELS=maybe: set it to yes or no"},
		{"build KERNELS=", "KERNELS=: set it to yes or no"},
	} {
		if out, err := planned(t, t.TempDir(), strings.Fields(c.args)...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("make %s: %v, %s", c.args, err, out)
		}
	}
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"wheel KERNELS=no", "wheel: it has the library's own kernels, which its operators for torch need (leave KERNELS=no out)"},
		{"wheel MACHINE=aarch64", "wheel: MACHINE=aarch64 needs the compiler for it (set GLIBC, too, as in GLIBC=2.28)"},
		{dir + "/lib/libshmem_kernels.fatbin NVCC=/no/such/nvcc", "build: NVCC=/no/such/nvcc is not there (set NVCC to CUDA's compiler, or leave it out)"},
	} {
		cmd := exec.Command("make", append([]string{"-C", "../..", "BUILD=" + dir}, strings.Fields(c.args)...)...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("make %s: %v, %s", c.args, err, out)
		}
	}
}
