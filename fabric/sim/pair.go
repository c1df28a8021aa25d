package sim

import (
	"libshmem/fabric"
	"libshmem/fabric/faults"
)

// pair is the connection from one endpoint to another, from the first operation until the other
// endpoint is found to be gone. It keeps the order that the model promises: packets that must not
// land yet wait at the target (held).
type pair struct {
	from *endpoint
	to   *endpoint // nil: nothing was sent yet, or no endpoint is at the peer's address
	peer *peer

	handshakeState
	listed bool // the other endpoint is known to have this one among its peers

	packets, replies, controls uint64     // packets so far: to the other endpoint, from it, and of handshakes
	outstanding                int        // operations that were launched and are not over
	waiting                    []*message // operations with a fence, and those after one, in order

	writes, sends             uint64    // how many were posted
	writesLanded, sendsLanded prefix    // which of them have landed
	held                      []*packet // packets that must not land yet
}

// prefix records which of a pair's operations of a kind, numbered from 1 on, have landed: all up to
// upTo, and of the later ones number upTo+1+i if ahead[i] is true.
type prefix struct {
	upTo  uint64
	ahead []bool
}

// mark records that operation i has landed, and raises upTo over all that have landed without a
// gap.
func (p *prefix) mark(i uint64) {
	if i <= p.upTo {
		return
	}
	k := int(i - p.upTo - 1)
	for len(p.ahead) <= k {
		p.ahead = append(p.ahead, false)
	}
	p.ahead[k] = true
	ready := 0
	for ready < len(p.ahead) && p.ahead[ready] {
		ready++
	}
	p.upTo += uint64(ready)
	p.ahead = p.ahead[:copy(p.ahead, p.ahead[ready:])]
}

// defectShare is the probability of a defect that does not always occur.
const defectShare = 0.1

// post notes which earlier operations the network has promised to deliver before an operation, and
// launches it unless a fence holds it back. A model with a Defect breaks one of the promises, so
// that tests show that they notice it.
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

// defect reports whether the network breaks the promise of defect d for this message. A network
// that has the defect does so for some messages, which the seed selects.
func (n *Network) defect(d Defect, m *message) bool {
	return n.model.Broken == d && faults.Throw(n.seed, m.from.addr.number(), m.number, uint64(m.kind)).Hits(faults.ForDefect, defectShare)
}

// launch sends the first packet of an operation, or lets the operation wait for the handshake with
// the peer. Bytes travel forward for sends and writes; reads and atomic operations send a packet
// without bytes.
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
		n.planFailure(m, errUnreachable, "no endpoint is at the address")
		return
	}
	if p.needsHandshake(m.kind) {
		p.holdBack(m)
		return
	}
	n.depart(m)
}

// reach finds the endpoint at the peer's address, unless the pair has it already.
func (p *pair) reach() {
	if p.to == nil && !p.peer.gone {
		p.to = p.from.net.at(p.peer.addr)
	}
}

// depart plans the first packet of an operation, for when the CPU has posted it and the NIC is
// free. The defect EarlySource completes a write or send before its source was read.
func (n *Network) depart(m *message) {
	e := m.from
	h := n.hosts[e.addr.host]
	if n.model.Broken == EarlySource && m.kind != fabric.KindRead && m.kind != fabric.KindAtomic {
		n.complete(m, 0)
	}
	n.plan(actLeave, max(h.cpu, e.nic.sendFree), m, nil)
}

// begin prepares a message to be sent in `packets` packets, in one direction.
func (m *message) begin(packets int) {
	m.sent, m.total, m.missing, m.unread = 0, packets, packets, packets
	m.landed = m.landed[:0]
	for range (packets + 63) / 64 {
		m.landed = append(m.landed, 0)
	}
}

// ready reports whether a packet may land: all operations that must land before its operation have
// landed, and, if the network keeps the order of an operation's bytes, all earlier packets of it.
func (p *pair) ready(w *packet) bool {
	m := w.m
	if m.after.writes > p.writesLanded.upTo || m.after.sends > p.sendsLanded.upTo {
		return false
	}
	// Packets that land in order have the numbers from 0 on: the next one has the number of those
	// that have landed.
	return p.from.net.model.Caps.Block < ascendingBytes || w.number == m.total-m.missing
}

// retry lets held packets land that may land now. landed is the message of which a packet has just
// landed while other packets of it are missing: only packets of that message can have waited for
// this. With nil, retry checks the packets of all messages.
func (p *pair) retry(landed *message) {
	n := p.from.net
	kept := p.held[:0]
	for _, w := range p.held {
		switch {
		case landed != nil && w.m != landed:
			kept = append(kept, w)
		case w.gen != w.m.gen:
			n.freePacket(w)
		case p.ready(w):
			n.plan(actReady, n.now, w.m, w)
		default:
			kept = append(kept, w)
		}
	}
	clear(p.held[len(kept):])
	p.held = kept
}

// markLanded records that all packets of a message or write have landed, or never will, and lets
// packets land that have waited for that. Nothing waits for reads and atomic operations.
func (p *pair) markLanded(m *message) {
	switch m.kind {
	case fabric.KindSend:
		p.sendsLanded.mark(m.index)
	case fabric.KindWrite:
		p.writesLanded.mark(m.index)
	default:
		return
	}
	if len(p.held) > 0 {
		p.retry(nil)
	}
}

// release frees an operation that is over, and starts operations that have waited: one with a fence
// when no operation on the peer is outstanding, and those after it.
func (n *Network) release(m *message) {
	p := m.pair
	p.stopWaiting(m)
	n.retire(m)
	p.outstanding--
	for len(p.waiting) > 0 && (!p.waiting[0].fence || p.outstanding == 0) {
		next := p.waiting[0]
		p.waiting = p.waiting[:copy(p.waiting, p.waiting[1:])]
		n.launch(next)
	}
}

// retire frees a message, and raises its generation, which makes its planned events void.
func (n *Network) retire(m *message) {
	e := m.from
	last := e.live[len(e.live)-1]
	e.live[m.slot], last.slot = last, m.slot
	e.live = e.live[:len(e.live)-1]
	e.flying--
	m.gen++
	n.messages = append(n.messages, m)
}
