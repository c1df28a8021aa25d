package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/flight"
)

// Flight lists the last events with a PE, and those of the proxy meanwhile, oldest first. The
// lock is held.
func (e *Engine) Flight(pe fabric.PE) []flight.Recorded { return e.recorder.Events(pe) }

// Latest names the PEs whose recorder an onlooker wants to see, n at most: first those with
// something under way, of these and of the others the one with the latest event first. The
// lock is held.
func (e *Engine) Latest(n int) []fabric.PE { return e.recorder.Latest(n, e.busyWith) }

// busyWith tells whether something is under way with a PE.
func (e *Engine) busyWith(pe fabric.PE) (busy bool) {
	e.all(func(s *Engine) {
		p := &s.peers[pe]
		busy = busy || p.Tokens > 0 || p.Parked > 0 || p.Early > 0 || p.Queued > 0 || p.Flushing
	})
	return busy
}
