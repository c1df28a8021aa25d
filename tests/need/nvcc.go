package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// NVCC needs CUDA's compiler and returns its path: the one that NVCC names, else the one that
// set-up installs, else one in PATH. For a test in a package two levels below the root.
func NVCC(t *testing.T) string {
	t.Helper()
	if nvcc := os.Getenv("NVCC"); nvcc != "" {
		return nvcc
	}
	nvcc := tool(t, "nvcc")
	if _, err := os.Stat(nvcc); err == nil {
		return nvcc
	}
	if nvcc, err := exec.LookPath("nvcc"); err == nil {
		return nvcc
	}
	lack(t, "needs nvcc (scripts/setup test)")
	return ""
}

// tool returns the place where scripts/setup has a tool, or would have it.
func tool(t *testing.T, name string) string {
	t.Helper()
	setup := exec.Command(filepath.Join("..", "..", "scripts", "setup"), "--tool", name)
	setup.Env = append(os.Environ(), "BUILD="+Folder(t))
	out, err := setup.Output()
	if err != nil {
		t.Fatalf("ask scripts/setup for %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}
