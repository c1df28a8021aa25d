package device

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// promised are the architectures that the library supports: the oldest one of CUDA 13, and one of
// each generation since; or the ones that make's variables name.
var promised = func() (all []string) {
	archs := "75 80 90 100 120"
	if fewer := os.Getenv("CUDA_ARCHS"); fewer != "" {
		archs = fewer
	}
	for _, a := range strings.Fields(archs) {
		all = append(all, "sm_"+a)
	}
	return all
}()

// makeTarget builds a target of make with the compiler that need finds.
func makeTarget(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"--no-print-directory", "-s", "-C", "../..", "-j2", "NVCC=" + need.NVCC(t)}, args...)...)
	// The caller may itself be a recipe of make.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKEFLAGS=") || strings.HasPrefix(v, "MAKELEVEL=") || strings.HasPrefix(v, "MFLAGS=")
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// compiled compiles the kernels with make and returns PTX by file and architecture.
func compiled(t *testing.T) map[string]map[string]string {
	t.Helper()
	makeTarget(t, "kernels")
	sources, err := filepath.Glob("*.cu")
	if err != nil || len(sources) == 0 {
		t.Fatalf("list tests/device: %d kernels' files, error %v", len(sources), err)
	}
	all := map[string]map[string]string{}
	for _, source := range sources {
		all[source] = map[string]string{}
		for _, arch := range promised {
			name := strings.TrimSuffix(source, ".cu") + "." + arch + ".ptx"
			text, err := os.ReadFile(filepath.Join(need.Folder(t), "device", name))
			if err != nil {
				t.Fatalf("read PTX: %v (is %s in CUDA_ARCHS of the Makefile?)", err, arch)
			}
			all[source][arch] = string(text)
		}
	}
	return all
}

func sourceOf(t *testing.T, file string) []kernel {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := parseSource(string(text))
	if err != nil || len(kernels) == 0 {
		t.Fatalf("%s: %d kernels, %v", file, len(kernels), err)
	}
	return kernels
}

// TestKernels checks the PTX of each kernel against its rules.
func TestKernels(t *testing.T) {
	for file, archs := range compiled(t) {
		kernels := sourceOf(t, file)
		for _, arch := range promised {
			functions, err := parsePTX(archs[arch])
			if err != nil {
				t.Errorf("%s, %s: %v", file, arch, err)
				continue
			}
			if len(functions) != len(kernels) {
				t.Errorf("%s, %s: %d kernels in the PTX, %d with rules", file, arch, len(functions), len(kernels))
			}
			for _, k := range kernels {
				f, ok := functions[k.name]
				if !ok {
					t.Errorf("%s:%d: %s has no kernel %s", file, k.line, arch, k.name)
					continue
				}
				if broken := k.check(f); broken != nil {
					t.Errorf("%s:%d: %s\n  %s\n  what touches memory (@: in a loop):\n%s", file, k.line, arch, strings.Join(broken, "\n  "), f.memory())
				}
			}
		}
	}
}
