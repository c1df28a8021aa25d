package place

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"libshmem/runtime/bootstrap/launcher"
	"libshmem/runtime/shmerr"
)

// maxAncestors bounds how many processes may be between a PE and a program that it starts.
const maxAncestors = 64

// vacant returns an error if an ancestor of this process is already the PE that the variables
// `place` name, with their values in env: programs that a PE starts inherit the variables. A
// launcher that two processes contact as one PE miscounts, or waits for ever.
func vacant(env map[string]string, place []string) error {
	if len(place) == 0 {
		return nil
	}
	pid, ok := ancestor("/proc", os.Getpid(), env, place)
	if !ok {
		return nil
	}
	var set []string
	for _, name := range place {
		if env[name] != "" {
			set = append(set, name)
		}
	}
	return &shmerr.Error{
		Op: "join job", Object: fmt.Sprintf("the place of %s", strings.Join(set, ", ")),
		Cause: fmt.Errorf("process %d, which started this one, has it", pid),
		Remedy: "to have a job of its own, start this program with a launcher, or with env -u " + set[len(set)-1] +
			" and it is one of one PE",
	}
}

// ancestor finds the nearest ancestor of the process pid that has the same values of the variables
// place and has joined a job, and returns its process ID. proc is the folder /proc. A shell or
// another program between the launcher and a PE has the variables, too, but not the Go half of the
// library, which a process loads when it joins a job.
func ancestor(proc string, pid int, env map[string]string, place []string) (int, bool) {
	for range maxAncestors {
		pid = launcher.Parent(proc, pid)
		dir := filepath.Join(proc, strconv.Itoa(pid))
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if pid < 1 || err != nil {
			return 0, false // there is none, or it belongs to another user
		}
		variables := environment(strings.Split(string(environ), "\x00"))
		for _, name := range place {
			if variables[name] != env[name] {
				return 0, false // this process set other values for its children: they are no PE's
			}
		}
		if maps, err := os.ReadFile(filepath.Join(dir, "maps")); err == nil && bytes.Contains(maps, []byte("/libshmem_core.so")) {
			return pid, true
		}
	}
	return 0, false
}
