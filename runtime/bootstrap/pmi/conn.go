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

// maxReply is the most bytes of a reply: Hydra's longest has some 1100.
const maxReply = 8 << 10

var (
	errGone = errors.New("the launcher has closed the PMI connection (it was killed, or the job is ending)")
	errLate = errors.New("no answer came in time")
)

// conn is the connection to the launcher, a blocking socket that carries lines of text. One
// goroutine at a time may read; any may write.
type conn struct {
	fd  int
	buf []byte // bytes that have arrived and are not parsed yet

	mu sync.Mutex // keeps the lines of two writers apart
}

// openInherited opens the connection over the inherited descriptor of PMI_FD, by a
// duplicate: MPI may use the descriptor itself later.
func openInherited(fd int) (*conn, error) {
	if typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return nil, fmt.Errorf("descriptor %d is not the launcher's: %w (a program that a PE starts inherits PMI_FD but not the descriptor: unset it)", fd, err)
	} else if typ != unix.SOCK_STREAM {
		return nil, fmt.Errorf("descriptor %d is not the launcher's: it is a socket of another kind (a program that a PE starts inherits PMI_FD but not the descriptor: unset it)", fd)
	}
	duplicate, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	unix.CloseOnExec(fd)
	return &conn{fd: duplicate}, nil
}

// dial opens the connection to the address of PMI_PORT.
func dial(addr string, timeout time.Duration) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // the duplicate stays open
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		return nil, err
	}
	return adopt(f)
}

// adopt makes a connection of a duplicate of f's descriptor. The duplicate is blocking, and Go's
// poller does not know it.
func adopt(f *os.File) (*conn, error) {
	defer f.Close() //nolint:errcheck // the duplicate stays open
	duplicate, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &conn{fd: duplicate}, unix.SetNonblock(duplicate, false)
}

// send writes a whole line to the launcher. MSG_NOSIGNAL: the library must not raise a SIGPIPE in
// the program.
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

// read returns the launcher's next reply, a line, or errLate after the deadline. With a zero
// deadline it waits for ever. Bytes after the line stay in the buffer.
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

// wait waits until there is something to read, and returns errLate after the deadline.
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

// hungUp reports whether the launcher has closed the connection.
func (c *conn) hungUp() bool {
	fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}

// close closes the descriptor.
func (c *conn) close() { _ = unix.Close(c.fd) }
