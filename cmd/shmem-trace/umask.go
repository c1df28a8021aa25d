package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// umask reads the mask of new files. There is no call that only reads it.
func umask() os.FileMode {
	m := unix.Umask(0)
	unix.Umask(m)
	return os.FileMode(m)
}
