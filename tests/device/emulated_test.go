package device

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// emulate builds a program of tests/gpu for the host.
func emulate(t *testing.T, lib, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	// What nvcc is told by pragmas means nothing here.
	args := []string{"-std=c++17", "-O1", "-x", "c++", "-DEMULATED", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
		"-I../../device", "-I../../include", "-Iemulated", "-o", program, "../gpu/" + name + ".cu",
		"-x", "none", "-L" + lib, "-lshmem", "-lpthread"}
	if out, err := exec.Command(compiler("CXX", "g++"), args...).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	return program
}

// TestEmulated runs the programs that try each name of the device interface as
// programs of the host: on one node, where peers are reached directly, and
// between hosts, where all goes through the rings and the proxies.
func TestEmulated(t *testing.T) {
	build := need.Build(t)
	lib := filepath.Join(build, "lib")
	for _, name := range []string{"rma", "atomics", "waits", "colls", "litmus"} {
		t.Run(name, func(t *testing.T) {
			program := emulate(t, lib, name)
			for _, way := range [][]string{
				{"-n", "2"},
				{"-n", "2", "--hosts", "2", "-x", "SHMEM_PROVIDER=tcp"},
			} {
				cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), append(way, "--timeout", "300", program)...)
				cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib)
				out, err := cmd.CombinedOutput()
				if err != nil || strings.Count(string(out), " passed, 0 failed") != int(way[1][0]-'0') {
					t.Errorf("%s: %v\n%s", strings.Join(way, " "), err, out)
				}
			}
		})
	}
}
