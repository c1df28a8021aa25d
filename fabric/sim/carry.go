package sim

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
)

// endpoints returns the source and the destination of a message's packets: of the packets to the
// target or, if reply is set, of the packets of the reply.
func (m *message) endpoints(reply bool) (from, to *endpoint) {
	if reply {
		return m.to, m.from
	}
	return m.from, m.to
}

// bytes returns the number of bytes of a message that travel in the present direction: to the
// target, or back in the reply. A Read has them only in the reply. The words of an atomic operation
// count as a part of the header, so it has none.
func (m *message) bytes() int {
	if (m.kind == fabric.KindRead) != m.reply || m.kind == fabric.KindAtomic {
		return 0
	}
	return m.n
}

// wire returns the time for which a packet of `bytes` bytes occupies the wire of NIC 0.
func (n *Network) wire(bytes int) Time {
	if n.model.Bandwidth == 0 {
		return 0
	}
	return Time(uint64(bytes+n.model.Header) * 8e9 / n.model.Bandwidth) // bits / (bits/s), in ns
}

// sendPacket sends the next packet of a message when the NIC is free, and plans its arrival after
// the time on the wire and the faults that the model draws for it. It reads the packet's bytes from
// the source now, as a NIC does; so a source that changes too early is noticed.
func (n *Network) sendPacket(m *message) {
	from, to := m.endpoints(m.reply)
	if from.closed {
		n.planFailure(m, errReset, "the peer is gone")
		return
	}
	p := n.newPacket()
	offset := m.sent * n.model.MTU
	p.m, p.gen, p.number, p.reply = m, m.gen, m.sent, m.reply
	p.n = min(n.model.MTU, m.bytes()-offset)
	switch {
	case p.n <= 0:
		p.n = 0
	case m.inject:
		p.data = append(p.data, m.payload[offset:offset+p.n]...)
	case m.reply:
		at := from.target(m, offset)
		if at == nil {
			n.freePacket(p)
			n.failNoRegion(m)
			return
		}
		p.data = load(p.data, at, p.n)
	default:
		p.data = load(p.data, unsafe.Add(m.local, offset), p.n)
	}
	number := &m.pair.packets
	if m.reply {
		number = &m.pair.replies
	}
	*number++
	p.outcome = n.model.OutcomeOf(n.seed, from.addr.number(), to.addr.number(), *number)
	from.nic.sendFree = max(n.now, from.nic.sendFree) + n.wire(p.n)*from.nic.slow
	from.nic.Out += uint64(p.n + n.model.Header)
	n.note(didLeave, from, to, uint64(m.kind), m.index<<32|uint64(p.number))
	at := from.nic.sendFree + n.latency(from, to) + p.outcome.Delay
	if p.outcome.Again > 0 {
		twin := n.newPacket()
		data := append(twin.data, p.data...)
		*twin = *p
		twin.data, twin.again, twin.outcome.Second = data, true, 0
		n.plan(actArrive, at+p.outcome.Again, m, twin)
	}
	late := p.outcome.Late
	if from.nic.down {
		n.freePacket(p)
		n.planFailure(m, errIO, "the NIC has no link")
	} else {
		n.plan(actArrive, at, m, p)
	}
	if m.sent++; m.sent < n.packetsOf(m.bytes()) {
		n.plan(actLeave, from.nic.sendFree, m, nil)
		return
	}
	if !m.reply && n.completesEarly(m) {
		n.complete(m, late)
	}
}

// latency returns the time that a packet travels between the NICs of two endpoints. A slow NIC is
// slower by a factor, and another rail is farther away (Cross).
func (n *Network) latency(from, to *endpoint) Time {
	one := n.model.Latency * max(from.nic.slow, to.nic.slow)
	if from.nic.rail != to.nic.rail {
		return one + n.model.Cross
	}
	return one
}

// completesEarly reports whether an operation completes for its sender when its last packet leaves,
// because the provider does not promise that a completion means more than that the source may be
// reused.
func (n *Network) completesEarly(m *message) bool {
	switch m.kind {
	case fabric.KindSend:
		return !m.from.caps.SendComplete
	case fabric.KindWrite:
		return !m.from.caps.DeliveryComplete || n.model.Broken == EarlyDelivery
	}
	return false
}

// complete puts the completion of an operation into its sender's queue after the time late. An
// injected operation has none. With the defect Twice a completion arrives twice.
func (n *Network) complete(m *message, late Time) {
	if m.completed {
		return
	}
	m.completed = true
	if m.inject {
		return
	}
	c := fabric.Completion{Token: m.token, Kind: m.kind, Len: uint64(m.n)}
	n.completeLater(m.from, c, late)
	if n.defect(Twice, m) {
		n.completeLater(m.from, c, late+1)
	}
}

