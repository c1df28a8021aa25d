package sim

import (
	"libshmem/fabric"
	"libshmem/fabric/faults"
)

// With Model.Handshake an endpoint has to know a peer before it writes to it or reads from it. The
// first such operation sends a request, the peer's next Poll sends the reply, and a Poll of the
// endpoint itself takes the reply. Until then operations wait at their endpoint; injected ones, and
// all beyond the limit, are refused. Messages need no handshake.

// acquaintance is the state of a pair's handshake.
type acquaintance struct {
	requested, known bool
	unmet            []*message // operations that wait for the reply, in their order
}

// letter is a packet of a handshake: a request, or the reply to one.
type letter struct {
	pair  *pair
	reply bool
}

// needsHandshake reports whether an operation of a kind to the peer needs a handshake first.
func (p *pair) needsHandshake(kind fabric.Kind) bool {
	return p.from.net.model.Handshake > 0 && kind != fabric.KindSend && !p.known && p.peer.addr != p.from.addr
}

// mayNotWait reports whether an operation has to be refused because it needs the handshake and may
// not wait for it: it is injected, or too many wait. It sends the request all the same.
func (p *pair) mayNotWait(kind fabric.Kind, inject bool) bool {
	if !p.needsHandshake(kind) {
		return false
	}
	if p.reach(); p.to == nil {
		return false // the operation is posted, and fails
	}
	p.request()
	return inject || p.from.unmet >= p.from.net.model.Handshake
}

// holdBack holds an operation back until the peer has replied to the handshake.
func (p *pair) holdBack(m *message) {
	m.unmet = true
	p.unmet = append(p.unmet, m)
	p.from.unmet++
	if p.to.closed {
		p.from.net.doom(m, errReset, "the peer is gone")
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

// control sends the request of the handshake, or the reply to it.
func (p *pair) control(reply bool) {
	n, from, to, about := p.from.net, p.from, p.to, uint64(0)
	if reply {
		from, to, about = to, from, 1
	}
	n.note(didHandshake, from, to, about, 0)
	p.controls++
	fate := n.model.FateOf(n.seed, from.addr.number(), to.addr.number(), faults.ForHandshake<<32|p.controls)
	n.add(event{at: n.now + n.latency(from, to) + fate.Delay, do: actHandshake, letter: letter{p, reply}})
}

// handshakeArrived keeps a packet of a handshake for the next Poll of its target, and ends a Wait.
func (n *Network) handshakeArrived(l letter) {
	p, to := l.pair, l.pair.to
	if l.reply {
		to = p.from
	}
	switch {
	case p.from.closed:
	case p.from.nic.down || p.to.nic.down:
		p.handshakeFailed(errTimedOut, "the peer's NIC does not answer a handshake")
	case to.closed:
		p.handshakeFailed(errReset, "the peer is gone")
	default:
		to.letters = append(to.letters, l)
		to.arrived()
	}
}

// readLetters replies to the requests of handshakes that have arrived, and handles replies. Poll
// calls it.
func (e *end) readLetters() {
	for _, l := range e.letters {
		if l.reply {
			l.pair.connected()
		} else {
			l.pair.control(true)
		}
	}
	clear(e.letters)
	e.letters = e.letters[:0]
}

// connected sends the operations that have waited for the peer's reply.
func (p *pair) connected() {
	p.known = true
	waiting := p.unmet
	p.unmet = nil
	for _, m := range waiting {
		m.unmet = false
		p.from.unmet--
		p.from.net.depart(m)
	}
}

// handshakeFailed fails the operations of a handshake that will get no reply. The next operation
// sends a new request.
func (p *pair) handshakeFailed(errno int32, reason string) {
	p.requested = false
	for _, m := range p.unmet {
		p.from.net.doom(m, errno, reason)
	}
}

// stopWaiting removes an operation that is over from those that wait for the handshake.
func (p *pair) stopWaiting(m *message) {
	if !m.unmet {
		return
	}
	m.unmet = false
	p.from.unmet--
	for i, other := range p.unmet {
		if other == m {
			p.unmet = append(p.unmet[:i], p.unmet[i+1:]...)
			return
		}
	}
}
