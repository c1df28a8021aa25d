package proxy

import (
	"libshmem"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/layout"
)

// forReports is an engine as its report.Endpoint sees it (report.Engine).
type forReports struct{ e *Engine }

func (r forReports) EachContext(f func(peers []layout.Peer)) {
	r.e.all(func(s *Engine) { f(s.ops.Peers) })
}

func (r forReports) Registered() mrcache.Counts { return r.e.ops.Net.Locals.Counts() }

func (r forReports) ShowWork(to *[backlog.Streams]backlog.Shown) {
	if r.e.gpu != nil {
		r.e.gpu.Show(to)
	}
}

func (r forReports) AskProgress(pe libshmem.PE) bool {
	return r.e.out.Routed(&r.e.ops.Peers[pe], pe) && r.e.out.Flush(pe) == Pending
}

func (r forReports) Address(pe libshmem.PE) []byte { return r.e.ops.Net.Address(pe) }
