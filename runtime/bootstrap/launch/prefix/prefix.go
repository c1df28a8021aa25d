// Package prefix copies the files of an installation of libshmem that a launch needs on another
// host: shmemrun and the shared libraries.
//
// It makes an archive of them, and the command that unpacks it. The caller runs that command on the
// other host and sends it the archive.
package prefix

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// patterns match the files that are copied, relative to the prefix.
var patterns = []string{"bin/shmemrun", "lib/libshmem*.so*", "lib/libnvshmem*.so*"}

// list returns the names of the files of an installation that --sync copies, sorted.
func list(dir string) ([]string, error) {
	var names []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil {
			return nil, err
		}
		// An installation may do without the last, NVSHMEM's names.
		if len(found) == 0 && p != patterns[len(patterns)-1] {
			return nil, fmt.Errorf("copy %s: it has no %s (start an installed shmemrun)", dir, p)
		}
		for _, f := range found {
			name, err := filepath.Rel(dir, f)
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Archive writes the files of the installation in dir as a tar archive.
func Archive(dir string, to io.Writer) error {
	names, err := list(dir)
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	for _, name := range names {
		if err := add(w, dir, name); err != nil {
			return fmt.Errorf("copy %s: %w", filepath.Join(dir, name), err)
		}
	}
	return w.Close()
}

// add writes one file of the installation to the archive.
func add(w *tar.Writer, dir, name string) error {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(path); err != nil {
			return err
		}
		if strings.Contains(target, "/") { // the link leads to a file that is not copied
			if info, err = os.Stat(path); err != nil {
				return err
			}
			target = ""
		}
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	// Owner and time are left out, so that archives of the same files are equal.
	*h = tar.Header{Typeflag: h.Typeflag, Name: name, Linkname: h.Linkname, Size: h.Size, Mode: 0o755}
	if err := w.WriteHeader(h); err != nil || target != "" {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// Digest returns the SHA-256 sum of the archive of an installation: the same for the same files.
func Digest(dir string) (string, error) {
	sum := sha256.New()
	if err := Archive(dir, sum); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Replies of the command, each on a line. A login shell may write other lines before.
const (
	Same = "\x01libshmem is there"
	Send = "\x01send libshmem"
)

// unpack is a script for sh with the folder and the digest as its parameters. If the folder has
// that digest already, it prints Same. Otherwise it prints Send, unpacks its input into a temporary
// folder, and moves the files to their places one by one, so that a program that starts meanwhile
// finds each of them whole. It has no !, which csh would expand even between quotes.
const unpack = `d=$1 k=$2 m=lib/.libshmem-copy; ` +
	`if [ -x "$d/bin/shmemrun" ] && [ "$(cat "$d/$m" 2>/dev/null)" = "$k" ]; then printf "\001libshmem is there\n"; exit 0; fi; ` +
	`t=$d/.libshmem-copy-$$; trap "rm -rf \"\$t\"" EXIT; ` +
	`mkdir -p "$d/bin" "$d/lib" "$t" || exit 1; printf "\001send libshmem\n"; ` +
	`tar -xf - -C "$t" && printf %s "$k" >"$t/$m" || exit 1; ` +
	`rm -f "$d/$m"; mv -f "$t"/lib/lib* "$d/lib/" && mv -f "$t"/bin/* "$d/bin/" && mv -f "$t/$m" "$d/$m"`

// Command returns the command that unpacks an archive into a folder. quote quotes a word for the
// shell that reads the command.
func Command(dir, digest string, quote func(string) string) string {
	return strings.Join([]string{"exec", "sh", "-c", quote(unpack), "sh", quote(dir), digest}, " ")
}

// causes lists why a copy may fail: words in the output of the tools, the cause, and the remedy.
var causes = []struct{ words, cause, remedy string }{
	{"No space left on device", "its disk is full", "make room there, or name another folder with --prefix"},
	{"Disk quota exceeded", "its disk quota is used up", "make room there, or name another folder with --prefix"},
	{"Read-only file system", "the folder is on a read-only disk there", "name another with --prefix"},
	{"ermission denied", "the folder cannot be written there", "name another with --prefix"},
	{"tar: not found", "it has no tar", "install tar there, or libshmem"},
}

// Explain returns an error that says in one line why a copy failed; text is what the tools on both
// hosts printed.
func Explain(host, dir, text string) error {
	for _, c := range causes {
		if strings.Contains(text, c.words) {
			return fmt.Errorf("copy libshmem to %s:%s: %s (%s)", host, dir, c.cause, c.remedy)
		}
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		last = "the connection ended"
	}
	return fmt.Errorf("copy libshmem to %s:%s: %s (see that tar works there, or install libshmem)", host, dir, last)
}

// ErrNoReply is the error if the command ends without a reply.
var ErrNoReply = errors.New("the command has not replied")

// ReadReply reads lines until one is a reply of the command that compares the copies, and reports
// whether it asks for the archive. A login shell may print other lines first.
func ReadReply(line func() (string, error)) (send bool, err error) {
	for {
		text, err := line()
		switch {
		case strings.HasSuffix(text, Same+"\n"):
			return false, nil
		case strings.HasSuffix(text, Send+"\n"):
			return true, nil
		case err != nil:
			return false, ErrNoReply
		}
	}
}
