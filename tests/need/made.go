package need

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Sources are the names and the texts of all files.
func Sources(of fs.FS) (all []byte, err error) {
	err = fs.WalkDir(of, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(of, path)
		all = append(append(append(all, path...), 0), text...)
		return err
	})
	return all, err
}

// Made is a folder with the output of build. If scripts/test names a folder in MADE, it is built
// there once for all packages, and again when its sources or commands have changed. Else Made is
// "", and the test builds for itself.
func Made(t testing.TB, name string, of []byte, build func(dir string)) string {
	t.Helper()
	shared := os.Getenv("MADE")
	if shared == "" {
		return ""
	}
	sum := sha256.Sum256(of)
	final := filepath.Join(shared, name+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(final); err == nil {
		return final
	}
	err := os.MkdirAll(shared, 0o755)
	if err == nil {
		var dir string
		if dir, err = os.MkdirTemp(shared, "."+name); err == nil {
			build(dir)
			// Another package may have come first.
			if err = os.Rename(dir, final); err != nil {
				os.RemoveAll(dir)
				_, err = os.Stat(final)
			}
		}
	}
	if err != nil {
		t.Fatal(fmt.Errorf("make %s: %w", name, err))
	}
	return final
}
