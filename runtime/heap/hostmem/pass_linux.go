package hostmem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/heap/pass"
	"libshmem/runtime/shmerr"
)

// The descriptor travels with one message of 16 bytes: the magic number and
// the size of the file.
const (
	passMagic = 0x31676573_6d687331 // changes with the message
	passBytes = 16
)

// Listener is the socket at which the first PE of a node hands out the memory
// file, to processes of its user.
type Listener struct{ *pass.Listener }

// Listen opens the socket. Peers may connect from now on and wait for Serve.
func Listen(peers int) (*Listener, error) { return listen(pass.User(), peers) }

func listen(uid uint32, peers int) (*Listener, error) {
	l, err := pass.Listen(uid, peers)
	if err != nil {
		return nil, err
	}
	return &Listener{l}, nil
}

// Serve hands the file to that many peers and returns when all have it, or an
// error of the kind ErrTimeout. Processes of other users are turned away.
func (l *Listener) Serve(s *Segment, peers int, timeout time.Duration) error {
	const object = "the symmetric heap of this node"
	message := binary.LittleEndian.AppendUint64(nil, passMagic)
	message = binary.LittleEndian.AppendUint64(message, s.plan.Total())
	deadline := time.Now().Add(timeout)
	var away error
	for served := 0; served < peers; {
		c, err := l.Accept(deadline)
		var stranger pass.TurnedAway
		switch {
		case err == nil:
			if err := errors.Join(c.Send(message, []int{s.fd}, deadline), c.Close()); err != nil {
				away = fmt.Errorf("send: %w", err)
				continue
			}
			served++
		case errors.As(err, &stranger):
			away = stranger
		case errors.Is(err, shmerr.ErrTimeout):
			cause := fmt.Sprintf("%d of %d peers came within %v", served, peers, timeout)
			if away != nil {
				cause += ", and one was turned away: " + away.Error()
			}
			return passError("hand out", object, shmerr.Causef(shmerr.ErrTimeout, "%s", cause),
				"see why they did not start, or raise SHMEM_BOOTSTRAP_TIMEOUT")
		default:
			return passError("hand out", object, err, "")
		}
	}
	return nil
}

// Receive takes the file of the plan from the PE that listens at name. The
// error names the step that failed; it is of the kind ErrTimeout when the
// other PE listens and does not serve.
//
// s is the job's secret, which a guarded listener wants to be known; nil: it is not
// guarded.
func Receive(name string, p Plan, timeout time.Duration, s *secret.Secret) (*Segment, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return receive(name, p, timeout, pass.User(), s)
}

func receive(name string, p Plan, timeout time.Duration, uid uint32, known *secret.Secret) (*Segment, error) {
	object := "the symmetric heap from @" + name
	deadline := time.Now().Add(timeout)
	c, err := dial(name, uid, deadline)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	fd, size, err := receiveFile(c, known, deadline)
	if errors.Is(err, shmerr.ErrTimeout) {
		return nil, passError("receive", object, shmerr.Causef(shmerr.ErrTimeout, "nothing came within %v", timeout),
			"see what the first PE of the node does, or raise SHMEM_BOOTSTRAP_TIMEOUT")
	}
	if err != nil {
		return nil, passError("receive", object, err, "")
	}
	s := &Segment{plan: p, fd: fd, machine: machine{}}
	if err := s.checkFile(size); err != nil {
		_ = s.Close()
		return nil, passError("receive", object, err, "set SHMEM_SYMMETRIC_SIZE alike for all PEs")
	}
	return s, nil
}

func dial(name string, uid uint32, deadline time.Time) (*pass.Conn, error) {
	c, err := pass.Dial(name, uid, deadline)
	var stranger pass.TurnedAway
	switch object := "@" + name + " for the symmetric heap"; {
	case err == nil:
		return c, nil
	case errors.As(err, &stranger):
		return nil, passError("trust", object, err, "start all PEs as one user")
	case errors.Is(err, shmerr.ErrTimeout):
		return nil, passError("connect to", object, err, "raise SHMEM_BOOTSTRAP_TIMEOUT")
	case errors.Is(err, shmerr.ErrPeerLost):
		return nil, passError("connect to", object, err, "see why the first PE of the node ended; PEs in different network namespaces need different SHMEM_HOST_ID")
	}
	return nil, err
}

func receiveFile(c *pass.Conn, known *secret.Secret, deadline time.Time) (fd int, size uint64, err error) {
	var message []byte
	var files []int
	if known != nil {
		err = c.Prove(known, deadline)
	}
	if err == nil {
		message, files, err = c.Receive(deadline)
	}
	switch {
	case errors.Is(err, shmerr.ErrPeerLost):
		return -1, 0, shmerr.Causef(shmerr.ErrPeerLost, "the first PE of the node closed the connection: it ended, or runs as another user")
	case err != nil:
		return -1, 0, err
	case len(files) == 1 && len(message) == passBytes && binary.LittleEndian.Uint64(message) == passMagic:
		return files[0], binary.LittleEndian.Uint64(message[8:]), nil
	}
	pass.CloseAll(files)
	return -1, 0, shmerr.Causef(shmerr.ErrVersion, "the message of %d bytes with %d descriptors is not one of this version", len(message), len(files))
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

func passError(op, object string, cause error, remedy string) error {
	return &shmerr.Error{Op: op, Object: object, Cause: cause, Remedy: remedy}
}
