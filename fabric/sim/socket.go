package sim

import "libshmem/fabric"

// With Model.PollBytes each end has a socket. Packets lie there in the order of their
// arrival; one that must not overtake another comes into the socket behind it. Only a Poll
// of the end takes them out.
//
// With Model.Software the same holds for packets of messages alone, softwarePackets of them
// for each Poll: the NIC has put them into buffers of the provider, and the processor does
// the rest.
const softwarePackets = 8

// socketed reports whether a packet is for the socket.
func (n *Network) socketed(p *packet, to *end) bool {
	return !to.closed && (n.model.PollBytes > 0 || n.model.Software && p.m.kind == fabric.KindSend)
}

// queueUp puts a packet that may land, or a packet of a Write that comes again, into the socket.
// That ends a Wait.
func (e *end) queueUp(p *packet) {
	n, m := e.net, p.m
	from, to := m.ends(p.reply)
	p.queued = true
	e.socket = append(e.socket, p)
	n.note(didQueue, to, from, uint64(m.kind), m.index<<32|uint64(p.number))
	e.arrived()
	if m.has(p.number) {
		p.again = true
		return
	}
	p.again = false // a repetition that has come before the packet itself
	if m.kind == fabric.KindSend {
		p.held = p.n
		n.held += p.n
		n.heldMost = max(n.heldMost, n.held)
	}
	switch m.mark(p.number); {
	case p.reply:
	case m.missing == 0:
		m.pair.markLanded(m)
	case n.model.Caps.Block >= whole && len(m.pair.held) > 0:
		m.pair.retry(m)
	}
}

// unread reports whether a Poll has a packet to read from the socket, or a packet of a handshake.
func (e *end) unread() bool { return len(e.socket) > e.read || len(e.letters) > 0 }

// readSocket takes one Poll's share from the socket: PollBytes at most, but a packet in any case.
func (e *end) readSocket() {
	most, bytes := e.net.model.PollBytes, e.net.model.PollBytes > 0
	if !bytes {
		most = softwarePackets
	}
	for left := most; len(e.socket) > e.read; {
		p := e.socket[e.read]
		cost := 1
		if bytes {
			cost = max(p.n, 1)
		}
		if cost > left && left < most {
			break
		}
		left -= cost
		if !e.readPacket(p) {
			break
		}
		e.socket[e.read] = nil
		e.read++
	}
	e.socket, e.read = compact(e.socket, e.read)
}

// readPacket moves a packet, or one of its two pieces, out of the socket. It reports whether all of
// the packet is out.
func (e *end) readPacket(p *packet) bool {
	n, m := e.net, p.m
	n.held -= p.held // Network.whole counts the whole message
	p.held = 0
	switch {
	case m.gen != p.gen || m.errno != 0:
		n.drop(p)
	case p.again:
		n.repeated(p)
	case p.half:
		n.second(p)
	case p.n == 0:
		n.have(p)
	case n.deposit(p):
		n.have(p)
	default:
		return !p.half
	}
	return true
}

// haveRead counts a packet that was read from a socket, and goes on with its message after the last.
func (n *Network) haveRead(m *message, late Time) {
	m.unread--
	if n.announceEarly(m, m.unread); m.unread == 0 {
		n.whole(m, late)
	}
}

// emptySocket drops the packets of an end that is gone.
func (e *end) emptySocket() {
	for _, p := range e.socket[e.read:] {
		e.net.held -= p.held
		e.net.drop(p)
	}
	e.socket, e.read = nil, 0
}
