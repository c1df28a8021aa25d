package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// Two limits bound the one-sided writes that a PE has not answered. One is for their bytes, if
// completions do not say that the bytes have arrived. The other is for their number, if they have
// numbers (window.go). At half of either limit the engine asks for an answer. At the whole, writes
// wait for it in the queue of the PE, or go without a number.

// Full reports, after Again, that no PE has room: the endpoint has no token left until Poll frees
// one. If it is false, only the operation's PE has no room, and operations on other PEs may be
// posted.
func (e *Engine) Full() bool { return e.Table.Full() }

// admit returns whether a caller may send p a message of n bytes. It asks for an answer when p owes
// answers for half of its units.
func (e *Engine) admit(pe fabric.PE, p *layout.Peer, n int) Status {
	if p.Asked-p.Acked < uint64(e.Calm) {
		return Done
	}
	return e.admitLate(pe, p, n)
}

func (e *Engine) admitLate(pe fabric.PE, p *layout.Peer, n int) Status {
	switch st := e.flush(pe); {
	case st == Failed:
		return Failed
	case p.Asked-p.Acked+e.Cost(n) > uint64(e.Window):
		e.NoCredit(pe, p)
		return Again
	}
	return Done
}
