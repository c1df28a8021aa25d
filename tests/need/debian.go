package need

import (
	"os"
	"path/filepath"
	"testing"
)

// Debian needs the root of Debian 13 that set-up makes for make test-full, and the permission to
// run programs in it. For a test in a package two levels below the root.
func Debian(t *testing.T) string {
	t.Helper()
	Namespaces(t)
	root := tool(t, "debian")
	if _, err := os.Stat(filepath.Join(root, "bin", "sh")); err != nil {
		lack(t, "needs Debian 13 in a folder (scripts/setup full)")
	}
	return root
}
