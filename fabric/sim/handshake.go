package sim

import (
	"libshmem/fabric"
	"libshmem/fabric/faults"
)

// With Model.Handshake an endpoint has to know a peer before it writes to it or reads from it. The
// first such operation sends a request, the peer's next Poll sends the reply, and a Poll of the
// endpoint itself reads the reply. Until then operations wait at their endpoint. Injected ones, and
// all beyond the limit, are refused. Messages need no handshake.

// handshakeState is the state of the handshake of a pair of endpoints.
type handshakeState struct {
	requested, replied bool
	awaitingReply      []*message // operations that wait for the reply, in their order
}

// handshakePacket is a packet of a handshake: a request, or the reply to one.
type handshakePacket struct {
	pair  *pair
	reply bool
}

// needsHandshake reports whether an operation of a kind to the peer needs a handshake first.
func (p *pair) needsHandshake(kind fabric.Kind) bool {
	return p.from.net.model.Handshake > 0 && kind != fabric.KindSend && !p.replied && p.peer.addr != p.from.addr
}

// requestHandshake sends the request for the handshake, once, if an operation needs it. refuse says
// that the operation has to be refused, because it may not wait for the reply: it is injected, or
// too many operations wait.
func (p *pair) requestHandshake(kind fabric.Kind, inject bool) (refuse bool) {
	if !p.needsHandshake(kind) {
		return false
	}
	if p.reach(); p.to == nil {
		return false // the operation is posted, and fails
	}
	p.request()
	return inject || p.from.awaitingReply >= p.from.net.model.Handshake
}

// holdBack delays an operation until the peer has replied to the handshake, and sends the request
// if that was not sent yet.
func (p *pair) holdBack(m *message) {
	m.awaitingReply = true
	p.awaitingReply = append(p.awaitingReply, m)
	p.from.awaitingReply++
	if p.to.closed {
		p.from.net.planFailure(m, errReset, "the peer is gone")
		return
	}
	p.request()
}

// request sends the request for the handshake, once.
func (p *pair) request() {
	if !p.requested {
		p.requested = true
		p.control(false)
	}
}

// control sends the request of the handshake, or the reply to it. Its delay is drawn like that of a
// packet.
func (p *pair) control(reply bool) {
	n, from, to, isReply := p.from.net, p.from, p.to, uint64(0)
	if reply {
		from, to, isReply = to, from, 1
	}
	n.note(didHandshake, from, to, isReply, 0)
	p.controls++
	outcome := n.model.OutcomeOf(n.seed, from.addr.number(), to.addr.number(), faults.ForHandshake<<32|p.controls)
	n.add(event{at: n.now + n.latency(from, to) + outcome.Delay, do: actHandshake, handshakePacket: handshakePacket{p, reply}})
}

// storeHandshake stores a packet of a handshake for the next Poll of its target, and ends a Wait.
func (n *Network) storeHandshake(l handshakePacket) {
	p, to := l.pair, l.pair.to
	if l.reply {
		to = p.from
	}
	switch {
	case p.from.closed:
	case p.from.nic.down || p.to.nic.down:
		p.failHandshake(errTimedOut, "the peer's NIC does not answer a handshake")
	case to.closed:
		p.failHandshake(errReset, "the peer is gone")
	default:
		to.handshakes = append(to.handshakes, l)
		to.endWait()
	}
}

// readHandshakes replies to the requests of handshakes that have arrived, and handles replies. Poll
// calls it.
func (e *endpoint) readHandshakes() {
	for _, l := range e.handshakes {
		if l.reply {
			l.pair.sendWaiting()
		} else {
			l.pair.control(true)
		}
	}
	clear(e.handshakes)
	e.handshakes = e.handshakes[:0]
}

// sendWaiting sends the operations that have waited for the peer's reply to the handshake.
func (p *pair) sendWaiting() {
	p.replied = true
	waiting := p.awaitingReply
	p.awaitingReply = nil
	for _, m := range waiting {
		m.awaitingReply = false
		p.from.awaitingReply--
		p.from.net.depart(m)
	}
}

// failHandshake fails the operations of a handshake that will get no reply. The next operation
// sends a new request.
func (p *pair) failHandshake(errno int32, reason string) {
	p.requested = false
	for _, m := range p.awaitingReply {
		p.from.net.planFailure(m, errno, reason)
	}
}

// stopWaiting removes an operation that is over from those that wait for the handshake.
func (p *pair) stopWaiting(m *message) {
	if !m.awaitingReply {
		return
	}
	m.awaitingReply = false
	p.from.awaitingReply--
	for i, other := range p.awaitingReply {
		if other == m {
			p.awaitingReply = append(p.awaitingReply[:i], p.awaitingReply[i+1:]...)
			return
		}
	}
}
