// Package poller checks whether the kernel allows this process the system calls of the Go runtime's
// poller. The runtime makes its poller at the first timer or device file, and ends the process with
// a trace if it cannot. The threads and the address space that it needs before main cannot be
// checked in time.
package poller

import (
	"golang.org/x/sys/unix"

	"libshmem/runtime/shmerr"
)

// Check makes a poller and closes it. The error names the system call that fails.
func Check() error {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return callError("epoll_create1", err)
	}
	defer unix.Close(poll)
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return callError("eventfd2", err)
	}
	defer unix.Close(event)
	if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, event, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		return callError("epoll_ctl", err)
	}
	// With room for 0 events the kernel returns EINVAL, unless a filter has refused the call
	// before.
	if _, _, err := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(poll), 0, 0, 0, 0, 0); err != unix.EINVAL {
		return callError("epoll_pwait", err)
	}
	return nil
}

// callError returns the error for a system call that the Go runtime needs in order to wait, and
// that the kernel has refused with err.
func callError(call string, err error) error {
	remedy := shmerr.FileRemedy(err, "let the container or its seccomp profile allow "+call)
	return &shmerr.Error{Op: "wait", Object: "for files and clocks", Cause: shmerr.Causef(shmerr.ErrSystem, "the system call %s: %w", call, err), Remedy: remedy}
}
