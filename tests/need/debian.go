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

// System needs the root of another system, old or arm, that scripts/roots makes. For a test in
// a package two levels below the root.
func System(t *testing.T, name string) string {
	t.Helper()
	root := tool(t, name)
	if _, err := os.Stat(filepath.Join(root, "bin", "sh")); err != nil {
		lack(t, "needs "+root+" (scripts/roots)")
	}
	return root
}

// Zig returns the folder of the compiler for other processors, which make release has fetched.
func Zig(t *testing.T) string {
	t.Helper()
	return tool(t, "zig")
}
