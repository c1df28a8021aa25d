package mesh

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"libshmem"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmerr"
)

// state is how far a member is.
type state uint8

const (
	here state = iota
	away       // it has left, is lost, or was removed: why has the reason
)

// member is what this one knows of another, or of itself.
type member struct {
	number   int
	instance uint64
	gpu      bool // it has a GPU stage
	state    state
	why      error
	met      bool // messages have passed between the two
	told     bool // it knows that this member leaves
	leaving  bool // it leaves, and gets one last answer
	listed   bool // in Mesh.busy

	queue    []*operation         // not posted yet, in order
	outbox   [][]byte             // messages that were not sent yet, in order
	open     []*Request           // under way, in order
	imports  map[uint32]*imported // its regions that this member may use, by number
	awaited  map[uint32]*Request  // imports that it has not answered, by the number of their question
	closing  map[*Region]*Request // regions of this member that it has imported and has to let go
	sends    []*letter            // messages of the program that wait until the member stores more
	unread   uint32               // messages sent to it that its program has not received, as far as it has said
	stored   int                  // messages of it that have arrived and that this program has not received
	received uint32               // messages of it that this program has received since the last report
	drains   []*drain             // its regions that it closes, and this member still uses
	asked    uint32               // questions so far
	ended    moment               // when it was gone
	last     moment               // of its last progress, see advance
}

// loss is a member that the engine has reported, and why.
type loss struct {
	member int
	reason string
}

// Add makes another member, which the blob of its Address describes, one that this one works with.
// It returns its number. To add a member twice is no error. Nothing is sent: the first operation
// connects, and waits until the other has added this one.
func (m *Mesh) Add(blob []byte) (number int, err error) {
	b, err := m.readAddress(blob)
	if err == nil {
		err = m.locked(func() error { return m.add(&b) })
	}
	if err != nil {
		object := "a member"
		if b.Most > 0 {
			object = fmt.Sprintf("member %d", b.Member)
		}
		return -1, &shmerr.Error{Op: "add", Object: object, Cause: err}
	}
	return int(b.Member), nil
}

func (m *Mesh) add(b *addressBlob) error {
	if p := m.members[b.Member]; p != nil {
		switch {
		case p.instance == b.Instance && p.state == away:
			return p.why
		case p.instance != b.Instance && p.state == away:
			return shmerr.Causef(shmerr.ErrArgument, "another process had this number before (give each process that joins a new number)")
		case p.instance != b.Instance:
			return shmerr.Causef(shmerr.ErrArgument, "another process has this number (give each process a number of its own)")
		}
		return nil
	}
	if err := m.e.Join(libshmem.PE(b.Member), proxy.Endpoint{Addr: []byte(b.Addr), Window: b.Window}); err != nil {
		return err
	}
	m.members[b.Member] = &member{number: int(b.Member), instance: b.Instance, gpu: b.GPU != 0}
	return nil
}

// Remove ends the work with a member at once: operations under way on it end with an error, and it
// can neither read nor write memory of this one. The member finds this one lost.
func (m *Mesh) Remove(number int) error {
	err := m.locked(func() error {
		p, err := m.find(number)
		if err != nil {
			return err
		}
		if number == m.me {
			return shmerr.Causef(shmerr.ErrArgument, "a member cannot remove itself (close the mesh)")
		}
		m.give(p, "was removed here")
		return nil
	})
	if err != nil {
		return &shmerr.Error{Op: "remove", Object: fmt.Sprintf("member %d", number), Cause: err}
	}
	return nil
}

// Status returns nil while a member is there, as far as is known, and otherwise why it is not.
func (m *Mesh) Status(number int) error {
	err := m.locked(func() error {
		_, err := m.find(number)
		return err
	})
	if err != nil {
		return &shmerr.Error{Op: "check", Object: fmt.Sprintf("member %d", number), Cause: err}
	}
	return nil
}

// find returns a member that is here.
func (m *Mesh) find(number int) (*member, error) {
	switch {
	case number < 0 || number >= m.most:
		return nil, shmerr.Causef(shmerr.ErrPE, "member %d is not one of %d", number, m.most)
	case m.members[number] == nil:
		return nil, shmerr.Causef(shmerr.ErrPE, "member %d was not added", number)
	case m.members[number].state != here:
		return nil, m.members[number].why
	}
	return m.members[number], nil
}

// give gives a member up: it is lost for the engine, its connection ends, and so does all that
// waits for it.
func (m *Mesh) give(p *member, reason string) {
	m.e.Remove(libshmem.PE(p.number), reason)
	m.drop(p, lossOf(p.number, reason))
}

// lossOf is the error of operations on a lost member.
func lossOf(number int, reason string) error {
	return shmerr.Causef(shmerr.ErrPeerLost, "member %d %s", number, strings.ReplaceAll(reason, "PE ", "member "))
}

// lost notes a member that the network cannot reach any more. The engine calls it with its lock
// held, within a poll or an operation.
func (m *Mesh) lost(pe libshmem.PE, err error) {
	reason := "is lost: " + err.Error()
	var of *proxy.LostError
	if errors.As(m.e.Unreachable(pe), &of) {
		reason = of.Reason
	}
	m.gone = append(m.gone, loss{int(pe), reason})
}

// misuse notes a member that has named memory which is in no region.
func (m *Mesh) misuse(pe libshmem.PE, reason string) { m.gone = append(m.gone, loss{int(pe), reason}) }

// drop ends all that waits for a member.
func (m *Mesh) drop(p *member, why error) {
	if p.state == away {
		return
	}
	p.state, p.why, p.ended = away, why, time.Now()
	for _, r := range p.open {
		r.fail(why)
		r.unposted, r.answers = 0, 0
	}
	for _, r := range p.closing {
		r.answers--
	}
	for _, l := range p.sends {
		l.req.fail(why)
		l.req.answers = 0
	}
	p.queue, p.outbox, p.closing, p.awaited, p.drains, p.imports, p.sends = nil, nil, nil, nil, nil, nil, nil
	if p.number != m.me && !m.closed.Load() && !m.closing {
		m.log(why.Error())
	}
}
