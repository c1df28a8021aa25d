package devmem

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"libshmem"
	"libshmem/runtime/heap/fdpass"
	"libshmem/runtime/shmerr"
)

// protocol names the version of the messages: it changes when the type note changes.
const protocol = "shmem-devmem-1"

// note is a message between the PEs of a node. In each round, every PE sends one to every other.
// Protocol and Round show a message of another version, or of another call.
type note struct {
	Protocol string
	PE       libshmem.PE
	Round    int
	Fault    string        `json:",omitempty"` // the sender's error; all PEs then fail
	Status   shmerr.Status `json:",omitempty"` // the kind of Fault

	Hello  *hello  `json:",omitempty"`
	Growth *growth `json:",omitempty"`
	Whole  *whole  `json:",omitempty"`
	Lent   *lent   `json:",omitempty"`
}

// hello is what a PE sends in the first round: the heap that it wants and what its GPU can do.
type hello struct {
	Size, Align uint64
	Share       Path
	UUID        string // of the GPU
	Granule     uint64 // unit of VMM; 0 if the GPU cannot share memory by VMM
	NoVMM       string // why the GPU cannot
}

// growth says from which offset to which the sender's heap has grown by a chunk, whose descriptor
// is sent with the note.
type growth struct{ From, To uint64 }

// whole is the IPC handle of the sender's heap.
type whole struct {
	Shared []byte
	Begin  uint64 // offset of the heap in the memory of the handle
}

// links are the connections to the other PEs.
type links struct {
	plan  Plan
	conns []*fdpass.Conn // by index; nil for this PE
	round int

	// broken is the reason why no round can follow: a PE has ended, or is late, so that its message
	// would be taken for one of a later round. nil: rounds may follow.
	broken error
}

