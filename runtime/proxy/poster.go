package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
)

// What the consumer of rings asks of an engine besides its operations (loop.Poster). Lane is in
// fastpath_unsafe.go.

// Limits are what bounds the operations that the engine takes, once it is connected.
func (e *Engine) Limits() call.Limits {
	return call.Limits{
		NPEs: len(e.peers), Internal: e.segment.Internal, Size: e.segment.Size, PutMax: e.PutMax(), MaxInject: uint64(e.MaxInject),
	}
}

// Route says why nothing can be sent to a PE; nil: it can.
func (e *Engine) Route(pe fabric.PE) error {
	if e.has(pe) {
		return nil
	}
	return e.noRoute(pe)
}

// Stamp sets the time of the events that follow; 0: each looks at the clock.
func (e *Engine) Stamp(now uint64) { e.Tick = now }

// Completed counts the requests that are done.
func (e *Engine) Completed() uint64 { return e.Finished }
