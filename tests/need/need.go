// Package need checks the machine for a test's requirements. A test that lacks one is skipped on a
// developer's machine, and fails where CI=true is set: there the machine is known, and a skip would
// hide that something is no longer tested.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// T is the part of testing.TB and of testscript.T that is used here.
type T interface {
	Skip(args ...any)
	Fatal(args ...any)
}

// Namespaces needs the permission to make network namespaces.
func Namespaces(t T) {
	if os.Geteuid() != 0 {
		lack(t, "needs root to make network namespaces")
		return
	}
	// A child tries it: a thread of this process could be the first one, which does not end with
	// its goroutine, and whose namespace /proc/net shows.
	child := exec.Command("true")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := child.Run(); err != nil {
		lack(t, "needs the right to make network namespaces (CAP_SYS_ADMIN): "+err.Error())
	}
}

// Command needs a program and returns its path. An ordinary user's PATH leaves sbin out.
func Command(t T, name string) string {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	lack(t, "needs "+name+" (scripts/setup test)")
	return ""
}

// File needs a file that set-up installs.
func File(t T, path string) {
	if _, err := os.Stat(path); err != nil {
		lack(t, "needs "+path+" (scripts/setup test, or full for Debian 13)")
	}
}

// Processors needs n processors that the process may use.
func Processors(t T, n, least int) {
	if n < least {
		lack(t, fmt.Sprintf("needs %d processors, and may use %d", least, n))
	}
}

func lack(t T, what string) {
	if os.Getenv("CI") == "true" {
		t.Fatal("this machine lacks what CI has: " + what)
	}
	t.Skip(what)
}
