package need

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Sources returns the names and the texts of all files.
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
	if err := once(final, build); err != nil {
		t.Fatal(fmt.Errorf("make %s: %w", name, err))
	}
	return final
}

// once has build fill a folder that is not there. Packages that begin together need the same ones:
// the others wait for the first, as each build is the work of some seconds.
func once(final string, build func(dir string)) error {
	if _, err := os.Stat(final); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(final+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close() // it ends the lock
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if _, err := os.Stat(final); err == nil {
		return nil
	}
	dir, err := os.MkdirTemp(filepath.Dir(final), "."+filepath.Base(final))
	if err != nil {
		return err
	}
	build(dir)
	return os.Rename(dir, final)
}
