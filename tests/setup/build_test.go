package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildLacks: when a prerequisite of every build is missing, make install and make wheel name
// it and how to get it.
func TestBuildLacks(t *testing.T) {
	dir := t.TempDir()
	bare := filepath.Join(dir, "bare-gcc") // a compiler that finds no headers
	script := "#!/bin/sh\ncase \"$*\" in *'-E -x c -'*) exit 1 ;; esac\nexec gcc \"$@\"\n"
	if err := os.WriteFile(bare, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, env, args, want string }{
		{"no Go", "", "GO=/no/such/go",
			"setup: Go 1.26 or newer is needed, none was found (install it from https://go.dev/dl and put its bin first in PATH)"},
		{"no compiler", "", "CC=/no/such/gcc", "setup: gcc 12 or newer is needed, none was found (apt-get install gcc, or set CC)"},
		{"no headers", "", "CC=" + bare, "setup: headers are missing that every build needs, of the packages libfabric-dev libhwloc-dev " +
			"(as root apt-get install --no-install-recommends libfabric-dev libhwloc-dev)"},
		{"no Go modules", "GOPROXY=off GOFLAGS=-modcacherw GOMODCACHE=" + filepath.Join(dir, "modules"), "",
			"setup: cannot fetch the Go modules (go mod download; where no registry answers set GOPROXY to one that does"},
		{"no CUDA compiler", "PIP_INDEX_URL=http://127.0.0.1:9/ PIP_RETRIES=0", "KERNELS=yes",
			"; where no registry answers set NVCC to CUDA's compiler; KERNELS=no builds and installs without them, but makes no wheel)"},
	} {
		for _, target := range []string{"install", "wheel"} {
			if c.what == "no CUDA compiler" && target == "wheel" {
				continue // the same rule
			}
			t.Run(c.what+"/"+target, func(t *testing.T) {
				build := t.TempDir()
				args := append([]string{"-C", "../..", "BUILD=" + build, "PREFIX=" + filepath.Join(dir, "prefix")}, strings.Fields(c.args)...)
				if c.what == "no CUDA compiler" { // the rest of a build takes too long here
					args = append(args, build+"/lib/libshmem_kernels.fatbin")
				} else {
					args = append(args, target)
				}
				cmd := exec.CommandContext(t.Context(), "make", args...)
				for _, v := range os.Environ() {
					if !strings.HasPrefix(v, "KERNELS=") && !strings.HasPrefix(v, "NVCC=") && !strings.HasPrefix(v, "MAKE") {
						cmd.Env = append(cmd.Env, v)
					}
				}
				cmd.Env = append(cmd.Env, strings.Fields(c.env)...)
				out, err := cmd.CombinedOutput()
				if err == nil || !strings.Contains(string(out), c.want) {
					t.Errorf("%v, want %s:\n%s", err, c.want, out)
				}
			})
		}
	}
}
