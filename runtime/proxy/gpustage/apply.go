package gpustage

import (
	"unsafe"

	"libshmem/runtime/proxy/layout"
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
		s.takeData(h, payload, n)
	case h.Kind == layout.KindExtent:
		s.heaps.Take(h)
	default:
		return false
	}
	return true
}
