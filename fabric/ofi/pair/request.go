package pair

import (
	"libshmem"
	"libshmem/fabric/ofi/handshake"
)

// Request handles a connection request of a peer, which the network has delivered.
func (m *Machine) Request(h Handle, data []byte) {
	r, id, ok := m.verify(data)
	if !ok {
		m.Strangers++
		m.net.Reject(h, nil)
		return
	}
	p := m.pair(r.From)
	if r.Number <= p.seen {
		m.countOld(p, r.Number)
		m.net.Reject(h, nil)
		return
	}
	m.Me.PE = r.To
	p.see(r.Number)
	switch {
	case m.closed:
		m.refuse(h, handshake.Lost, &r, id)
	case p.broken && p.state != lost: // both sides live, and neither knows which messages the other has received
		m.lose(p, "the connection broke")
		m.refuse(h, handshake.Lost, &r, id)
	case p.pe == m.Me.PE:
		m.reflect(p, h, &r)
	case p.state == open && p.ours && r.Seen < p.number:
		m.refuse(h, handshake.Crossing, &r, id) // the peer sent it before this side's request arrived, and has dropped it
	case p.state == open: // the peer has noticed that the connection is broken
		m.net.Use(p.pe, 0)
		m.lose(p, "the connection broke, and it asks for another")
		m.refuse(h, handshake.Lost, &r, id)
	case p.state == departed || p.state == lost:
		m.refuse(h, handshake.Lost, &r, id)
	case p.state == requesting && m.Me.PE < p.pe:
		// Both sides have sent a request. That of the lower PE stands, and the other side yields.
		m.refuse(h, handshake.Crossing, &r, id)
	default:
		m.drop(p)
		m.accept(p, h, &r, id)
	}
}

// see notes that the request of a number above all others has come; the caller has checked that it
// is above p.seen. missed is shifted by the difference, and gets a bit for each number between. If
// that is more than 64 bits, Go's shifts give 0, so that all bits are set.
func (p *pair) see(number uint64) {
	between := number - p.seen
	p.missed = p.missed<<between | (1<<(between-1) - 1)
	p.seen = number
}

// countOld counts a request that a PE of the job has made before its last one: as belated if it has
// not come before, else as a stranger's copy.
func (m *Machine) countOld(p *pair, number uint64) {
	bit := uint64(1) << (p.seen - number - 1) // 0 for number p.seen, and for those that have no bit any more
	if p.missed&bit == 0 {
		m.Strangers++
		return
	}
	p.missed &^= bit
	m.Belated++
}

// verify decodes a request, and reports whether a PE of the job has made it, for this endpoint. id
// is the ID of the sender's endpoint.
func (m *Machine) verify(data []byte) (r handshake.Request, id handshake.ID, ok bool) {
	r, err := handshake.Parse(data)
	if err != nil || m.Me.PE != libshmem.NoPE && r.To != m.Me.PE {
		return r, id, false
	}
	id, ok = m.ID(r.From)
	return r, id, ok && m.Key.Verify(data, id, m.Me.ID)
}

// refuse rejects a request with a reply that has the verdict v.
func (m *Machine) refuse(h Handle, v handshake.Verdict, r *handshake.Request, id handshake.ID) {
	m.net.Reject(h, m.Key.Reply(handshake.Reply{Verdict: v}, r, m.Me.ID, id))
}

// accept accepts the request r of a peer, whose endpoint has the given id. The connection is used
// only after the peer's confirmation, which proves that the request was no copy of an old one.
func (m *Machine) accept(p *pair, h Handle, r *handshake.Request, id handshake.ID) {
	a := handshake.Reply{Verdict: handshake.Accepted, Nonce: handshake.Random[handshake.Nonce]()}
	p.conn, p.ours, p.requestNonce, p.replyNonce = m.newConn(p), false, r.Nonce, a.Nonce
	p.until = m.now + yield
	m.become(p, accepted)
	if err := m.net.Accept(p.conn, h, m.Key.Reply(a, r, m.Me.ID, id)); err != nil {
		m.retry(p, err.Error())
	}
}

// reflect accepts a request of this endpoint to itself. Operations then use the requesting side of
// the connection, and the accepting side (mirror) only receives.
func (m *Machine) reflect(p *pair, h Handle, r *handshake.Request) {
	if p.state != requesting || p.mirror != 0 {
		m.refuse(h, handshake.Lost, r, m.Me.ID)
		return
	}
	p.mirror = m.newConn(p)
	a := handshake.Reply{Verdict: handshake.Accepted, Nonce: handshake.Random[handshake.Nonce]()}
	if err := m.net.Accept(p.mirror, h, m.Key.Reply(a, r, m.Me.ID, m.Me.ID)); err != nil {
		m.retry(p, err.Error())
	}
}