// completeLater puts a completion into the queue of an endpoint after the time late; 0: now.
func (n *Network) completeLater(e *endpoint, c fabric.Completion, late Time) {
	if late == 0 {
		e.complete(c)
		return
	}
	n.add(event{at: n.now + late, do: actComplete, e: e, comp: c})
}

// arrive handles a packet that has reached the NIC of its target. The NIC receives packets one by
// one, so the packet lands when the NIC has received the earlier ones. With the defect Haunts a
// packet for a closed endpoint reaches the endpoint that now has the address.
func (n *Network) arrive(p *packet) {
	m := p.m
	from, to := m.endpoints(p.reply)
	if to.closed && n.model.Broken == Haunts {
		if heir := n.at(to.addr); heir != nil && !p.reply {
			m.to, to = heir, heir
		}
	}
	if to.nic.down {
		n.freePacket(p)
		n.planFailure(m, errTimedOut, "the peer's NIC does not answer")
		return
	}
	n.note(didArrive, to, from, uint64(m.kind), m.index<<32|uint64(p.number))
	to.nic.In += uint64(p.n + n.model.Header)
	busy := to.nic.recvFree
	to.nic.recvFree = max(n.now, busy) + n.wire(p.n)*to.nic.slow
	if busy > n.now {
		n.plan(actLand, busy, m, p)
		return
	}
	n.land(p)
}

// hasLanded reports whether a packet of a message has landed.
func (m *message) hasLanded(number int) bool { return m.landed[number/64]>>(number%64)&1 != 0 }

// mark records that a packet of a message has landed.
func (m *message) mark(number int) {
	m.landed[number/64] |= 1 << (number % 64)
	m.missing--
}

// land stores a packet in memory or in the socket of its target, or holds it back if the provider
// promises that others land first. A packet that has landed already is a repetition. A packet for a
// closed endpoint, or from one that the target does not know, fails its operation. A packet is
// dropped if its operation has failed, or if it goes to the target and the reply is under way.
func (n *Network) land(p *packet) {
	m := p.m
	from, to := m.endpoints(p.reply)
	switch {
	case to.closed && n.model.Broken != Undead:
		n.freePacket(p)
		n.planFailure(m, errReset, "the peer is gone")
		return
	case m.errno != 0 || p.reply != m.reply:
		n.freePacket(p)
		return
	case m.hasLanded(p.number):
		n.handleRepeated(p)
		return
	case !p.reply && !m.pair.ready(p):
		n.note(didHold, to, from, uint64(m.kind), m.index)
		m.pair.held = append(m.pair.held, p)
		return
	}
	if !p.reply && m.kind != fabric.KindSend && !n.knowsSender(m, to) {
		n.freePacket(p)
		n.failStranger(m)
		return
	}
	if n.goesToSocket(p, to) {
		to.enqueuePacket(p)
		return
	}
	if p.n > 0 && !n.storePacket(p) {
		return
	}
	n.countLanded(p)
}

// handleRepeated handles a packet that has arrived before. It stores the bytes of a Write again as
// long as the Write is not complete, because a real provider may do that; with sockets, the Poll
// that reads the packet does. The defect Repeats delivers a message once more.
func (n *Network) handleRepeated(p *packet) {
	m := p.m
	switch {
	case m.kind == fabric.KindWrite && !p.reply && !m.delivered && p.n > 0:
		if n.model.PollBytes > 0 && !p.queued && !m.to.closed {
			m.to.enqueuePacket(p)
			return
		}
		if at := m.to.target(m, p.number*n.model.MTU); at != nil {
			store(at, p.data)
			n.noteChange(m.to)
		}
	case n.model.Broken == Repeats && m.kind == fabric.KindSend && m.delivered:
		n.held += m.n
		if !m.to.accept(m) {
			n.held -= m.n
		}
	}
	n.freePacket(p)
}

// storePacket stores the bytes of a packet in memory. It returns false if the message has failed,
// or if it has stored only the first of two pieces. The second piece of a packet from a socket is
// stored at the next Poll.
func (n *Network) storePacket(p *packet) bool {
	m := p.m
	offset := p.number * n.model.MTU
	if m.kind == fabric.KindSend {
		if len(m.received) < m.n {
			m.received = append(m.received[:0], make([]byte, m.n)...)
		}
		copy(m.received[offset:], p.data)
		return true
	}
	at := n.destination(p)
	if at == nil {
		n.freePacket(p)
		n.failNoRegion(m)
		return false
	}
	if p.outcome.Second == 0 || p.n < 2 {
		store(at, p.data)
		n.noteChange(n.owner(p))
		return true
	}
	block := n.model.Caps.Block
	if p.reply && block < ascendingBytes {
		// Only Writes have this promise. The address of the caller's buffer may differ between
		// runs, so nothing may depend on it.
		block = 0
	}
	cut, ascending := p.cutAt(at, block, block > 0 || n.model.Caps.WriteAfterWrite)
	if cut == 0 {
		store(at, p.data)
		n.noteChange(n.owner(p))
		return true
	}
	first, second := [2]int{0, cut}, [2]int{cut, p.n}
	if p.outcome.Upper && !ascending {
		first, second = second, first
	}
	store(unsafe.Add(at, first[0]), p.data[first[0]:first[1]])
	n.noteChange(n.owner(p))
	// The random number has been used: Cut now has the bounds of the second piece, for storeSecond.
	p.outcome.Cut = uint64(second[0])<<32 | uint64(second[1])
	if p.half = true; !p.queued {
		n.plan(actSecond, n.now+p.outcome.Second, m, p)
	}
	return false
}

