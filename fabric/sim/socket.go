package sim

import "libshmem/fabric"

// If Model.PollBytes is set, each endpoint has a socket: a queue of packets that have arrived, in
// the order of their arrival, until a Poll of that endpoint reads them. A packet that must not
// overtake another one is put into the socket after it.
//
// If Model.Software is set, only packets of messages (fabric.KindSend) go to the socket, not those
// of one-sided operations, and each Poll reads at most softwarePackets of them. This models a NIC
// that stores messages in receive buffers of the provider, from where the CPU copies them to the
// posted buffers during a Poll.
const softwarePackets = 8

// goesToSocket reports whether a packet waits in its target's socket until a Poll reads it.
func (n *Network) goesToSocket(p *packet, to *endpoint) bool {
	return !to.closed && (n.model.PollBytes > 0 || n.model.Software && p.m.kind == fabric.KindSend)
}

// enqueuePacket puts a packet that may land, or a repeated packet of a Write, into the socket. That
// ends a Wait.
func (e *endpoint) enqueuePacket(p *packet) {
	n, m := e.net, p.m
	from, to := m.endpoints(p.reply)
	p.queued = true
	e.socket = append(e.socket, p)
	n.note(didQueue, to, from, uint64(m.kind), m.index<<32|uint64(p.number))
	e.endWait()
	if m.hasLanded(p.number) {
		p.again = true
		return
	}
	p.again = false // a repetition that has arrived before the packet itself
	if m.kind == fabric.KindSend {
		p.held = p.n
		n.held += p.n
		n.peakHeld = max(n.peakHeld, n.held)
	}
	switch m.mark(p.number); {
	case p.reply:
	case m.missing == 0:
		m.pair.markLanded(m)
	case n.model.Caps.Block >= ascendingBytes && len(m.pair.held) > 0:
		m.pair.retry(m)
	}
}

// unread reports whether a Poll has a packet to read from the socket, or a packet of a handshake.
func (e *endpoint) unread() bool { return len(e.socket) > e.read || len(e.handshakes) > 0 }

// readSocket reads from the socket what one Poll may read: at most PollBytes, but at least one
// packet; without PollBytes at most softwarePackets packets.
func (e *endpoint) readSocket() {
	limit, inBytes := e.net.model.PollBytes, e.net.model.PollBytes > 0
	if !inBytes {
		limit = softwarePackets
	}
	for left := limit; len(e.socket) > e.read; {
		p := e.socket[e.read]
		cost := 1
		if inBytes {
			cost = max(p.n, 1)
		}
		if cost > left && left < limit {
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
func (e *endpoint) readPacket(p *packet) bool {
	n, m := e.net, p.m
	n.held -= p.held // handleLanded adds the bytes of the whole message again
	p.held = 0
	switch {
	case m.gen != p.gen || m.errno != 0:
		n.freePacket(p)
	case p.again:
		n.handleRepeated(p)
	case p.half:
		n.storeSecond(p)
	case p.n == 0:
		n.countLanded(p)
	case n.storePacket(p):
		n.countLanded(p)
	default: // the first of two pieces is stored, or the message has failed
		return !p.half
	}
	return true
}

// countRead counts a packet that was read from a socket. After the last packet that the message has
// in this direction it calls handleLanded.
func (n *Network) countRead(m *message, late Time) {
	m.unread--
	if n.announceEarly(m, m.unread); m.unread == 0 {
		n.handleLanded(m, late)
	}
}

// emptySocket drops the packets in the socket of an endpoint that has died.
func (e *endpoint) emptySocket() {
	for _, p := range e.socket[e.read:] {
		e.net.held -= p.held
		e.net.freePacket(p)
	}
	e.socket, e.read = nil, 0
}
