// Package fdpass connects processes of one user on one node by Unix sockets, over which they pass
// the descriptors of memory that they share. Each side checks that the other process runs as the
// expected user: the one that User returns, except in tests.
//
// The package does not know the contents of messages. A Listener and a Conn have one owner; no
// function starts a thread, and each function that waits has a deadline.
package fdpass

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// MaxMessage is the most bytes of a message, and MaxFiles the most descriptors with it.
const (
	MaxMessage = 8 << 10
	MaxFiles   = 4
)

// Listener is a socket with a name in the abstract namespace of Linux. The name is not a file, so
// nothing is left when the socket is closed. Every user of the machine can read the name and
// connect to it, so both sides compare user ids.
type Listener struct {
	fd   int
	name string
	uid  uint32 // of the processes that may connect

	peers int    // the number of expected connections
	guard *guard // requests a proof from peers; nil: the listener accepts every process of the user
}

// User returns the user that this process runs as.
func User() uint32 { return uint32(os.Geteuid()) }

// Listen opens a socket with a random name to which processes of the user uid may connect. Its
// queue has room for `peers` connections until Accept returns them.
func Listen(uid uint32, peers int) (*Listener, error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fail("name", object, shmerr.Causef(shmerr.ErrSystem, "%w", err), "")
	}
	l := &Listener{name: fmt.Sprintf("shmem-%d-%s", uid, hex.EncodeToString(random[:])), uid: uid, peers: peers}
	var err error
	if l.fd, err = socket(); err != nil {
		return nil, err
	}
	if err = unix.Bind(l.fd, address(l.name)); err == nil {
		err = unix.Listen(l.fd, max(peers, 1))
	}
	if err != nil {
		_ = l.Close()
		return nil, fail("listen at", "@"+l.name, shmerr.Causef(shmerr.ErrSystem, "%w", err), "")
	}
	return l, nil
}

// Name returns the name that peers dial.
func (l *Listener) Name() string { return l.name }

// Close closes the socket; peers that were not accepted are cut off.
func (l *Listener) Close() error {
	if l.guard != nil {
		l.guard.close()
	}
	return unix.Close(l.fd)
}

// Conn is a connection. Receive returns each message as one, as it was sent.
type Conn struct {
	fd int
	// Peer is the PE at the other side, if this side is a guarded listener, to which that process
	// has proven which PE it is.
	Peer libshmem.PE
}

// Close closes the connection. The peer can still read messages sent before.
func (c *Conn) Close() error { return unix.Close(c.fd) }

// Rejected is the error of Accept and Dial for a peer that they refused, for example a process of
// another user. The caller may call Accept again, for the next peer.
type Rejected struct{ error }

// Unwrap returns why the peer was refused.
func (e Rejected) Unwrap() error { return e.error }

// Accept waits for a peer. If a process connects that the listener refuses, the error is a
// Rejected; after the deadline it is of the kind ErrTimeout.
func (l *Listener) Accept(deadline time.Time) (*Conn, error) {
	if l.guard != nil {
		return l.accept(deadline)
	}
	if err := wait(l.fd, unix.POLLIN, deadline); err != nil {
		return nil, err
	}
	fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ECONNABORTED) || errors.Is(err, unix.EINTR) {
		return nil, Rejected{shmerr.Causef(shmerr.ErrPeerLost, "it went away")}
	}
	if err != nil {
		return nil, shmerr.Causef(shmerr.ErrSystem, "accept: %w", err)
	}
	if err := checkUser(fd, l.uid); err != nil {
		_ = unix.Close(fd)
		return nil, Rejected{err}
	}
	return &Conn{fd: fd}, nil
}

// Dial connects to the listener of that name. If the listener runs as another
// user than uid, the error is a Rejected.
func Dial(name string, uid uint32, deadline time.Time) (*Conn, error) {
	fd, err := socket()
	if err != nil {
		return nil, err
	}
	if err := connect(fd, name, deadline); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	if err := checkUser(fd, uid); err != nil {
		_ = unix.Close(fd)
		return nil, Rejected{err}
	}
	return &Conn{fd: fd}, nil
}

// connect connects the socket fd to the listener of that name. It waits while the listener's queue
// is full.
func connect(fd int, name string, deadline time.Time) error {
	for {
		err := unix.Connect(fd, address(name))
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if time.Now().After(deadline) {
				return shmerr.Causef(shmerr.ErrTimeout, "its queue stayed full")
			}
			time.Sleep(time.Millisecond)
		default:
			return shmerr.Causef(shmerr.ErrPeerLost, "%w", err)
		}
	}
}

