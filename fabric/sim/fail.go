package sim

import (
	"fmt"
	"slices"

	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/runtime/shmerr"
)

// Errors of completions, as libfabric numbers them.
const (
	errIO          = 5
	errDenied      = 13
	errReset       = 104
	errStranger    = 107
	errTimedOut    = 110
	errUnreachable = 113
	errTruncated   = 265
	errOverrun     = 268
)

// errorText has the text of each error, as libfabric's.
var errorText = map[int32]string{
	errIO: "Input/output error", errDenied: "Permission denied", errReset: "Connection reset by peer", errTimedOut: "Connection timed out",
	errStranger:    "Transport endpoint is not connected",
	errUnreachable: "No route to host", errTruncated: "Truncation error", errOverrun: "Queue has been overrun",
}

// Plan adds a fault that the network suffers at its time.
func (n *Network) Plan(f faults.Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, f)
	n.add(event{at: max(f.At, n.now), do: actFault, comp: fabric.Completion{Token: fabric.Token(len(n.faults) - 1)}})
}

// applyFault makes fault i of those that Plan has added happen now: a host ends, or the link of a
// NIC goes down or comes up. i is a Token because the event has it in its completion.
func (n *Network) applyFault(i fabric.Token) {
	f := n.faults[i]
	if f.NIC < 0 {
		n.kill(f.Host)
		return
	}
	n.link(f.Host, f.NIC, f.Up)
}

// Kill ends all endpoints of a host, as the death of their process would.
func (n *Network) Kill(hostNumber int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kill(hostNumber)
}

// kill ends all endpoints of a host. The caller holds n.mu.
func (n *Network) kill(hostNumber int) {
	for _, e := range n.host(hostNumber).ports {
		if e != nil {
			e.die()
		}
	}
}

// Link takes the link of NIC i of a host down, or brings it up.
func (n *Network) Link(hostNumber, i int, up bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h := n.host(hostNumber); i < 0 || i >= len(h.nics) {
		return &shmerr.Error{Op: "change", Object: nicName(i), Cause: shmerr.Causef(shmerr.ErrArgument, "host %d has %d NICs", hostNumber, len(h.nics))}
	}
	n.link(hostNumber, i, up)
	return nil
}

// link takes the link of NIC i of a host down, or brings it up. The caller holds n.mu, and has
// checked that the host has a NIC i.
func (n *Network) link(hostNumber, i int, up bool) {
	state := uint64(0)
	if up {
		state = 1
	}
	n.note(didNIC, nil, nil, uint64(hostNumber)<<32|uint64(i), state)
	n.host(hostNumber).nics[i].down = !up
}

// die drops everything of an endpoint and plans the failure of the operations of other endpoints on
// it. Its address is free from now on.
func (e *endpoint) die() {
	if e.closed {
		return
	}
	n := e.net
	n.note(didClose, e, nil, 0, 0)
	e.closed = true
	n.hosts[e.addr.host].ports[e.addr.port] = nil
	if n.model.Broken != Undead {
		e.regions = nil
	}
	e.recvs, e.queue, e.head = nil, nil, 0
	for _, m := range e.inbox[e.inHead:] {
		n.unhold(m)
	}
	e.inbox, e.inHead = nil, 0
	e.handshakes, e.notReady = nil, nil
	e.emptySocket()
	for _, other := range n.endpoints {
		for _, m := range other.live {
			if m.to == e && other != e && n.model.Broken != Undead && n.model.Broken != Haunts {
				n.planFailure(m, errReset, "the peer is gone")
			}
		}
	}
	for len(e.live) > 0 {
		m := e.live[len(e.live)-1]
		if m.to != nil {
			m.to.forget(m)
		}
		n.retire(m)
	}
}

// forget drops a message that waits at this endpoint for a receive buffer and whose sender has
// died.
func (e *endpoint) forget(m *message) {
	if e.forgetNotReady(m) {
		return
	}
	for i, other := range e.inbox {
		if other == m && i >= e.inHead {
			e.net.unhold(m)
			e.inbox = append(e.inbox[:i], e.inbox[i+1:]...)
			return
		}
	}
}

// unhold subtracts a message from the bytes that wait at targets (Waiting).
func (n *Network) unhold(m *message) {
	if m.kind == fabric.KindSend {
		n.held -= m.n
	}
}

// planFailure plans the failure, after Model.Detect, of a message whose target cannot be reached.
func (n *Network) planFailure(m *message, errno int32, reason string) {
	if m.errno == 0 {
		m.errno, m.reason = errno, reason
		n.plan(actFail, n.now+n.model.Detect, m, nil)
	}
}

// failNoRegion plans the failure of an operation whose target has not registered the memory that
// the operation's key and address name.
func (n *Network) failNoRegion(m *message) {
	if m.errno == 0 {
		m.errno, m.reason = errDenied, fmt.Sprintf("no region of the peer has the key and %d bytes there", m.n)
		n.plan(actFail, n.now+n.model.Latency, m, nil)
	}
}

// knowsSender reports whether the target of a Write or Read has the sender among its peers. It
// returns true if the model does not require that.
func (n *Network) knowsSender(m *message, to *endpoint) bool {
	p := m.pair
	if !n.model.Strangers && !p.listed {
		p.listed = slices.ContainsFunc(to.peers, func(q peer) bool { return q.hasAddress && q.addr == m.from.addr })
	}
	return n.model.Strangers || p.listed
}

// failStranger plans the failure of an operation whose target does not have the sender among its
// peers.
func (n *Network) failStranger(m *message) {
	if m.errno == 0 {
		m.errno, m.reason = errStranger, "the peer does not have this end among its own"
		n.plan(actFail, n.now+n.model.Latency, m, nil)
	}
}

// fail completes a message with an error. An operation without a token has no completion: if its
// target has not registered the memory (errDenied), Poll fails instead.
func (n *Network) fail(m *message, errno int32, reason string) {
	e, p := m.from, m.pair
	n.note(didFail, e, m.to, uint64(m.token), uint64(errno))
	switch {
	case !m.completed && !m.inject:
		m.completed = true
		e.reasons[m.token] = reason
		e.complete(fabric.Completion{Token: m.token, Kind: m.kind, Err: errno})
	case errno == errDenied:
		e.fatal = fmt.Errorf("an operation without a token failed: %s (sim says: %s)", errorText[errno], reason)
	}
	if errno != errDenied && p.peer.pair == p {
		// Operations posted from now on contact the peer anew.
		p.peer.pair = nil
		p.peer.gone = p.peer.gone || !n.model.Reconnects && (p.to == nil || p.to.closed)
	}
	if !m.delivered {
		p.markLanded(m)
	}
	n.release(m)
}
