package launch

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// input returns the file for the standard input of PE 0: shmemrun's own if that is a file or a
// pipe. A terminal would stop PE 0, whose process group is not in the foreground, at its first
// read; so shmemrun reads the terminal itself and copies it into a pipe. The caller calls close
// once PE 0 has the descriptor.
func input(stdin, null *os.File) (in *os.File, close func(), err error) {
	keep := func() {}
	if stdin == nil {
		return null, keep, nil
	}
	if !isTerminal(stdin) {
		return stdin, keep, nil
	}
	if !inForeground(stdin) {
		return null, keep, nil // reading would stop shmemrun
	}
	fds, err := pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("standard input of PE 0: %w", err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "stdin of PE 0"), os.NewFile(uintptr(fds[1]), "stdin of PE 0")
	go func() {
		_, _ = io.Copy(w, stdin) // it ends with the terminal, or with PE 0
		w.Close()
	}()
	return r, func() { r.Close() }, nil
}

// inForeground reports whether this process may read a terminal.
func inForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
