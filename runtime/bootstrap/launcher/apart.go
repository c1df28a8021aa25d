package launcher

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/wire"
)

// Apart tells shmemrun, which has started this process, that the process is in a job that it joined
// otherwise, and that this job goes on without PEs that are lost. shmemrun then leaves the other
// processes alone when this one fails. The descriptor stays open, for programs that the process
// executes. Where it is not shmemrun's, because it was closed and its number was used again, Apart
// does nothing.
func Apart(fd int) error {
	if check(fd) != nil || !ofAncestor(fd) {
		return nil
	}
	frame, err := wire.Append(nil, wire.Frame{Kind: wire.Apart})
	if err == nil {
		err = (&socket{fd}).writeAll(frame)
	}
	if err != nil && err != ErrGone {
		return fmt.Errorf("tell shmemrun of another job: %w", err)
	}
	return nil
}

// ofAncestor reports whether a Unix socket was made by a process from which this one descends.
func ofAncestor(fd int) bool {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || cred.Pid <= 0 {
		return false
	}
	for pid := unix.Getppid(); pid > 0; pid = parent(pid) {
		if pid == int(cred.Pid) {
			return true
		}
	}
	return false
}

// parent returns the parent of a process, or 0.
func parent(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name of the program is in parentheses, and may have some of its own.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	n, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return n
}
