package sim

import "libshmem/fabric/faults"

// With Model.Retries an endpoint has only the receive buffers that its caller posts. A message that
// finds none goes back to its sender (receiver not ready), which sends it again after a while,
// until it finds one. Which of several messages is the first to find a buffer is chance.

// returnToSender lists a message for which no receive buffer is posted in e.notReady. Its sender
// sends it again when buffers are posted (retry).
func (e *endpoint) returnToSender(m *message) {
	n := e.net
	n.held -= m.n
	n.notReadyCount++
	e.notReady = append(e.notReady, m)
	n.note(didNotReady, e, m.from, uint64(m.kind), m.index)
	e.retry()
}

// retry lets senders send messages again that found no receive buffer, in random order: at most one
// for each receive buffer that is posted now.
func (e *endpoint) retry() {
	n := e.net
	for e.retrying < len(e.recvs) && len(e.notReady) > 0 {
		e.retries++
		d := faults.Throw(n.seed, e.addr.number(), faults.ForRetry, e.retries)
		i := int(d.Number(faults.ForRetry) % uint64(len(e.notReady)))
		m := e.notReady[i]
		e.notReady = append(e.notReady[:i], e.notReady[i+1:]...)
		e.retrying++
		m.again = true
		n.plan(actRetry, n.now+n.latency(m.from, e)+d.UpTo(faults.ForDelay, n.model.Delay), m, nil)
	}
}

// tryAgain handles a message that found no receive buffer before and is at its target once more.
func (n *Network) tryAgain(m *message) {
	e := m.to
	m.again = false
	e.retrying--
	if e.closed {
		return // die has planned the failure of the message
	}
	if m.from.nic.down || e.nic.down {
		n.planFailure(m, errTimedOut, "the peer's NIC does not answer")
		e.retry()
		return
	}
	n.held += m.n
	n.peakHeld = max(n.peakHeld, n.held)
	if e.accept(m) {
		n.acknowledge(m)
	} else {
		e.returnToSender(m)
	}
	e.retry()
}

// forgetNotReady forgets a message whose sender has died, if the message went back to its sender
// because this endpoint had no receive buffer. It reports whether that was so.
func (e *endpoint) forgetNotReady(m *message) bool {
	if m.again {
		m.again = false
		e.retrying--
		e.retry()
		return true
	}
	for i, other := range e.notReady {
		if other == m {
			e.notReady = append(e.notReady[:i], e.notReady[i+1:]...)
			return true
		}
	}
	return false
}
