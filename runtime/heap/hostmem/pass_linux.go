package hostmem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/heap/fdpass"
	"libshmem/runtime/shmerr"
)

// The descriptor travels with one message of 16 bytes: the magic number and
// the size of the file.
const (
	passMagic = 0x31676573_6d687331 // changes with the message
	passBytes = 16
)

// Listener is the socket at which the first PE of a node passes the descriptor of the memory file
// to the other PEs of its job.
type Listener struct{ *fdpass.Listener }

// Listen opens the socket. Peers may connect from now on, and wait until Serve sends them the file.
// The owner calls Guard before Serve, so that each peer proves which PE it is.
func Listen(peers int) (*Listener, error) { return listen(fdpass.User(), peers) }

// listen opens the socket for processes of a given user. Tests call it with another user.
func listen(uid uint32, peers int) (*Listener, error) {
	l, err := fdpass.Listen(uid, peers)
	if err != nil {
		return nil, err
	}
	return &Listener{l}, nil
}

// Serve passes the memory file's descriptor to the PEs peers. It returns nil when all have received
// it, or an error of the kind ErrTimeout that names the others. It rejects any other process.
func (l *Listener) Serve(s *Segment, peers []libshmem.PE, timeout time.Duration) error {
	const object = "the symmetric heap of this node"
	message := binary.LittleEndian.AppendUint64(nil, passMagic)
	message = binary.LittleEndian.AppendUint64(message, s.plan.Total())
	deadline := time.Now().Add(timeout)
	missing := slices.Clone(peers)
	var lastFailure error // of a process that connected, for the error after the timeout
	for len(missing) > 0 {
		c, err := l.Accept(deadline)
		var rejected fdpass.Rejected
		switch {
		case err == nil:
			if err := errors.Join(c.Send(message, []int{s.fd}, deadline), c.Close()); err != nil {
				lastFailure = fmt.Errorf("PE %d: send: %w", c.Peer, err)
				continue
			}
			missing = slices.DeleteFunc(missing, func(pe libshmem.PE) bool { return pe == c.Peer })
		case errors.As(err, &rejected):
			lastFailure = fmt.Errorf("one was turned away: %w", rejected)
		case errors.Is(err, shmerr.ErrTimeout):
			cause := fmt.Sprintf("%s did not come within %v", shmerr.PEs(missing), timeout)
			if err.Error() != shmerr.ErrTimeout.Error() { // it names processes that sent nothing
				cause += ", " + err.Error()
			}
			if lastFailure != nil {
				cause += ", and " + lastFailure.Error()
			}
			return passError("hand out", object, shmerr.Causef(shmerr.ErrTimeout, "%s", cause),
				"find out why they are late, or raise SHMEM_BOOTSTRAP_TIMEOUT")
		default:
			return passError("hand out", object, err, "")
		}
	}
	return nil
}

// late is the remedy in errors about a PE that this one waits for.
const late = "find out why it is late, or raise SHMEM_BOOTSTRAP_TIMEOUT"

// Source names the process from which a PE receives the memory file.
type Source struct {
	Name   string         // of the listener
	Owner  libshmem.PE    // the PE that listens
	Me     libshmem.PE    // the PE that receives the file
	Secret *secret.Secret // of the job
}

// Receive gets the node's memory file from the PE that created it, and compares it with the plan.
// The error names that PE and the step that failed; it is of the kind ErrTimeout when that PE
// listens and does not call Serve.
func Receive(from Source, p Plan, timeout time.Duration) (*Segment, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return receive(from, p, timeout, fdpass.User())
}

// receive gets the file like Receive, but from a process of a given user. Tests call it with
// another user.
func receive(from Source, p Plan, timeout time.Duration, uid uint32) (*Segment, error) {
	object := fmt.Sprintf("the symmetric heap from PE %d", from.Owner)
	deadline := time.Now().Add(timeout)
	c, err := dial(from, uid, deadline)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	fd, size, err := receiveFile(c, from, deadline)
	if errors.Is(err, shmerr.ErrTimeout) {
		return nil, passError("receive", object, shmerr.Causef(shmerr.ErrTimeout, "nothing came within %v", timeout), late)
	}
	if err != nil {
		return nil, passError("receive", object, err, "")
	}
	s := &Segment{plan: p, fd: fd, machine: machine{}}
	if err := s.checkFile(size); err != nil {
		_ = s.Close()
		return nil, passError("receive", object, err, "set SHMEM_SYMMETRIC_SIZE to the same value on all PEs")
	}
	return s, nil
}

// dial connects to the PE that has the memory file.
func dial(from Source, uid uint32, deadline time.Time) (*fdpass.Conn, error) {
	c, err := fdpass.Dial(from.Name, uid, deadline)
	var rejected fdpass.Rejected
	switch object := fmt.Sprintf("PE %d at @%s for the symmetric heap", from.Owner, from.Name); {
	case err == nil:
		return c, nil
	case errors.As(err, &rejected):
		return nil, passError("trust", object, err, "start all PEs as one user")
	case errors.Is(err, shmerr.ErrTimeout):
		return nil, passError("connect to", object, err, late)
	case errors.Is(err, shmerr.ErrPeerLost):
		return nil, passError("connect to", object, err, "find out why it ended; PEs in different network namespaces need different SHMEM_HOST_ID")
	}
	return nil, err
}

// receiveFile proves to the listener which PE this is, and receives the descriptor of the memory
// file and the size that the listener announces.
func receiveFile(c *fdpass.Conn, from Source, deadline time.Time) (fd int, size uint64, err error) {
	var message []byte
	var files []int
	if err = c.Prove(from.Secret, from.Me, deadline); err == nil {
		message, files, err = c.Receive(deadline)
	}
	switch {
	case errors.Is(err, shmerr.ErrPeerLost):
		return -1, 0, shmerr.Causef(shmerr.ErrPeerLost, "it closed the connection: it ended, or runs as another user")
	case err != nil:
		return -1, 0, err
	case len(files) == 1 && len(message) == passBytes && binary.LittleEndian.Uint64(message) == passMagic:
		return files[0], binary.LittleEndian.Uint64(message[8:]), nil
	}
	fdpass.CloseAll(files)
	return -1, 0, shmerr.Causef(shmerr.ErrVersion, "the message of %d bytes with %d descriptors is not one of this version", len(message), len(files))
}

// checkFile returns an error unless the received memory file has the size of the plan and is
// sealed, so that no process can shrink it while others use it.
func (s *Segment) checkFile(announced uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		return shmerr.Causef(shmerr.ErrSystem, "fstat: %w", err)
	}
	if total := s.plan.Total(); uint64(st.Size) != total || announced != total {
		return shmerr.Causef(shmerr.ErrSetting, "it has %s (%s announced), but this PE expects %s", amount(uint64(st.Size)), amount(announced), amount(total))
	}
	if seals, err := unix.FcntlInt(uintptr(s.fd), unix.F_GET_SEALS, 0); err != nil || seals&sizeSeals != sizeSeals {
		return shmerr.Causef(shmerr.ErrVersion, "its size is not sealed")
	}
	return nil
}

// passError returns the error of the operation op on object, while a memory file is passed on.
func passError(op, object string, cause error, remedy string) error {
	return &shmerr.Error{Op: op, Object: object, Cause: cause, Remedy: remedy}
}