// Send sends a message with file descriptors; the caller's own stay open. It waits until the
// deadline if the socket is full.
func (c *Conn) Send(message []byte, files []int, deadline time.Time) error {
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	for {
		err := unix.Sendmsg(c.fd, message, rights, nil, unix.MSG_NOSIGNAL)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if err := wait(c.fd, unix.POLLOUT, deadline); err != nil {
				return err
			}
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
			return shmerr.Causef(shmerr.ErrPeerLost, "its process closed the connection")
		default:
			return shmerr.Causef(shmerr.ErrSystem, "sendmsg: %w", err)
		}
	}
}

// Receive waits for a message. The caller closes the descriptors that were sent with it; after an
// error there are none. One message has at most MaxMessage bytes and MaxFiles descriptors.
func (c *Conn) Receive(deadline time.Time) (message []byte, files []int, err error) {
	if err := wait(c.fd, unix.POLLIN, deadline); err != nil {
		return nil, nil, err
	}
	message, control := make([]byte, MaxMessage+1), make([]byte, unix.CmsgSpace(4*MaxFiles))
	n, nc, flags, _, err := unix.Recvmsg(c.fd, message, control, unix.MSG_CMSG_CLOEXEC)
	if errors.Is(err, unix.ECONNRESET) || (err == nil && n == 0) {
		return nil, nil, shmerr.Causef(shmerr.ErrPeerLost, "its process closed the connection")
	}
	if err != nil {
		return nil, nil, shmerr.Causef(shmerr.ErrSystem, "recvmsg: %w", err)
	}
	if parts, err := unix.ParseSocketControlMessage(control[:nc]); err == nil {
		for i := range parts {
			fds, _ := unix.ParseUnixRights(&parts[i])
			files = append(files, fds...)
		}
	}
	if flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0 || n > MaxMessage {
		CloseAll(files)
		return nil, nil, shmerr.Causef(shmerr.ErrVersion, "its message is longer than %d bytes or has more than %d descriptors", MaxMessage, MaxFiles)
	}
	return message[:n], files, nil
}

// CloseAll closes received descriptors that the caller does not use.
func CloseAll(files []int) {
	for _, fd := range files {
		_ = unix.Close(fd)
	}
}

// checkUser returns an error unless the process at the other side runs as user uid.
func checkUser(fd int, uid uint32) error {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return shmerr.Causef(shmerr.ErrSystem, "SO_PEERCRED: %w", err)
	}
	if peer.Uid != uid {
		return shmerr.Causef(shmerr.ErrSystem, "process %d runs as user %d, this one as user %d", peer.Pid, peer.Uid, uid)
	}
	return nil
}

// wait returns nil when the socket is ready for events, or ErrTimeout after the deadline.
func wait(fd int, events int16, deadline time.Time) error {
	return waitAny([]unix.PollFd{{Fd: int32(fd), Events: events}}, deadline)
}

// waitAny returns when one of the sockets is ready, or ErrTimeout after the deadline.
func waitAny(fds []unix.PollFd, deadline time.Time) error {
	for {
		// After the deadline poll once more, without a wait: this process may have been stopped
		// while the peer connected or sent.
		left := max(time.Until(deadline), 0)
		// The time is rounded up to whole ms: otherwise the last one would be a busy loop.
		n, err := unix.Poll(fds, int((min(left, time.Hour)+time.Millisecond-1)/time.Millisecond))
		switch {
		case n > 0:
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return shmerr.Causef(shmerr.ErrSystem, "poll: %w", err)
		case left == 0:
			return shmerr.ErrTimeout
		}
	}
}

// socket opens a Unix socket that preserves message boundaries.
func socket() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fail("open", object, shmerr.Causef(shmerr.ErrSystem, "%w", err),
			shmerr.FileRemedy(err, "let the container or its seccomp profile allow socket"))
	}
	return fd, nil
}

// address returns the socket address of an abstract name: x/sys replaces the @ by a zero byte.
func address(name string) *unix.SockaddrUnix { return &unix.SockaddrUnix{Name: "@" + name} }

// object is the object of errors about a socket that could not be made.
const object = "a socket for the symmetric heap"

// fail returns an error of this package.
func fail(op, object string, cause error, remedy string) error {
	return &shmerr.Error{Op: op, Object: object, Cause: cause, Remedy: remedy}
}