// close closes the sockets to the other PEs.
func (k *links) close() error {
	var errs []error
	for i, c := range k.conns {
		if c != nil {
			errs = append(errs, c.Close())
			k.conns[i] = nil
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &shmerr.Error{Op: "close", Object: "sockets for the symmetric heap", Cause: shmerr.Causef(shmerr.ErrSystem, "%w", err)}
	}
	return nil
}

// connectAll connects every PE with every other and exchanges their hellos: each PE dials those
// with a lower index, whose listeners queue it, and accepts the others.
func connectAll(l *fdpass.Listener, p Plan, mine hello) (*links, []hello, error) {
	k := &links{plan: p, conns: make([]*fdpass.Conn, len(p.PEs))}
	hellos := make([]hello, len(p.PEs))
	hellos[p.Me] = mine
	if err := k.connectAll(l, hellos); err != nil {
		return nil, nil, errors.Join(err, k.close())
	}
	return k, hellos, nil
}

// connectAll connects to the PEs of the node with a lower index, exchanges hellos with them, and
// then accepts the connections of the others: so each pair has one connection. It stores the hello
// of each PE in hellos, where this PE's own is already.
func (k *links) connectAll(l *fdpass.Listener, hellos []hello) error {
	p, deadline := k.plan, time.Now().Add(k.plan.Timeout)
	text, err := k.encode(note{Hello: &hellos[p.Me]})
	if err != nil {
		return err
	}
	for i := range p.Me {
		c, err := fdpass.Dial(p.PEs[i].Socket, fdpass.User(), deadline)
		if err == nil {
			k.conns[i] = c
			if p.Secret != nil {
				err = c.Prove(p.Secret, p.PEs[p.Me].PE, deadline)
			}
			if err == nil {
				err = c.Send(text, nil, deadline)
			}
		}
		if err != nil {
			return k.peerError("meet", i, err)
		}
	}
	for i := range p.Me {
		n, files, err := k.receive(i, deadline)
		fdpass.CloseAll(files)
		if err == nil && n.Hello == nil {
			err = shmerr.Causef(shmerr.ErrVersion, "its first message has no list of its heap")
		}
		if err != nil {
			return k.peerError("meet", i, err)
		}
		hellos[i] = *n.Hello
	}
	return k.accept(l, text, hellos, deadline)
}

// accept waits for the PEs with a higher index and exchanges hellos with them; text is this PE's.
// It rejects any other process that connects, and remembers the last reason for the error after the
// timeout.
func (k *links) accept(l *fdpass.Listener, text []byte, hellos []hello, deadline time.Time) error {
	var rejected error
	for missing := len(k.conns) - 1 - k.plan.Me; missing > 0; {
		c, err := l.Accept(deadline)
		var notPE fdpass.Rejected
		switch {
		case errors.As(err, &notPE):
			rejected = err
			continue
		case errors.Is(err, shmerr.ErrTimeout):
			return k.missingError(rejected)
		case err != nil:
			return &shmerr.Error{Op: "meet", Object: "the other PEs of the node", Cause: err}
		}
		n, files, err := decode(c, deadline)
		fdpass.CloseAll(files)
		i := k.indexOf(n)
		if err != nil || i < 0 {
			rejected = errors.Join(shmerr.Causef(shmerr.ErrVersion, "the process that connected is not a PE of this job"), err, c.Close())
			continue
		}
		k.conns[i] = c
		hellos[i] = *n.Hello
		missing--
		if err := c.Send(text, nil, deadline); err != nil {
			return k.peerError("meet", i, err)
		}
	}
	return nil
}

// indexOf returns the index of the PE that sent the note n as its first, or -1 if this PE does not
// wait for the sender.
func (k *links) indexOf(n note) int {
	if n.Protocol != protocol || n.Round != 0 || n.Hello == nil {
		return -1
	}
	for i := k.plan.Me + 1; i < len(k.conns); i++ {
		if k.plan.PEs[i].PE == n.PE && k.conns[i] == nil {
			return i
		}
	}
	return -1
}

// missingError names the PEs that have not connected within the timeout.
func (k *links) missingError(rejected error) error {
	var missing []libshmem.PE
	for i := k.plan.Me + 1; i < len(k.conns); i++ {
		if k.conns[i] == nil {
			missing = append(missing, k.plan.PEs[i].PE)
		}
	}
	cause := fmt.Sprintf("%s did not come within %v", shmerr.PEs(missing), k.plan.Timeout)
	if rejected != nil {
		cause += ", and one was turned away: " + rejected.Error()
	}
	return &shmerr.Error{Op: "meet", Object: "the other PEs of the node", Cause: shmerr.Causef(shmerr.ErrTimeout, "%s", cause), Remedy: late}
}

// late is the remedy for a PE of the node that does not connect or reply in time.
const late = "find out what it is doing, or raise SHMEM_BOOTSTRAP_TIMEOUT"

// peerError returns the error for a connection to PEs[i] that failed.
func (k *links) peerError(op string, i int, err error) error {
	e := &shmerr.Error{Op: op, Object: fmt.Sprintf("PE %d for the symmetric heap", k.plan.PEs[i].PE), Cause: err}
	switch {
	case errors.Is(err, shmerr.ErrTimeout):
		e.Cause, e.Remedy = shmerr.Causef(shmerr.ErrTimeout, "nothing came within %v", k.plan.Timeout), late
	case errors.Is(err, shmerr.ErrPeerLost):
		e.Remedy = "find out why it ended; PEs in different network namespaces need different SHMEM_HOST_ID"
	}
	return e
}

// encode returns the text of a note, a message to the other PEs of the node, for this round. The
// round's number shows whether PEs are out of step.
func (k *links) encode(n note) ([]byte, error) {
	n.Protocol, n.PE, n.Round = protocol, k.plan.PEs[k.plan.Me].PE, k.round
	if len(n.Fault) > maxFault {
		n.Fault = n.Fault[:maxFault] + "..."
	}
	text, err := json.Marshal(n)
	if err != nil {
		return nil, &shmerr.Error{Op: "encode", Object: "a note for other PEs", Cause: shmerr.Causef(shmerr.ErrInternal, "%w", err)}
	}
	return text, nil
}

// maxFault bounds the text of an error in bytes, so that a note fits into a message even if JSON
// escapes each letter, with 6 bytes ("\u0000"). 200 letters less leave room for the other fields.
const maxFault = fdpass.MaxMessage/6 - 200

// decode receives a note and its descriptors, which the caller closes.
func decode(c *fdpass.Conn, deadline time.Time) (note, []int, error) {
	var n note
	text, files, err := c.Receive(deadline)
	if err != nil {
		return n, nil, err
	}
	if err := json.Unmarshal(text, &n); err != nil || n.Protocol != protocol {
		fdpass.CloseAll(files)
		return n, nil, shmerr.Causef(shmerr.ErrVersion, "its message, %d bytes, is not of this version of the library", len(text))
	}
	return n, files, nil
}

// receive receives the note of this round from the i-th PE of the node, and the descriptors sent
// with it, which the caller closes.
func (k *links) receive(i int, deadline time.Time) (note, []int, error) {
	n, files, err := decode(k.conns[i], deadline)
	if err == nil && (n.Round != k.round || n.PE != k.plan.PEs[i].PE) {
		fdpass.CloseAll(files)
		return n, nil, shmerr.Causef(shmerr.ErrInternal, "PE %d is in round %d and this one in round %d", n.PE, n.Round, k.round)
	}
	return n, files, err
}

// reply is a note that another PE has sent, with its descriptors.
type reply struct {
	note
	files []int
}

// exchange is one round: this PE sends its note and descriptors to all others, and receives theirs.
// A PE with an error also sends its note, so that the others do not wait in vain. The error that
// exchange returns means that a PE sent nothing: no round can follow. The caller owns all
// descriptors, even then.
func (k *links) exchange(n note, files []int) ([]reply, error) {
	replies := make([]reply, len(k.conns))
	k.round++
	deadline := time.Now().Add(k.plan.Timeout)
	text, err := k.encode(n)
	if err != nil {
		k.broken = err
		return replies, err
	}
	var errs []error
	// lose closes the connection to a PE that failed, so that the PE notices at once.
	lose := func(op string, i int, err error) {
		errs = append(errs, k.peerError(op, i, err), k.conns[i].Close())
		k.conns[i] = nil
	}
	for i, c := range k.conns {
		if c == nil {
			continue
		}
		if err := c.Send(text, files, deadline); err != nil {
			lose("send to", i, err)
		}
	}
	for i, c := range k.conns {
		if c == nil {
			continue
		}
		n, files, err := k.receive(i, deadline)
		if err != nil {
			lose("receive from", i, err)
			continue
		}
		replies[i] = reply{n, files}
	}
	if err := errors.Join(errs...); err != nil && k.broken == nil {
		k.broken = err
	}
	return replies, errors.Join(errs...)
}

// agree is a round in which all PEs learn whether all have succeeded. It returns nil on all PEs, or
// an error on all except those that are lost. mine is this PE's error, and news the errors in it
// that this PE has not sent to the others yet.
func (k *links) agree(mine, news error) error {
	var n note
	n.fail(news)
	replies, err := k.exchange(n, nil)
	errs := []error{mine, err}
	for i := range replies {
		fdpass.CloseAll(replies[i].files)
		errs = append(errs, k.fault(i, replies[i].note))
	}
	return errors.Join(errs...)
}

// fail puts the error of this PE, if it has one, into a note.
func (n *note) fail(err error) {
	if err != nil {
		n.Fault, n.Status = shmerr.OneLine(err), shmerr.StatusOf(err)
	}
}

// PeerError is an error that another PE has had and sent.
type PeerError struct {
	PE     libshmem.PE
	Text   string
	Status shmerr.Status
}

// Error names the PE and its error.
func (e *PeerError) Error() string { return fmt.Sprintf("PE %d: %s", e.PE, e.Text) }

// Is reports whether the error was of the kind target at the other PE, for errors.Is.
func (e *PeerError) Is(target error) bool {
	return e.Status != shmerr.OK && shmerr.StatusOf(target) == e.Status
}

// fault returns the error that PEs[i] has put into its note, or nil.
func (k *links) fault(i int, n note) error {
	if n.Fault == "" {
		return nil
	}
	return &PeerError{PE: k.plan.PEs[i].PE, Text: n.Fault, Status: n.Status}
}