// cutAt returns the offset at which a packet's bytes are cut in two, 0 if they are not cut, and
// whether the lower piece must become visible first, because the cut is inside a block whose bytes
// are promised to be visible by ascending address (Caps.Block). With words it moves the cut to an
// aligned word: if a word could be torn, a promised order of Writes would be of little use.
func (p *packet) cutAt(at unsafe.Pointer, block int, words bool) (cut int, ascending bool) {
	cut = 1 + int(p.outcome.Cut%uint64(p.n-1))
	if words {
		cut = max(0, cut-int((uint64(uintptr(at))+uint64(cut))%8))
	}
	return cut, block > 0 && (uint64(uintptr(at))+uint64(cut))%uint64(block) != 0
}

// owner returns the endpoint in whose memory a packet is stored.
func (n *Network) owner(p *packet) *endpoint {
	_, to := p.m.endpoints(p.reply)
	return to
}

// destination returns where the bytes of a packet of a one-sided operation go: for a read, whose
// bytes are in the reply, to the initiator. It returns nil if the target has no such memory.
func (n *Network) destination(p *packet) unsafe.Pointer {
	offset := p.number * n.model.MTU
	if p.reply {
		return unsafe.Add(p.m.local, offset)
	}
	return p.m.to.target(p.m, offset)
}

// storeSecond stores the second piece of a packet in memory. The fault Split stores a packet in two
// pieces, at different times, so that a reader may see only one.
func (n *Network) storeSecond(p *packet) {
	m := p.m
	to := n.owner(p)
	if to.closed {
		n.freePacket(p)
		n.planFailure(m, errReset, "the peer is gone")
		return
	}
	at := n.destination(p)
	if at == nil {
		n.freePacket(p)
		n.failNoRegion(m)
		return
	}
	from, till := int(p.outcome.Cut>>32), int(uint32(p.outcome.Cut))
	store(unsafe.Add(at, from), p.data[from:till])
	n.noteChange(to)
	n.countLanded(p)
}

// noteChange is called when memory of an endpoint has changed: it wakes a Wait, and tells a test
// which host it is.
func (n *Network) noteChange(e *endpoint) {
	e.endWait()
	n.note(didLand, e, nil, 0, 0)
	if n.landed != nil {
		n.landed(int(e.addr.host))
	}
}

// countLanded counts a packet whose bytes are in memory. Once all packets that the message has in
// this direction are there, it calls handleLanded, which completes the operation, sends the reply,
// or delivers the message. A packet from a socket was counted when it was queued, and now counts as
// read.
func (n *Network) countLanded(p *packet) {
	m := p.m
	late := p.outcome.Late
	if p.queued {
		n.freePacket(p)
		n.countRead(m, late)
		return
	}
	if m.hasLanded(p.number) { // the packet and its repetition were both in two pieces
		n.freePacket(p)
		return
	}
	m.mark(p.number)
	n.freePacket(p)
	n.announceEarly(m, m.missing)
	switch {
	case m.missing == 0:
		n.handleLanded(m, late)
	case n.model.Caps.Block >= ascendingBytes && len(m.pair.held) > 0:
		m.pair.retry(m)
	}
}

// announceEarly breaks the promise of EarlyData: the target of a Write with data gets its
// completion while packets are missing.
func (n *Network) announceEarly(m *message, missing int) {
	if n.model.Broken == EarlyData && m.notify && !m.early && missing > 0 {
		m.early = true
		n.completeLater(m.to, m.announce(), 0)
	}
}

// announce returns the completion that the target of a write with immediate data gets. It has the
// PE of the initiator if the provider reports sources.
func (m *message) announce() fabric.Completion {
	c := fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindData, Data: m.data}
	c.SetFrom(libshmem.NoPE)
	if m.to.caps.Source {
		for pe := range m.to.peers {
			if m.to.peers[pe].addr == m.from.addr {
				c.SetFrom(libshmem.PE(pe))
				break
			}
		}
	}
	return c
}
