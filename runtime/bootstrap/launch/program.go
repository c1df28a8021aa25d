package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// findProgram returns the path of the program, searched in PATH as a shell does if the name has no
// slash.
func findProgram(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if err := executable(name); err != nil {
			return "", startError(name, err)
		}
		return name, nil
	}
	err := error(fs.ErrNotExist)
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		if dir == "" {
			dir = "."
		}
		path := filepath.Join(dir, name)
		if !strings.Contains(path, "/") {
			path = "./" + path
		}
		e := executable(path)
		if e == nil {
			return path, nil
		}
		if errors.Is(e, fs.ErrPermission) {
			err = e
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if executable("./"+name) == nil {
			return "", &Error{StatusNotFound, fmt.Errorf("start %s: not found in PATH (it is in this directory: say ./%s)", name, name)}
		}
		return "", &Error{StatusNotFound, fmt.Errorf("start %s: not found in PATH (give the path of the program, or extend PATH)", name)}
	}
	return "", startError(name, err)
}

// executable returns nil if path is a file that this process may execute.
func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
	return unix.Access(path, unix.X_OK)
}

// startError returns the error, with a remedy, of a program that cannot be started.
func startError(name string, err error) error {
	var cause, remedy string
	status := StatusCannot
	switch {
	case errors.Is(err, fs.ErrNotExist) && executable(name) == nil:
		cause, remedy = "its interpreter does not exist", "see its first line, or the loader that it was linked for"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		status = StatusNotFound
		cause, remedy = "no such file", "check the path"
	case errors.Is(err, syscall.EISDIR):
		cause, remedy = "it is a directory", "name a program in it"
	case errors.Is(err, syscall.ENOEXEC):
		cause, remedy = "it is not a program for this machine", "a script needs a first line such as #!/bin/sh"
	case errors.Is(err, fs.ErrPermission):
		cause, remedy = "permission denied", "chmod +x "+name
	case errors.Is(err, syscall.E2BIG):
		cause, remedy = "arguments and environment are too long", "shorten them"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		status = StatusFailure
		cause, remedy = err.Error(), "see ulimit -u and free memory, or start fewer PEs"
	default:
		cause, remedy = err.Error(), "check that it runs without shmemrun"
	}
	return &Error{status, fmt.Errorf("start %s: %s (%s)", name, cause, remedy)}
}

// lookup returns the value of a variable in an environment.
func lookup(env []string, name string) string {
	v, _ := variable(env, name)
	return v
}

// variable returns the value of a variable in an environment, and whether it is set.
func variable(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}
