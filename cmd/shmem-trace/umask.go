package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// umask returns the permissions that the process takes from new files. The system has no call that
// only reads them, so they are set and restored; no other goroutine makes files meanwhile.
func umask() os.FileMode {
	m := unix.Umask(0)
	unix.Umask(m)
	return os.FileMode(m)
}
