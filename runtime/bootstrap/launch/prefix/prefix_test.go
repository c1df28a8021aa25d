package prefix

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// unpacked runs the command as ssh would, and returns whether it asked for the archive.
func unpacked(t *testing.T, from, to string) (bool, string) {
	t.Helper()
	digest, err := Digest(from)
	if err != nil {
		t.Fatal(err)
	}
	var archive, errs bytes.Buffer
	if err := Archive(from, &archive); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", Command(to, digest, quote))
	cmd.Stdin, cmd.Stderr = &archive, &errs
	out, err := cmd.Output()
	r := bufio.NewReader(bytes.NewReader(append([]byte("Welcome\n"), out...)))
	send, answer := ReadReply(func() (string, error) { return r.ReadString('\n') })
	if err != nil || answer != nil {
		return send, errs.String()
	}
	return send, ""
}

func TestCopy(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "it's a folder")
	write(t, from, map[string]string{"bin/shmemrun": "run", "bin/other": "no", "lib/libshmem.so": "so", "lib/libshmem.a": "no", "lib/libother.so": "no"})
	if err := os.Symlink("libshmem.so", filepath.Join(from, "lib", "libshmem.so.1")); err != nil {
		t.Fatal(err)
	}
	if send, errs := unpacked(t, from, to); !send || errs != "" {
		t.Fatalf("the first copy: asked %v, errors %q", send, errs)
	}
	var names []string
	if err := filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(to, path)
			names = append(names, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, " "); got != "bin/shmemrun lib/.libshmem-copy lib/libshmem.so lib/libshmem.so.1" {
		t.Errorf("copied: %s", got)
	}
	text, err := os.ReadFile(filepath.Join(to, "lib", "libshmem.so.1"))
	if err != nil || string(text) != "so" {
		t.Errorf("the link leads to %q, error %v", text, err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(from, "bin", "shmemrun"), later, later); err != nil {
		t.Fatal(err)
	}
	if send, errs := unpacked(t, from, to); send || errs != "" {
		t.Errorf("the same once more: asked %v, errors %q", send, errs)
	}
	write(t, from, map[string]string{"lib/libshmem.so": "new"})
	if send, errs := unpacked(t, from, to); !send || errs != "" {
		t.Errorf("another library: asked %v, errors %q", send, errs)
	}
	if text, err := os.ReadFile(filepath.Join(to, "lib", "libshmem.so")); err != nil || string(text) != "new" {
		t.Errorf("the library is %q, error %v", text, err)
	}
	write(t, from, map[string]string{"file": ""})
	if send, errs := unpacked(t, from, filepath.Join(from, "file")); send || errs == "" {
		t.Errorf("a file for a folder: asked %v, errors %q", send, errs)
	}
	if _, err := Digest(t.TempDir()); err == nil || !strings.Contains(err.Error(), "it has no bin/shmemrun") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"tar: lib/x: Cannot write: No space left on device\ntar: Exiting\n", "copy libshmem to b:/p: its disk is full (make room there"},
		{"mkdir: cannot create directory '/p': Permission denied\n", "the folder cannot be written there (name another with --prefix)"},
		{"mkdir: cannot create directory '/p': Read-only file system\n", "read-only disk"},
		{"odd\nlast\n", "copy libshmem to b:/p: last (see that tar works there"},
		{"", "the connection ended"},
	} {
		if got := Explain("b", "/p", c.text).Error(); !strings.Contains(got, c.want) {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}
