package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// These methods, besides the operations, implement loop.Poster for the consumer of rings. InnerLoop
// is in fastpath_unsafe.go.

// Limits returns the bounds for operations. Preconditions: the engine is connected.
func (e *Engine) Limits() call.Limits {
	return call.Limits{
		NPEs: len(e.ops.Peers), Internal: e.ops.Net.Segment.Internal, Size: e.ops.Net.Segment.Size, PutMax: e.PutMax(),
		Parts: e.gpu != nil, MergeMost: layout.MergeMost, MaxInject: uint64(e.MaxInject),
	}
}

// Unreachable returns why no message can be sent to a PE, or nil.
func (e *Engine) Unreachable(pe libshmem.PE) error {
	if e.ops.Net.Reachable(pe) {
		return nil
	}
	return e.ops.Net.Unreachable(pe)
}

// PeerStatus describes, as the end of a sentence of a report, this PE's progress with another one.
func (e *Engine) PeerStatus(pe libshmem.PE) string {
	e.Report.Probe(pe)
	return e.Report.PeerStatus(pe, true) // true: also if the PE replies and nothing waits for it
}

// Part returns how many of n bytes of a put or get can move as one operation. It is called only if
// Limits.Parts is set: a GPU's heap consists of parts that are registered separately.
func (e *Engine) Part(pe libshmem.PE, offset libshmem.Offset, local unsafe.Pointer, n uint64) uint64 {
	return e.gpu.Part(pe, offset, local, n)
}

// Stamp sets the time that the following events of the flight recorder get; 0: each event reads the
// clock.
func (e *Engine) Stamp(now uint64) { e.Tick = now }

// Completed returns the number of requests that have completed so far.
func (e *Engine) Completed() uint64 { return e.Finished }
