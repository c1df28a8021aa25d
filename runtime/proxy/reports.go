package proxy

import (
	"libshmem"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/layout"
)

// These methods implement reportEngine, through which a Report reads from its engine.

// forEachPeerTable calls f with the peers of each context: every context counts its own operations.
func (e *Engine) forEachPeerTable(f func(peers []layout.Peer)) {
	e.forEachContext(func(s *Engine) { f(s.ops.Peers) })
}

// fillWork fills in the work that each stream of the GPU has not carried out.
func (e *Engine) fillWork(to *[backlog.Streams]backlog.Shown) {
	if e.gpu != nil {
		e.gpu.Show(to)
	}
}

// requestProgress sends a PE a flush, to which it replies when it has applied all messages. It
// returns false if the PE is out of reach, or the flush could not be posted.
func (e *Engine) requestProgress(pe libshmem.PE) bool {
	return e.out.Reaches(&e.ops.Peers[pe], pe) && e.out.Flush(pe) == Pending
}

// address returns the fabric address of a PE.
func (e *Engine) address(pe libshmem.PE) []byte { return e.ops.Net.Address(pe) }
