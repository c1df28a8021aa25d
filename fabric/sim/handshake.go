package sim

import (
	"libshmem/fabric"
	"libshmem/fabric/faults"
)

// With Model.Handshake an endpoint has to know a peer before it writes to it or reads from it. The
// first such operation asks, the peer's next Poll answers, and a Poll of the endpoint itself takes
// the answer. Until then operations wait at their endpoint; injected ones, and all beyond the
// limit, are refused. Messages need no handshake.

// acquaintance is a pair's knowledge of its other end.
type acquaintance struct {
	asked, known bool
	unmet        []*message // operations that wait for the answer, in their order
}

// letter is a question, or the answer to one, that no Poll has taken yet.
type letter struct {
	pair   *pair
	answer bool
}

// strange reports whether an operation of a kind to the peer needs a handshake first.
func (p *pair) strange(kind fabric.Kind) bool {
	return p.from.net.model.Handshake > 0 && kind != fabric.KindSend && !p.known && p.peer.addr != p.from.addr
}

// shy reports whether an operation is refused because it may not wait for the handshake, which
// it begins.
func (p *pair) shy(kind fabric.Kind, inject bool) bool {
	if !p.strange(kind) {
		return false
	}
	if p.reach(); p.to == nil {
		return false // it fails by itself
	}
	p.ask()
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
	p.ask()
}

func (p *pair) ask() {
	if !p.asked {
		p.asked = true
		p.control(false)
	}
}

// control sends a packet of the handshake.
func (p *pair) control(answer bool) {
	n, from, to, about := p.from.net, p.from, p.to, uint64(0)
	if answer {
		from, to, about = to, from, 1
	}
	n.note(didHandshake, from, to, about, 0)
	p.controls++
	fate := n.model.FateOf(n.seed, from.addr.number(), to.addr.number(), faults.ForHandshake<<32|p.controls)
	n.add(event{at: n.now + n.latency(from, to) + fate.Delay, do: actHandshake, letter: letter{p, answer}})
}

// shaken is a packet of a handshake at its target, which it wakes.
func (n *Network) shaken(l letter) {
	p, to := l.pair, l.pair.to
	if l.answer {
		to = p.from
	}
	switch {
	case p.from.closed:
	case p.from.nic.down || p.to.nic.down:
		p.unheard(errTimedOut, "the peer's NIC does not answer a handshake")
	case to.closed:
		p.unheard(errReset, "the peer is gone")
	default:
		to.letters = append(to.letters, l)
		to.arrived()
	}
}

// readLetters replies to handshakes, and takes replies. Poll calls it.
func (e *end) readLetters() {
	for _, l := range e.letters {
		if l.answer {
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

// unheard fails operations whose handshake will get no reply. The next operation sends a new
// request.
func (p *pair) unheard(errno int32, reason string) {
	p.asked = false
	for _, m := range p.unmet {
		p.from.net.doom(m, errno, reason)
	}
}

// part removes an operation that ends from the waiting ones.
func (p *pair) part(m *message) {
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
