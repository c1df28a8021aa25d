package mesh

import (
	"fmt"
	"slices"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/call"
)

// driver is the engine as the loop drives it: it adds the mesh's own work to each poll.
type driver struct {
	*proxy.Engine
	m *Mesh
}

// Poll polls the engine, and then continues the mesh's own work (advance), for which the poll may
// have made room. It returns the number of completions and of operations of the source that it has
// begun, plus one while GPU streams have work (loop.Monitor).
func (d *driver) Poll() (int, error) {
	n, err := d.Engine.Poll()
	n += d.m.advance()
	return n, err
}

// Next returns what the loop does after a Poll that returned n (loop.Monitor): what the engine says,
// unless that is to sleep until the network wakes it. While an operation or a message of the mesh
// waits to be posted, the loop then sleeps only briefly, because no event may show that the engine
// has room again; and if operations of the source were submitted meanwhile, it polls again.
func (d *driver) Next(n int, pace *fabric.Pace) call.Step {
	if d.m.keepsAwake(n) {
		return call.PollYielding // threads that submit spin, too, perhaps for the same processor
	}
	step := d.Engine.Next(n, pace)
	switch {
	case step != call.WaitArmed:
	case d.m.hasUnposted():
		return call.SleepStuck
	case d.m.source != nil && !d.m.source.Sleep():
		return call.PollAgain
	}
	return step
}

// moment is a time of the monotonic clock.
type moment = time.Time

// poll polls the engine and continues the mesh's own work (advance). An error of the engine ends
// the mesh. The caller holds the engine's lock.
func (m *Mesh) poll() {
	if _, err := m.e.Poll(); err != nil {
		m.fail(err)
		return
	}
	m.advance()
}

// addBusy adds a member to m.busy, the members for which advance has work, unless it is in the
// list. The time without progress, after which serve gives the member up, begins then.
func (m *Mesh) addBusy(p *member) {
	if !p.listed {
		p.listed, p.last = true, time.Now()
		m.busy = append(m.busy, p)
	}
}

// hasUnposted reports whether an operation on a member, or a message to one, waits to be posted
// because the engine had no room for it. Messages of the program that wait because the member
// stores `window` others do not count.
func (m *Mesh) hasUnposted() bool {
	for _, p := range m.busy {
		if len(p.queue) > 0 || len(p.outbox) > 0 || len(p.sends) > 0 && p.unread < window {
			return true
		}
	}
	return false
}

// advance does the mesh's own work, as far as it is possible now: it gives up members that are lost
// or have left and, for each member in m.busy, sends messages, posts operations and completes
// requests, and gives the member up if it has not answered for too long. The caller holds the
// engine's lock. Callbacks of the engine must not call advance, because it calls the engine.
// advance returns the number of operations of the source that it has begun.
func (m *Mesh) advance() (begun int) {
	for len(m.losses) > 0 {
		l := m.losses[0]
		m.losses = m.losses[1:]
		if p := m.members[l.member]; p != nil && p.state == present {
			m.giveUp(p, l.reason)
		}
	}
	for _, p := range m.left {
		m.e.Lose(libshmem.PE(p.number), "has left the mesh")
		m.setAbsent(p, lossOf(p.number, "has left the mesh"))
	}
	m.left = m.left[:0]
	m.ending = slices.DeleteFunc(m.ending, func(r *Request) bool { return r.tryEnd() })
	if m.source != nil {
		begun = m.source.Begin(m)
	}
	if len(m.busy) == 0 {
		return begun
	}
	if m.source != nil && m.hasUnposted() {
		m.gather()
		defer m.gathered()
	}
	now := time.Now()
	kept := m.busy[:0]
	for _, p := range m.busy {
		if m.serve(p, now) {
			kept = append(kept, p)
		} else {
			p.listed = false
		}
	}
	clear(m.busy[len(kept):])
	m.busy = kept
	return begun
}

// serve does the work of advance for member p: it sends messages, posts operations, completes
// requests, and informs p of those of p's regions that this member no longer uses. It gives p up if
// nothing of this was possible for m.timeout. If only messages of the program wait, until the
// program of p has received others, serve probes p from time to time. It returns whether there is
// more to do for p.
func (m *Mesh) serve(p *member, now moment) bool {
	moved := m.sendLetters(p)
	moved = m.sendOutbox(p) || moved
	for len(p.queue) > 0 && p.state == present {
		o := p.queue[0]
		before := o.req.begun
		if !m.post(p, o) {
			moved = moved || o.req.begun > before
			break
		}
		p.queue[0] = nil
		p.queue = p.queue[1:]
		o.req.unposted--
		moved = true
	}
	for len(p.open) > 0 {
		before := p.open[0].ended
		if !p.open[0].tryEnd() {
			moved = moved || p.open[0].ended > before
			break
		}
		p.open[0] = nil
		p.open = p.open[1:]
		moved = true
	}
	for len(p.drains) > 0 && p.drains[0].advance() {
		m.queueMessage(p, message{kind: released, id: p.drains[0].id})
		p.drains = p.drains[1:]
		moved = true
	}
	if p.leaving && len(p.outbox) == 0 && p.state == present { // leaveReply, its last message, is sent
		m.left = append(m.left, p)
		return true
	}
	if moved {
		p.last = now
	}
	if len(p.queue)+len(p.outbox)+len(p.open)+len(p.drains)+len(p.closing) == 0 {
		if len(p.sends) == 0 || p.state != present {
			return false
		}
		if now.Sub(p.last) > m.timeout/4 {
			m.probe(p)
		}
		return true
	}
	if p.state == present && now.Sub(p.last) > m.timeout {
		m.giveUp(p, "has not answered for "+m.timeout.String())
	}
	return true
}

// probe asks member p for a reply that its library gives, whatever its program does. Messages that
// wait for the program of p have no deadline, but the reply has one, so that they end if p is
// stopped.
func (m *Mesh) probe(p *member) {
	p.last = time.Now()
	m.enqueue(p, &operation{req: m.newRequest(p, "probe", fmt.Sprintf("member %d", p.number)), kind: doProbe})
}

// sendOutbox sends the messages in a member's outbox, in order, until the engine has no room. It
// reports whether it has sent or dropped any. If one cannot be sent at all, it drops all of them,
// and lists the member to be given up (noteMisuse).
func (m *Mesh) sendOutbox(p *member) (moved bool) {
	for len(p.outbox) > 0 {
		switch m.e.SendMember(libshmem.PE(p.number), p.outbox[0]) {
		case proxy.Again:
			return moved
		case proxy.Failed:
			if p.state == present {
				m.noteMisuse(libshmem.PE(p.number), "cannot be sent to: "+m.e.Err().Error())
			}
			p.outbox = nil
			return true
		}
		p.outbox = p.outbox[1:]
		p.contacted, moved = true, true
	}
	return moved
}
