package hostmem

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/shmerr"
)

// The descriptor travels with one message of 16 bytes: the magic number and
// the size of the file.
const (
	passMagic = 0x31676573_6d687331 // changes with the message
	passBytes = 16
)

// Listener is the socket at which the first PE of a node hands out the memory
// file. It has an abstract name, which needs no file and disappears with it.
// The name can be read by everyone on the machine, so both sides compare user
// ids.
type Listener struct {
	fd   int
	name string
	uid  uint32
}

// Listen opens the socket. Peers may connect from now on and wait for Serve.
func Listen(peers int) (*Listener, error) {
	uid := uint32(os.Geteuid())
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, passError("name", socketObject, shmerr.Causef(shmerr.ErrSystem, "%w", err), "")
	}
	l := &Listener{name: fmt.Sprintf("shmem-%d-%s", uid, hex.EncodeToString(random[:])), uid: uid}
	var err error
	if l.fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return nil, passError("open", socketObject, shmerr.Causef(shmerr.ErrSystem, "%w", err), "")
	}
	if err = unix.Bind(l.fd, address(l.name)); err == nil {
		err = unix.Listen(l.fd, max(peers, 1))
	}
	if err != nil {
		_ = l.Close()
		return nil, passError("listen at", "@"+l.name+forHeap, shmerr.Causef(shmerr.ErrSystem, "%w", err), "")
	}
	return l, nil
}

// Name is what the peers need for Receive.
func (l *Listener) Name() string { return l.name }

// Close closes the socket; peers that wait then fail at once.
func (l *Listener) Close() error { return unix.Close(l.fd) }

// Serve hands the file to that many peers and returns when all have it, or an
// error of the kind ErrTimeout. Processes of other users are turned away.
func (l *Listener) Serve(s *Segment, peers int, timeout time.Duration) error {
	message := binary.LittleEndian.AppendUint64(nil, passMagic)
	message = binary.LittleEndian.AppendUint64(message, s.plan.Total())
	deadline := time.Now().Add(timeout)
	var away turnedAway
	for served := 0; served < peers; {
		err := wait(l.fd, deadline)
		if err == nil {
			err = l.serveOne(message, s.fd)
		}
		switch {
		case err == nil:
			served++
		case errors.Is(err, shmerr.ErrTimeout):
			cause := fmt.Sprintf("%d of %d peers came within %v", served, peers, timeout)
			if away.error != nil {
				cause += ", and one was turned away: " + away.Error()
			}
			return passError("hand out", "the symmetric heap of this node", shmerr.Causef(shmerr.ErrTimeout, "%s", cause),
				"see why they did not start, or raise SHMEM_BOOTSTRAP_TIMEOUT")
		case errors.As(err, &away):
		default:
			return passError("hand out", "the symmetric heap of this node", err, "")
		}
	}
	return nil
}

// turnedAway is a peer that got nothing; the next one may.
type turnedAway struct{ error }

func (e turnedAway) Unwrap() error { return e.error }

func (l *Listener) serveOne(message []byte, file int) error {
	fd, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ECONNABORTED) || errors.Is(err, unix.EINTR) {
		return turnedAway{errors.New("it went away")}
	}
	if err != nil {
		return shmerr.Causef(shmerr.ErrSystem, "accept: %w", err)
	}
	defer unix.Close(fd)
	if err := checkUser(fd, l.uid); err != nil {
		return turnedAway{err}
	}
	if err := unix.Sendmsg(fd, message, unix.UnixRights(file), nil, unix.MSG_NOSIGNAL); err != nil {
		return turnedAway{fmt.Errorf("send: %w", err)}
	}
	return nil
}

// Receive takes the file of the plan from the PE that listens at name. The
// error names the step that failed; it is of the kind ErrTimeout when the
// other PE listens and does not serve.
func Receive(name string, p Plan, timeout time.Duration) (*Segment, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return receive(name, p, timeout, uint32(os.Geteuid()))
}

