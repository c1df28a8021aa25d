package need

import (
	"os"
	"path/filepath"
	"testing"
)

// Numpy needs numpy and returns where set-up has installed it, for PYTHONPATH. For a test in a
// package two levels below the root.
func Numpy(t *testing.T) string {
	t.Helper()
	modules := filepath.Join(tool(t, "python"), "lib")
	if _, err := os.Stat(filepath.Join(modules, "numpy")); err != nil {
		lack(t, "needs numpy (scripts/setup test)")
	}
	return modules
}
