package sim

// A caller with a schedule of its own may drive the clock in place of Poll. With Manual no Poll
// handles an event; the caller gets the time of the Next event, calls RunTo with it or an earlier
// time of its own, and polls the endpoints at which something has arrived.

// Next returns the time of the next event, and false if nothing is planned.
func (n *Network) Next() (Time, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.agenda.list) == 0 {
		return 0, false
	}
	return max(n.now, n.agenda.list[0].at), true
}

// RunTo handles all events up to a time and moves the clock to it. The clock never goes back.
func (n *Network) RunTo(t Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.agenda.list) > 0 && n.agenda.list[0].at <= t {
		n.handle(n.agenda.next())
	}
	n.now = max(n.now, t)
}

// OnWork sets a function that is called when an endpoint has work for a Poll: a completion, bytes
// in its socket, or a handshake. The endpoints are numbered in the order of Open. The function must
// not call the network.
func (n *Network) OnWork(f func(endpoint int)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.arrived = f
}
