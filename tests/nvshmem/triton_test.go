package nvshmem

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unpacked returns a folder with the files of a wheel.
func unpacked(t *testing.T, wheel string) string {
	t.Helper()
	z, err := zip.OpenReader(wheel)
	if err != nil {
		t.Fatalf("%v (scripts/setup full)", err)
	}
	defer z.Close()
	dir := t.TempDir()
	for _, m := range z.File {
		if strings.HasSuffix(m.Name, "/") {
			continue
		}
		at := filepath.Join(dir, m.Name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		from, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		to, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		from.Close()
	}
	return dir
}

// TestTriton: Triton links the bitcode into kernels, for which its assembler makes code, and the host
// finds the state of such a kernel and its version.
func TestTriton(t *testing.T) {
	bitcode, _ := bitcodeText(t)
	tool, err := exec.Command("../../scripts/setup", "--tool", "triton").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimSpace(string(tool))
	if !filepath.IsAbs(file) {
		file = filepath.Join("../..", file)
	}
	dir := t.TempDir()
	cmd := exec.Command("python3", "triton_kernels.py", bitcode, dir)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+unpacked(t, file), "TRITON_CACHE_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("kernel, bytes, seconds:\n%s", out)
	for _, kernel := range []string{"put", "signal", "halves", "reduce"} {
		ptx, err := os.ReadFile(filepath.Join(dir, kernel+".ptx"))
		if err != nil || !regexp.MustCompile(`(?m)^`+kernel+` [1-9]\d{3}`).Match(out) {
			t.Errorf("%s: %v, or no code", kernel, err)
		}
		for _, global := range []string{"\n.visible .const .align 8 .b8 shmemi_here[1184];\n", "\n.visible .const .align 4 .b8 nvshmemi_device_lib_version_d[12] = {3, 0, 0, 0, 8, "} {
			if !strings.Contains(string(ptx), global) {
				t.Errorf("%s has no %q", kernel, global)
			}
		}
		for _, m := range regexp.MustCompile(`\.extern \.func.* (\w+)`).FindAllStringSubmatch(string(ptx), -1) {
			if m[1] != "__assertfail" {
				t.Errorf("%s calls %s, which nothing defines", kernel, m[1])
			}
		}
	}
}
