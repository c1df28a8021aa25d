package gpustage

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/pull"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Apply takes a message that has to keep its order with GPU memory, or that concerns bytes on their
// way. It returns false for any other message.
func (s *Stage) Apply(h *layout.Header, payload unsafe.Pointer, n int) bool {
	switch {
	case h.Kind <= layout.KindFlush:
		return s.arrivals.Apply(h, payload, n)
	case h.Kind == layout.KindRequestToSend:
		s.takeRequestToSend(h, payload, n)
	case h.Kind == layout.KindFinished:
		s.finished(h)
	case h.Kind == layout.KindFetch:
		s.takeFetch(h)
	case h.Kind == layout.KindData:
		s.gets.takeData(h, payload, n)
	case h.Kind == layout.KindExtent:
		s.heaps.Take(h)
	default:
		return false
	}
	return true
}

// takeRequestToSend begins to pull the bytes of a request to send.
func (s *Stage) takeRequestToSend(h *layout.Header, payload unsafe.Pointer, n int) {
	if n != layout.RequestToSendSize {
		s.engine.Malformed(h)
		return
	}
	var r layout.RequestToSend
	mem.Copy(unsafe.Pointer(&r), payload, n)
	if r.Get != 0 {
		s.gets.takeRequest(h, &r)
		return
	}
	at := s.engine.Target(h, h.Offset, r.N)
	if at == nil {
		return
	}
	s.heaps.Flush()
	s.pulls.Put(pull.Bytes{
		PE: fabric.PE(h.From), Remote: h.Operand, Key: h.Extra, N: r.N, Dest: at, Desc: s.heap.Desc,
		GPU: s.segment.Heap != nil && h.Offset >= 0, Token: h.Token,
	}, r.Fence)
	s.arrivals.Listen(h.From)
	s.pulls.Start()
}

// Landed comes when a read is complete, or has failed.
func (s *Stage) Landed(t fabric.Token, failed int32) { s.pulls.Landed(t, failed) }

// Get is Get if one of the two sides is GPU memory. Not ok: neither is.
func (s *Stage) Get(pe fabric.PE, offset int64, dest unsafe.Pointer, n uint64, r *call.Request) (st call.Status, ok bool) {
	l := &s.lines[pe]
	if err := s.engine.Lost(pe); err != nil {
		return s.engine.Fail(err), true
	}
	gpu := s.Holds(dest, n)
	far := l.device && offset >= 0
	if far && l.mapped != nil {
		return s.copyGet(pe, offset, dest, n, gpu, r), true
	}
	if s.reaches(pe, offset, far, dest, n, gpu) {
		return 0, false
	}
	if st := s.engine.Ready(pe, n); st != call.Done {
		return st, true
	}
	return s.gets.begin(pe, offset, dest, n, gpu, far && s.heaps.Find(pe, offset, n) == nil, r), true
}
