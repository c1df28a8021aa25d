package launcher

import (
	"errors"
	"io"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGone is the error at the end of the stream: shmemrun has ended, or has closed
// this PE's connection because it ends the job.
var ErrGone = errors.New("shmemrun is gone (it was killed, or the job is ending)")

// socket reads and writes a blocking stream socket.
type socket struct{ fd int }

// Read implements io.Reader. A reset connection counts as the end: shmemrun is gone in either case.
func (s *socket) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(s.fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ECONNRESET:
			return 0, io.EOF
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// writeAll writes all of p. MSG_NOSIGNAL: the library must not raise a SIGPIPE in
// the program.
func (s *socket) writeAll(p []byte) error {
	for len(p) > 0 {
		n, err := unix.SendmsgN(s.fd, p, nil, nil, unix.MSG_NOSIGNAL)
		switch err {
		case nil:
			p = p[n:]
		case unix.EINTR:
		case unix.EPIPE, unix.ECONNRESET:
			return ErrGone
		default:
			return err
		}
	}
	return nil
}

// await waits until there is something to read, or the end of the stream. It reports false if the
// limit passes before.
func (s *socket) await(limit time.Duration) bool {
	for end := time.Now().Add(limit); ; {
		left := max(0, time.Until(end))
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(min(left.Milliseconds()+1, math.MaxInt32)))
		if err != unix.EINTR && (n != 0 || left == 0) {
			return n != 0 // also if poll fails: read then returns the error
		}
	}
}

// hungUp reports whether the other side has closed the connection: only bytes in the socket may be
// left.
func (s *socket) hungUp() bool {
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}

// readable reports whether there are unread bytes, and not just the end.
func (s *socket) readable() bool {
	n, err := unix.IoctlGetInt(s.fd, unix.TIOCINQ)
	return err == nil && n > 0
}
