package sim

import "libshmem/fabric"

// handleLanded goes on with a message all of whose packets have landed in one direction: it
// completes the operation, sends the reply, or delivers the message to the target.
func (n *Network) handleLanded(m *message, late Time) {
	n.note(didDeliver, m.to, m.from, uint64(m.kind), m.index)
	if m.reply {
		if m.kind == fabric.KindAtomic && m.op.Fetches() {
			storeWord(m.local, m.width, m.old)
			n.noteChange(m.from)
		}
		n.complete(m, late)
		n.release(m)
		return
	}
	m.delivered = true
	switch m.kind {
	case fabric.KindRead:
		n.sendReply(m, n.packetsOf(m.n))
	case fabric.KindAtomic:
		n.operate(m)
	case fabric.KindWrite:
		if n.model.Broken == Spills {
			if at := m.to.target(m, m.n); at != nil {
				store(at, []byte{0xb5})
			}
		}
		m.pair.markLanded(m)
		if m.notify && !m.early {
			m.to.inbox = append(m.to.inbox, m)
			m.to.match()
			return
		}
		n.acknowledge(m)
	case fabric.KindSend:
		m.pair.markLanded(m)
		if n.defect(Forgets, m) {
			n.acknowledge(m)
			return
		}
		n.held += m.n
		n.peakHeld = max(n.peakHeld, n.held)
		if n.model.Retries {
			if m.to.accept(m) {
				n.acknowledge(m)
			} else {
				m.to.returnToSender(m)
			}
			return
		}
		m.to.inbox = append(m.to.inbox, m)
		m.to.match()
	}
}

// sendReply sends the reply to a Read or an atomic operation in a number of packets.
func (n *Network) sendReply(m *message, packets int) {
	m.reply = true
	m.begin(packets)
	n.plan(actLeave, max(n.now, m.to.nic.sendFree), m, nil)
}

// operate performs an atomic operation at its target, and sends the reply. The defect Torn then
// stores the word's old value again, as a second operation would that is not atomic with this one.
func (n *Network) operate(m *message) {
	at := m.to.target(m, 0)
	if at == nil {
		n.failNoRegion(m)
		return
	}
	n.note(didAtomic, m.to, m.from, uint64(m.op), m.operand)
	m.old = apply(m.op, at, m.width, m.operand, m.compare)
	if n.defect(Torn, m) {
		apply(fabric.OpSet, at, m.width, m.old, 0)
	}
	n.noteChange(m.to)
	n.sendReply(m, 1)
}

// acknowledge plans the target's acknowledgement of a message that has been delivered, unless the
// sender's completion is planned already or the operation has none.
func (n *Network) acknowledge(m *message) {
	if m.completed || m.inject {
		n.release(m)
		return
	}
	m.pair.replies++
	outcome := n.model.OutcomeOf(n.seed, m.to.addr.number(), m.from.addr.number(), m.pair.replies)
	n.plan(actAcknowledged, n.now+n.latency(m.to, m.from)+outcome.Delay+outcome.Late, m, nil)
}

// handleAcknowledgement completes an operation when the acknowledgement is at its sender. If the
// link of either NIC is down, the acknowledgement is lost, and the operation fails although it was
// done.
func (n *Network) handleAcknowledgement(m *message) {
	if m.from.nic.down || m.to.nic.down {
		n.planFailure(m, errTimedOut, "the peer's NIC does not acknowledge")
		return
	}
	n.complete(m, 0)
	n.release(m)
}

// match puts the completions of messages and Writes with data that have arrived into the queue, in
// the order of their arrival. It stops at one that needs a receive buffer if there is none, and if
// the queue is full and must not lose completions (Model.Backlog).
func (e *endpoint) match() {
	n := e.net
	for e.inHead < len(e.inbox) {
		m := e.inbox[e.inHead]
		if n.model.Backlog && e.pending() >= e.capacity || !e.accept(m) {
			break
		}
		e.inbox[e.inHead] = nil
		e.inHead++
		n.acknowledge(m)
	}
	e.inbox, e.inHead = compact(e.inbox, e.inHead)
}

// accept puts the target's completion of a message, or of a Write with data, into the queue. It
// returns false if the completion needs a receive buffer and there is none.
func (e *endpoint) accept(m *message) bool {
	n := e.net
	send := m.kind == fabric.KindSend
	var at buffer
	if send || e.caps.DataTakesRecv {
		if len(e.recvs) == 0 {
			return false
		}
		at = e.recvs[0]
		e.recvs = e.recvs[:copy(e.recvs, e.recvs[1:])]
	}
	// For the delay of the completion. The complement of the index is no packet's number.
	outcome := n.model.OutcomeOf(n.seed, m.from.addr.number(), m.to.addr.number(), ^m.index)
	if !send {
		c := m.announce()
		if e.caps.DataTakesRecv {
			c.Token = at.token
		}
		if n.model.Caps.WriteAfterWrite || n.model.Backlog {
			outcome.Late = 0
		}
		n.completeLater(e, c, outcome.Late)
		return true
	}
	n.held -= m.n
	k := min(m.n, at.n)
	if k > 0 {
		store(at.at, m.received[:k])
	}
	c := fabric.Completion{Token: at.token, Kind: fabric.KindRecv, Len: uint64(k)}
	if k < m.n {
		c.Err = errTruncated
		e.reasons[at.token] = "the message is longer than the buffer"
	}
	if n.model.Caps.SendAfterSend {
		outcome.Late = 0
	}
	n.completeLater(e, c, outcome.Late)
	return true
}

// compact frees the space of entries that were removed at the head of a list, when at least half of
// a long list is free, so that it copies seldom.
func compact[T any](list []T, head int) ([]T, int) {
	switch {
	case head == len(list):
		return list[:0], 0
	case head >= 1024 && 2*head > len(list):
		return list[:copy(list, list[head:])], 0
	}
	return list, head
}
