package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Debian needs the root of Debian 13 that set-up makes for make test-full, and the right to
// run programs in it. For a test in a package two levels below the root.
func Debian(t *testing.T) string {
	t.Helper()
	Namespaces(t)
	setup := exec.Command(filepath.Join("..", "..", "scripts", "setup"), "--tool", "debian")
	setup.Env = append(os.Environ(), "BUILD="+Folder(t))
	out, err := setup.Output()
	if err != nil {
		t.Fatalf("ask scripts/setup for Debian 13: %v", err)
	}
	root := strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(root, "bin", "sh")); err != nil {
		lack(t, "needs Debian 13 in a folder (scripts/setup full)")
	}
	return root
}
