package sim

import "libshmem/fabric/faults"

// With Model.Retries an end has only the receive buffers that its caller posts: a message that finds
// none goes back to its sender, which sends it again after a while, for as long as it takes. Which
// of several messages is the first to find a buffer is chance.

// turnAway sends a message back to its sender because there is no receive buffer.
func (e *end) turnAway(m *message) {
	n := e.net
	n.held -= m.n
	n.turnedAway++
	e.away = append(e.away, m)
	n.note(didTurnAway, e, m.from, uint64(m.kind), m.index)
	e.retry()
}

// retry has senders send messages again that were turned away, as many as there are receive buffers.
func (e *end) retry() {
	n := e.net
	for e.retrying < len(e.recvs) && len(e.away) > 0 {
		e.turns++
		d := faults.Throw(n.seed, e.addr.number(), faults.ForRetry, e.turns)
		i := int(d.Number(faults.ForRetry) % uint64(len(e.away)))
		m := e.away[i]
		e.away = append(e.away[:i], e.away[i+1:]...)
		e.retrying++
		m.again = true
		n.plan(actRetry, n.now+n.latency(m.from, e)+d.UpTo(faults.ForDelay, n.model.Delay), m, nil)
	}
}

// tryAgain handles a message that was turned away before and is at its target once more.
func (n *Network) tryAgain(m *message) {
	e := m.to
	m.again = false
	e.retrying--
	if e.closed {
		return // die has failed the message
	}
	if m.from.nic.down || e.nic.down {
		n.doom(m, errTimedOut, "the peer's NIC does not answer")
		e.retry()
		return
	}
	n.held += m.n
	n.heldMost = max(n.heldMost, n.held)
	if e.accept(m) {
		n.acknowledge(m)
	} else {
		e.turnAway(m)
	}
	e.retry()
}

// letGo forgets a message whose sender has died, if this end has turned it away. It reports whether
// it had.
func (e *end) letGo(m *message) bool {
	if m.again {
		m.again = false
		e.retrying--
		e.retry()
		return true
	}
	for i, other := range e.away {
		if other == m {
			e.away = append(e.away[:i], e.away[i+1:]...)
			return true
		}
	}
	return false
}