func receive(name string, p Plan, timeout time.Duration, uid uint32) (*Segment, error) {
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, passError("open", socketObject, shmerr.Causef(shmerr.ErrSystem, "%w", err), "")
	}
	defer unix.Close(sock)
	deadline := time.Now().Add(timeout)
	if err := connect(sock, name, deadline); err != nil {
		remedy := "see why the first PE of the node ended; PEs in different network namespaces need different SHMEM_HOST_ID"
		if errors.Is(err, shmerr.ErrTimeout) {
			remedy = "raise SHMEM_BOOTSTRAP_TIMEOUT"
		}
		return nil, passError("connect to", "@"+name+forHeap, err, remedy)
	}
	if err := checkUser(sock, uid); err != nil {
		return nil, passError("trust", "@"+name+forHeap, shmerr.Causef(shmerr.ErrSystem, "%w", err), "start all PEs as one user")
	}
	if err := wait(sock, deadline); err != nil {
		if errors.Is(err, shmerr.ErrTimeout) {
			err = shmerr.Causef(shmerr.ErrTimeout, "nothing came within %v", timeout)
		}
		return nil, passError("receive", "the symmetric heap from @"+name, err,
			"see what the first PE of the node does, or raise SHMEM_BOOTSTRAP_TIMEOUT")
	}
	fd, size, err := receiveFile(sock)
	if err != nil {
		return nil, passError("receive", "the symmetric heap from @"+name, err, "")
	}
	s := &Segment{plan: p, fd: fd, machine: machine{}}
	if err := s.checkFile(size); err != nil {
		_ = s.Close()
		return nil, passError("receive", "the symmetric heap from @"+name, err, "set SHMEM_SYMMETRIC_SIZE alike for all PEs")
	}
	return s, nil
}

// connect waits while the queue of the listener is full.
func connect(sock int, name string, deadline time.Time) error {
	for {
		err := unix.Connect(sock, address(name))
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

func receiveFile(sock int) (fd int, size uint64, err error) {
	message, control := make([]byte, passBytes+1), make([]byte, unix.CmsgSpace(4))
	n, nc, flags, _, err := unix.Recvmsg(sock, message, control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, 0, shmerr.Causef(shmerr.ErrSystem, "recvmsg: %w", err)
	}
	if n == 0 {
		return -1, 0, shmerr.Causef(shmerr.ErrPeerLost, "the first PE of the node closed the connection: it ended, or runs as another user")
	}
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(control[:nc]); err == nil && len(messages) == 1 {
		fds, _ = unix.ParseUnixRights(&messages[0])
	}
	if len(fds) == 1 && n == passBytes && flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) == 0 && binary.LittleEndian.Uint64(message) == passMagic {
		return fds[0], binary.LittleEndian.Uint64(message[8:]), nil
	}
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
	return -1, 0, shmerr.Causef(shmerr.ErrVersion, "the message of %d bytes with %d descriptors is not one of this version", n, len(fds))
}

// checkFile makes sure that every page of the plan is in the file and stays.
func (s *Segment) checkFile(announced uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		return shmerr.Causef(shmerr.ErrSystem, "fstat: %w", err)
	}
	if total := s.plan.Total(); uint64(st.Size) != total || announced != total {
		return shmerr.Causef(shmerr.ErrSetting, "it has %s (%s announced), this PE expects %s", amount(uint64(st.Size)), amount(announced), amount(total))
	}
	if seals, err := unix.FcntlInt(uintptr(s.fd), unix.F_GET_SEALS, 0); err != nil || seals&sizeSeals != sizeSeals {
		return shmerr.Causef(shmerr.ErrVersion, "its size is not sealed")
	}
	return nil
}

// checkUser compares the user at the other end of the socket with uid.
func checkUser(sock int, uid uint32) error {
	peer, err := unix.GetsockoptUcred(sock, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return fmt.Errorf("SO_PEERCRED: %w", err)
	}
	if peer.Uid != uid {
		return fmt.Errorf("process %d runs as user %d, this one as user %d", peer.Pid, peer.Uid, uid)
	}
	return nil
}

// wait returns when the socket is readable, or ErrTimeout.
func wait(sock int, deadline time.Time) error {
	fds := []unix.PollFd{{Fd: int32(sock), Events: unix.POLLIN}}
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return shmerr.ErrTimeout
		}
		// Rounded up, or the last millisecond is a busy loop.
		n, err := unix.Poll(fds, int(min(left, time.Hour)/time.Millisecond)+1)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return shmerr.Causef(shmerr.ErrSystem, "poll: %w", err)
		}
	}
}

// address is that of an abstract name: x/sys turns the @ into a zero byte.
func address(name string) *unix.SockaddrUnix { return &unix.SockaddrUnix{Name: "@" + name} }

const (
	socketObject = "the socket for the symmetric heap"
	forHeap      = " for the symmetric heap"
)

func passError(op, object string, cause error, remedy string) error {
	return &shmerr.Error{Op: op, Object: object, Cause: cause, Remedy: remedy}
}
