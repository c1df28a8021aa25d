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

// Keep runs the tests of a package, for TestMain. If MADE names no folder, Keep sets it to a new
// one until the tests end, also for the programs that they start, so that Made builds everything
// once.
func Keep(m *testing.M) int {
	if os.Getenv("MADE") == "" {
		dir, err := os.MkdirTemp("", "made")
		if err == nil {
			defer os.RemoveAll(dir)
			err = os.Setenv("MADE", dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// Made returns a folder that build has filled. If MADE names a folder, as in scripts/test and with
// Keep, the result is shared by all packages and is built again only when of changes: the text of
// the sources and of the way to build them. Otherwise build fills a folder of the test.
func Made(t testing.TB, name string, of []byte, build func(dir string)) string {
	t.Helper()
	shared := os.Getenv("MADE")
	if shared == "" {
		dir := t.TempDir()
		build(dir)
		return dir
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
