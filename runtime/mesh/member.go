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

// state says whether a member can be used.
type state uint8

const (
	present state = iota
	absent        // it has left, is lost, or was removed: why has the reason
)

// member is what this process, which is a member of the mesh, stores about another member or about
// itself. In the comments below "it" is the member that the record is about.
type member struct {
	number    int
	instance  uint64
	gpu       bool // it has a GPU stage
	state     state
	why       error // why it is absent; nil: it is present
	contacted bool  // messages have passed between the two
	informed  bool  // this member has queued the message to it that this member leaves
	leaving   bool  // it leaves, and gets one last reply
	listed    bool  // it is in Mesh.busy

	queue    []*operation         // not posted yet, in order
	outbox   [][]byte             // messages that were not sent yet, in order
	open     []*Request           // under way, in order
	imports  map[uint32]*imported // its regions that this member may use, by number
	awaited  map[uint32]*Request  // imports to which it has not replied, by the number in the importRequest
	closing  map[*Region]*Request // regions that this member closes, and that it still uses
	sends    []*letter            // messages of the program that wait until the member stores more
	unread   uint32               // messages sent to it that its program has not received, as far as it has said
	stored   int                  // its messages that have arrived and that this program has not received
	received uint32               // its messages that this program has received since the last report to it
	drains   []*drain             // regions that it closes, and that this member still uses
	requests uint32               // requests for imports so far
	ended    moment               // when this member found it gone
	last     moment               // of its last progress, see advance
}

// loss is a member that the engine has reported, and why.
type loss struct {
	member int
	reason string
}

// Add makes another member known to this one, from the blob of the other's Address, so that
// operations on it are possible. It returns the other's number. To add a member twice is no error.
// Add sends nothing: the first operation connects, and waits until the other has added this one.
func (m *Mesh) Add(blob []byte) (number int, err error) {
	b, err := m.readAddress(blob)
	if err == nil {
		err = m.locked(func() error { return m.add(&b) })
	}
	if err != nil {
		object := "a member"
		if b.Members > 0 {
			object = fmt.Sprintf("member %d", b.Member)
		}
		return -1, &shmerr.Error{Op: "add", Object: object, Cause: err}
	}
	return int(b.Member), nil
}

// add does the work of Add with the engine's lock held.
func (m *Mesh) add(b *addressBlob) error {
	if p := m.members[b.Member]; p != nil {
		switch {
		case p.instance == b.Instance && p.state == absent:
			return p.why
		case p.instance != b.Instance && p.state == absent:
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

// Remove disconnects a member at once: operations under way on it end with an error, and it can no
// longer read or write memory of this process. For that member, this one is lost.
func (m *Mesh) Remove(number int) error {
	err := m.locked(func() error {
		p, err := m.find(number)
		if err != nil {
			return err
		}
		if number == m.me {
			return shmerr.Causef(shmerr.ErrArgument, "a member cannot remove itself (close the mesh)")
		}
		m.giveUp(p, "was removed here")
		return nil
	})
	if err != nil {
		return &shmerr.Error{Op: "remove", Object: fmt.Sprintf("member %d", number), Cause: err}
	}
	return nil
}

// Status returns nil while a member can be used, as far as is known, and otherwise the reason: it
// was not added, has left, is lost, or was removed.
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

// find returns a member that was added and is still present, or an error that says why it cannot be
// used.
func (m *Mesh) find(number int) (*member, error) {
	switch {
	case number < 0 || number >= m.maxMembers:
		return nil, shmerr.Causef(shmerr.ErrPE, "member %d is not one of %d", number, m.maxMembers)
	case m.members[number] == nil:
		return nil, shmerr.Causef(shmerr.ErrPE, "member %d was not added", number)
	case m.members[number].state != present:
		return nil, m.members[number].why
	}
	return m.members[number], nil
}

// giveUp ends the connection to a member, and all requests that wait for it. From then on the
// engine refuses operations on it.
func (m *Mesh) giveUp(p *member, reason string) {
	m.e.Remove(libshmem.PE(p.number), reason)
	m.setAbsent(p, lossOf(p.number, reason))
	if m.source != nil && !m.closing {
		m.source.Lost(p.why)
	}
}

// lossOf returns the error of operations on a lost member. reason is a text of the engine, which
// calls the member a PE.
func lossOf(number int, reason string) error {
	return shmerr.Causef(shmerr.ErrPeerLost, "member %d %s", number, strings.ReplaceAll(reason, "PE ", "member "))
}

// noteLost lists a member that the network cannot reach any more, so that advance gives it up. The
// engine calls noteLost with its lock held, within a poll or an operation, when noteLost may not
// call the engine back.
func (m *Mesh) noteLost(pe libshmem.PE, err error) {
	reason := "is lost: " + err.Error()
	var lost *proxy.LostError
	if errors.As(m.e.Unreachable(pe), &lost) {
		reason = lost.Reason
	}
	m.losses = append(m.losses, loss{int(pe), reason})
}

// noteMisuse lists a member that has broken the protocol, such as by an operation on memory outside
// all regions, so that advance gives it up.
func (m *Mesh) noteMisuse(pe libshmem.PE, reason string) {
	m.losses = append(m.losses, loss{int(pe), reason})
}

// setAbsent records that a member is gone, and why: its requests under way, and messages that wait
// for it, end with that error. serve completes the requests when the network has finished with
// their memory.
func (m *Mesh) setAbsent(p *member, why error) {
	if p.state == absent {
		return
	}
	p.state, p.why, p.ended = absent, why, time.Now()
	for _, r := range p.open {
		r.fail(why)
		r.unposted, r.replies = 0, 0
	}
	for _, r := range p.closing {
		r.replies--
	}
	for _, l := range p.sends {
		l.req.fail(why)
		l.req.replies = 0
	}
	p.queue, p.outbox, p.closing, p.awaited, p.drains, p.imports, p.sends = nil, nil, nil, nil, nil, nil, nil
	if p.number != m.me && !m.closed.Load() && !m.closing {
		m.log(why.Error())
	}
}
