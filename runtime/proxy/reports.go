package proxy

import (
	"libshmem"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/layout"
)

// The engine answers its report by these methods: see reportEngine.

func (e *Engine) eachContext(f func(peers []layout.Peer)) {
	e.all(func(s *Engine) { f(s.ops.Peers) })
}

func (e *Engine) showWork(to *[backlog.Streams]backlog.Shown) {
	if e.gpu != nil {
		e.gpu.Show(to)
	}
}

func (e *Engine) requestProgress(pe libshmem.PE) bool {
	return e.out.Reaches(&e.ops.Peers[pe], pe) && e.out.Flush(pe) == Pending
}

func (e *Engine) address(pe libshmem.PE) []byte { return e.ops.Net.Address(pe) }
