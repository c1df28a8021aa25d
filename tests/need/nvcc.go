package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// NVCC needs CUDA's compiler and says where it is: what NVCC names, else the
// one that set-up installs, else one in PATH. For a test in a package two
// levels below the root.
func NVCC(t *testing.T) string {
	t.Helper()
	if nvcc := os.Getenv("NVCC"); nvcc != "" {
		return nvcc
	}
	setup := exec.Command(filepath.Join("..", "..", "scripts", "setup"), "--tool", "nvcc")
	setup.Env = append(os.Environ(), "BUILD="+Folder(t))
	out, err := setup.Output()
	if err != nil {
		t.Fatalf("ask scripts/setup for nvcc: %v", err)
	}
	nvcc := strings.TrimSpace(string(out))
	if _, err := os.Stat(nvcc); err == nil {
		return nvcc
	}
	if nvcc, err := exec.LookPath("nvcc"); err == nil {
		return nvcc
	}
	lack(t, "needs nvcc (scripts/setup test)")
	return ""
}
