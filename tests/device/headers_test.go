package device

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestHeaders compiles each header alone, and twice in one file, with every compiler of its users:
// a header that ends in .cuh is for nvcc only.
func TestHeaders(t *testing.T) {
	warnings := []string{"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-c", "-o", os.DevNull, "-"}
	nvcc := []string{need.NVCC(t), "-x", "cu", "-std=c++17", "-arch=compute_75", "-ccbin", cc.C(),
		"-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", "-c", "-o", os.DevNull, "-"}
	dialects := []struct {
		name    string
		command []string
		cuda    bool
		first   bool // on each push, too
	}{
		{"C99", append([]string{cc.C(), "-x", "c", "-std=c99"}, warnings...), false, true},
		{"C11", append([]string{cc.C(), "-x", "c", "-std=c11"}, warnings...), false, false},
		{"C++11", append([]string{cc.CXX(), "-x", "c++", "-std=c++11"}, warnings...), false, true},
		{"C++17", append([]string{cc.CXX(), "-x", "c++", "-std=c++17"}, warnings...), false, false},
		{"CUDA", nvcc, true, false},
	}
	headers, err := filepath.Glob("../../device/shmem/*.*h")
	if err != nil || len(headers) == 0 {
		t.Fatalf("list device/shmem: %d headers, error %v", len(headers), err)
	}
	for _, header := range headers {
		name := "shmem/" + filepath.Base(header)
		for _, d := range dialects {
			only := strings.HasSuffix(header, ".cuh") // nvcc compiles it
			if only && !d.cuda || !only && !d.first && need.Left("headers") {
				continue
			}
			t.Run(name+" as "+d.name, func(t *testing.T) {
				file := strings.Repeat("#include <"+name+">\n", 2) + "int shmem_test_has_a_declaration;\n"
				if out, err := compile(d.command, file); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
	// The commands themselves: a command that always succeeds would prove nothing.
	for _, d := range dialects {
		if out, err := compile(d.command, "static int unused(void) { return 0; }\n"); err == nil {
			t.Errorf("%s: an unused function is no error\n%s", d.name, out)
		}
	}
}

func compile(command []string, file string) ([]byte, error) {
	cmd := exec.Command(command[0], append([]string{"-I../../device", "-I../../include"}, command[1:]...)...)
	cmd.Stdin = strings.NewReader(file)
	return cmd.CombinedOutput()
}
