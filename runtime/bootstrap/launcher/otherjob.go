package launcher

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/wire"
)

// ReportOtherJob tells shmemrun, which has started this process, that the process has joined
// another job by other means, one that continues when a PE is lost. shmemrun then does not end the
// other processes when this one fails. The descriptor stays open, for programs that the process
// executes. If fd is not shmemrun's descriptor, because that was closed and its number used again,
// ReportOtherJob does nothing.
func ReportOtherJob(fd int) error {
	if check(fd) != nil || !ofAncestor(fd) {
		return nil
	}
	frame, err := wire.Append(nil, wire.Frame{Kind: wire.OtherJob})
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
	for pid := unix.Getppid(); pid > 0; pid = Parent("/proc", pid) {
		if pid == int(cred.Pid) {
			return true
		}
	}
	return false
}

// Parent returns the parent of a process, or 0 if there is none or the system hides it. proc is the
// mount point of procfs.
func Parent(proc string, pid int) int {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	// The name of a program is in parentheses, and may contain some itself. The state and the
	// number of the parent follow it.
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	if fields := bytes.Fields(rest); err == nil && ok && len(fields) > 1 {
		if n, err := strconv.Atoi(string(fields[1])); err == nil {
			return n
		}
	}
	return 0
}
