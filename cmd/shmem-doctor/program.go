package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"libshmem/runtime/doctor/program"
)

// lastFolders are the folders that the loader searches last on the systems for which the library is
// built.
var lastFolders = []string{"/usr/local/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}

// examine prints what a built program of NVSHMEM needs, and returns the exit status.
func examine(file string, environ []string, out printer, stderr io.Writer) int {
	executable, err := os.Executable()
	if err == nil {
		executable, err = filepath.EvalSymlinks(executable)
	}
	if err != nil {
		return fail(stderr, fmt.Errorf("find the library beside this command: %w", err))
	}
	machine := program.Machine{
		Lib:         filepath.Join(filepath.Dir(filepath.Dir(executable)), "lib"),
		LibraryPath: variable(environ, "LD_LIBRARY_PATH"), Preload: variable(environ, "LD_PRELOAD"), Default: lastFolders,
	}
	findings, err := machine.Examine(file)
	if err != nil {
		return fail(stderr, err)
	}
	return out.print(findings)
}
