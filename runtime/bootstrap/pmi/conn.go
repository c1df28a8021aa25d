package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxReply bounds a reply: Hydra's longest has some 1100 bytes.
const maxReply = 8 << 10

var (
	errGone = errors.New("the launcher has closed the PMI connection (it was killed, or the job is ending)")
	errLate = errors.New("no answer came in time")
)

// conn reads and writes lines of a blocking socket. One goroutine reads; writing is
// for any.
type conn struct {
	fd  int
	buf []byte

	mu sync.Mutex // guards writing
}

// inherited is the conversation of PMI_FD. The descriptor stays the process's own:
// MPI may want it later.
func inherited(fd int) (*conn, error) {
	if typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return nil, fmt.Errorf("descriptor %d is not the launcher's: %w (a program that a PE starts inherits PMI_FD but not the descriptor: unset it)", fd, err)
	} else if typ != unix.SOCK_STREAM {
		return nil, fmt.Errorf("descriptor %d is not the launcher's: it is a socket of another kind (a program that a PE starts inherits PMI_FD but not the descriptor: unset it)", fd)
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	unix.CloseOnExec(fd)
	return &conn{fd: own}, nil
}

// dial begins the conversation of PMI_PORT.
func dial(addr string, timeout time.Duration) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // the duplicate goes on
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		return nil, err
	}
	return adopt(f)
}

// adopt takes the descriptor out of f, so that Go's poller leaves it alone.
func adopt(f *os.File) (*conn, error) {
	defer f.Close() //nolint:errcheck // the duplicate goes on
	own, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &conn{fd: own}, unix.SetNonblock(own, false)
}

// send writes a whole line.
func (c *conn) send(line string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := []byte(line)
	for len(p) > 0 {
		n, err := unix.SendmsgN(c.fd, p, nil, nil, unix.MSG_NOSIGNAL)
		switch err {
		case nil:
			p = p[n:]
		case unix.EINTR:
		case unix.EPIPE, unix.ECONNRESET:
			return errGone
		default:
			return err
		}
	}
	return nil
}

// read returns the next reply; errLate at the deadline, unless that is zero.
func (c *conn) read(deadline time.Time) (reply, error) {
	for {
		if i := bytes.IndexByte(c.buf, '\n'); i >= 0 {
			line := strings.TrimRight(string(c.buf[:i]), "\r\x00")
			c.buf = c.buf[i+1:]
			return parse(line)
		}
		if len(c.buf) > maxReply {
			return reply{}, fmt.Errorf("%w: %s... has no end after %d bytes", errFormat, show(string(c.buf)), len(c.buf))
		}
		if err := c.wait(deadline); err != nil {
			return reply{}, err
		}
		var p [2048]byte
		n, err := unix.Read(c.fd, p[:])
		switch {
		case err == unix.EINTR, err == unix.EAGAIN:
		case err == unix.ECONNRESET, err == nil && n == 0:
			if len(c.buf) > 0 {
				return reply{}, fmt.Errorf("%w, in the middle of %s", errGone, show(string(c.buf)))
			}
			return reply{}, errGone
		case err != nil:
			return reply{}, err
		default:
			c.buf = append(c.buf, p[:n]...)
		}
	}
}

// wait returns when there is something to read.
func (c *conn) wait(deadline time.Time) error {
	for {
		ms := -1
		if !deadline.IsZero() {
			left := time.Until(deadline)
			if left <= 0 {
				return errLate
			}
			ms = int(min(left.Milliseconds()+1, 1<<30))
		}
		fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, ms)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n > 0:
			return nil
		}
	}
}

// hungUp reports whether nothing more will come.
func (c *conn) hungUp() bool {
	fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}

func (c *conn) close() { _ = unix.Close(c.fd) }
