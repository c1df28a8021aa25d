package launch

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is the result of waitid, as Linux lays it out on 64 bits.
type childInfo struct {
	signo, errno, code, _ int32
	pid, uid, status      int32
	_                     [100]byte
}

// findEnded finds a child that has ended, and its wait status, without reaping it. pid is 0 if
// options has WNOHANG and no child has ended.
func findEnded(which, id, options int) (pid int, ws unix.WaitStatus, err error) {
	var info childInfo
	if err := unix.Waitid(which, id, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT|options, nil); err != nil {
		return 0, 0, err
	}
	// As in wait4: CLD_EXITED is 1, CLD_KILLED 2, CLD_DUMPED 3.
	switch info.code {
	case 1:
		ws = unix.WaitStatus(info.status&0xff) << 8
	case 2:
		ws = unix.WaitStatus(info.status)
	case 3:
		ws = unix.WaitStatus(info.status) | 0x80
	}
	return int(info.pid), ws, nil
}
