package proxy

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
)

// A program may end without finalize, and its process with it. Messages that this process still has
// would then be lost: those that it could not post yet, and those in a provider's queue. Only the
// bytes in the kernel's sockets are still sent. So a PE whose program ends sends a flush, like a
// quiet, to each PE with which it has exchanged messages; the flush says that the PE leaves. Its
// process serves the network until all have replied, or have left, too.
//
// A PE that has left needs nothing from others, and no PE waits for its replies from then on:
// neither quiets nor farewells do. So of two PEs that leave at the same time the first may be gone
// before it has the flush of the second.

// farewell is the last flush to one PE, in one context, before this PE leaves.
type farewell struct {
	engine  *Engine
	pe      libshmem.PE
	flushed bool
}

// Leave sends the farewells of this PE, whose program ends: flushes that say so. It reports whether
// all other PEs have replied. Its caller polls and calls it again, as long as it has time. A PE
// that cannot be reached counts as lost, which does not stop the others.
func (e *Engine) Leave() bool {
	if !e.leaving {
		e.leaving = true
		if e.ops.Net.OnLost == nil {
			e.ops.Net.OnLost = func(libshmem.PE, error) {}
		}
		e.forEachContext(func(s *Engine) { e.farewells = append(e.farewells, s.farewellsDue()...) })
	}
	e.Release()
	still := e.farewells[:0]
	for _, f := range e.farewells {
		if !f.advance() {
			still = append(still, f)
		}
	}
	e.farewells = still
	// A fabric.Holder keeps operations that it has accepted, and loses them with the process.
	h, ok := e.ops.Net.Provider.(fabric.Holder)
	return len(still) == 0 && !(ok && h.Holds()) && !e.stageHasWork()
}

// stageHasWork reports whether the GPU stage still copies or sends bytes.
func (e *Engine) stageHasWork() bool { return e.gpu != nil && e.gpu.HasWork() }

// farewellsDue lists the PEs with which this context has exchanged messages, and which therefore
// get a farewell.
func (e *Engine) farewellsDue() (all []farewell) {
	for i := range e.ops.Peers {
		p, pe := &e.ops.Peers[i], libshmem.PE(i)
		if uint32(i) != e.me && (p.Sent > 0 || p.Received > 0) && e.ops.Net.Reachable(pe) {
			all = append(all, farewell{engine: e, pe: pe})
		}
	}
	return all
}

// advance sends the farewell's flush once nothing else of this context is on its way to the PE: no
// parked message, no queued operation, no one-sided write and, with a GPU, no operation record. It
// reports whether this process need not wait for the PE any more: the PE has replied to the flush,
// has left, or cannot be reached.
func (f *farewell) advance() bool {
	e, p := f.engine, &f.engine.ops.Peers[f.pe]
	switch {
	case e.ops.Net.IsLost(f.pe):
		return true
	case p.Parked > 0: // replies that the PE may wait for
		return false
	case p.Left:
		return !e.stageHasWork() // a reply of the GPU stage may still have to go out
	case f.flushed:
		return !p.Flushing
	case p.Flushing || p.Queued > 0 || p.Writes > 0:
		return false
	case e.gpu != nil && p.Tokens > 0: // bytes for the PE may not have left the GPU, or the PE has not read them yet
		return false
	}
	st := e.out.Leave(f.pe)
	f.flushed = st == call.Pending
	return st == call.Failed // the PE cannot be reached, so no reply will arrive
}
