package sim

import (
	"libshmem/fabric"
	"libshmem/fabric/faults"
)

// pair is the connection from one endpoint to another, from the first operation until
// the other is found to be gone. It keeps the order that was promised: packets
// that must not land yet wait at the target.
type pair struct {
	from *end
	to   *end // nil: nothing was sent yet
	peer *peer

	acquaintance
	listed bool // the other end has this one among its peers, as far as was asked

	packets, answers, controls uint64 // that went either way
	outstanding                int    // operations that have begun and not ended
	waiting                    []*message

	writes, sends         uint64 // posted
	writesDone, sendsDone prefix
	held                  []*packet
}

// prefix counts things that are done in any order: all up to done are.
type prefix struct {
	done  uint64
	ahead []bool
}

func (p *prefix) mark(i uint64) {
	if i <= p.done {
		return
	}
	k := int(i - p.done - 1)
	for len(p.ahead) <= k {
		p.ahead = append(p.ahead, false)
	}
	p.ahead[k] = true
	ready := 0
	for ready < len(p.ahead) && p.ahead[ready] {
		ready++
	}
	p.done += uint64(ready)
	p.ahead = p.ahead[:copy(p.ahead, p.ahead[ready:])]
}

// defectShare is the probability of a defect that does not always occur.
const defectShare = 0.1

// post gives an operation its place in the order, and begins it unless a fence
// holds it back.
func (p *pair) post(m *message) {
	n := p.from.net
	c := &n.model.Caps
	m.pair = p
	switch m.kind {
	case fabric.KindSend:
		p.sends++
		if m.index = p.sends; c.SendAfterSend {
			m.after.sends = p.sends - 1
		}
		if c.SendAfterWrite {
			m.after.writes = p.writes
		}
	case fabric.KindWrite:
		p.writes++
		if m.index = p.writes; c.WriteAfterWrite {
			m.after.writes = p.writes - 1
		}
	case fabric.KindRead:
		if c.ReadAfterWrite {
			m.after.writes = p.writes
		}
	}
	if n.defect(WritesOvertake, m) && m.kind == fabric.KindWrite || n.defect(MessagesLead, m) && m.kind == fabric.KindSend {
		m.after.writes = 0
	}
	if n.defect(MessagesPass, m) {
		m.after.sends = 0
	}
	if len(p.waiting) > 0 || m.fence && p.outstanding > 0 && n.model.Broken != Unfenced {
		p.waiting = append(p.waiting, m)
		return
	}
	n.launch(m)
}

// defect reports whether the network's defect strikes a message.
func (n *Network) defect(d Defect, m *message) bool {
	return n.model.Broken == d && faults.Throw(n.seed, m.from.addr.number(), m.number, uint64(m.kind)).Hits(faults.ForDefect, defectShare)
}

// launch puts an operation on its way.
func (n *Network) launch(m *message) {
	p, e := m.pair, m.from
	p.outstanding++
	p.reach()
	m.to = p.to
	forward := m.n
	if m.kind == fabric.KindRead || m.kind == fabric.KindAtomic {
		forward = 0
	}
	m.begin(n.packetsOf(forward))
	h := n.hosts[e.addr.host]
	h.cpu = max(h.cpu, n.now) + n.model.Post
	if m.to == nil {
		n.doom(m, errUnreachable, "no endpoint is at the address")
		return
	}
	if p.strange(m.kind) {
		p.holdBack(m)
		return
	}
	n.depart(m)
}

// reach finds the end at the peer's address.
func (p *pair) reach() {
	if p.to == nil && !p.peer.gone {
		p.to = p.from.net.at(p.peer.addr)
	}
}

// depart has the first packet of an operation leave when the NIC is free.
func (n *Network) depart(m *message) {
	e := m.from
	h := n.hosts[e.addr.host]
	if n.model.Broken == EarlySource && m.kind != fabric.KindRead && m.kind != fabric.KindAtomic {
		n.complete(m, 0)
	}
	n.plan(actLeave, max(h.cpu, e.nic.sends), m, nil)
}

// begin prepares a message of this many packets.
func (m *message) begin(packets int) {
	m.sent, m.total, m.missing, m.unread = 0, packets, packets, packets
	m.landed = m.landed[:0]
	for range (packets + 63) / 64 {
		m.landed = append(m.landed, 0)
	}
}

// ready reports whether a packet may land: after the messages that go before its own, and where the
// bytes of one message keep their order, after the packets that do.
func (p *pair) ready(w *packet) bool {
	m := w.m
	if m.after.writes > p.writesDone.done || m.after.sends > p.sendsDone.done {
		return false
	}
	return p.from.net.model.Caps.Block < whole || w.number == m.total-m.missing
}

// retry lands packets that had to wait. Where a packet of one message has landed and it is not
// done, only packets of the same message can have waited for it; nil: those of any message.
func (p *pair) retry(landed *message) {
	n := p.from.net
	kept := p.held[:0]
	for _, w := range p.held {
		switch {
		case landed != nil && w.m != landed:
			kept = append(kept, w)
		case w.gen != w.m.gen:
			n.drop(w)
		case p.ready(w):
			n.plan(actReady, n.now, w.m, w)
		default:
			kept = append(kept, w)
		}
	}
	clear(p.held[len(kept):])
	p.held = kept
}

// done notes that all of a message is where it belongs, or never will be.
func (p *pair) done(m *message) {
	switch m.kind {
	case fabric.KindSend:
		p.sendsDone.mark(m.index)
	case fabric.KindWrite:
		p.writesDone.mark(m.index)
	default:
		return
	}
	if len(p.held) > 0 {
		p.retry(nil)
	}
}

// release ends an operation, and begins operations that waited for its end.
func (n *Network) release(m *message) {
	p := m.pair
	p.part(m)
	n.retire(m)
	p.outstanding--
	for len(p.waiting) > 0 && (!p.waiting[0].fence || p.outstanding == 0) {
		next := p.waiting[0]
		p.waiting = p.waiting[:copy(p.waiting, p.waiting[1:])]
		n.launch(next)
	}
}

// retire makes all events of a message void.
func (n *Network) retire(m *message) {
	e := m.from
	last := e.live[len(e.live)-1]
	e.live[m.slot], last.slot = last, m.slot
	e.live = e.live[:len(e.live)-1]
	e.flying--
	m.gen++
	n.messages = append(n.messages, m)
}
