package proxy

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
)

// A program may end without finalize, and its process with it. Messages that this process still
// holds would be lost then: those that found no room, and those that a provider keeps. Bytes that
// the kernel has are sent. So a PE whose program ends sends each PE that it has talked to a flush,
// as a quiet does, which says that it leaves. Its process serves the network until all have
// replied, or have left, too.
//
// A PE that has left needs nothing from others, and no PE waits for its replies from then on:
// neither quiets nor farewells do. So of two PEs that leave at the same time the first may be gone
// before it has the flush of the second.

// farewell is the flush to one PE, in one context, before this PE leaves.
type farewell struct {
	of      *Engine
	pe      libshmem.PE
	flushed bool
}

// Leave sends the farewells of this PE, whose program ends, and reports whether all other PEs have
// replied. Its caller polls and calls it again, as long as it has time. A PE that cannot be reached
// is lost, which ends nothing.
func (e *Engine) Leave() bool {
	if !e.leaving {
		e.leaving = true
		if e.ops.Net.OnLost == nil {
			e.ops.Net.OnLost = func(libshmem.PE, error) {}
		}
		e.all(func(s *Engine) { e.farewells = append(e.farewells, s.greeted()...) })
	}
	e.Release()
	still := e.farewells[:0]
	for _, f := range e.farewells {
		if !f.isOver() {
			still = append(still, f)
		}
	}
	e.farewells = still
	h, ok := e.ops.Net.Provider.(fabric.Holder)
	return len(still) == 0 && !(ok && h.Holds()) && !e.moves()
}

// moves reports whether the GPU stage still moves bytes.
func (e *Engine) moves() bool { return e.gpu != nil && e.gpu.Moves() }

// greeted lists the PEs with which this context has exchanged messages, and from which it has to
// take leave.
func (e *Engine) greeted() (all []farewell) {
	for i := range e.ops.Peers {
		p, pe := &e.ops.Peers[i], libshmem.PE(i)
		if uint32(i) != e.me && (p.Sent > 0 || p.Received > 0) && e.ops.Net.Reachable(pe) {
			all = append(all, farewell{of: e, pe: pe})
		}
	}
	return all
}

// isOver reports whether the process need not wait for the PE any more: it has replied, left, or is
// lost. The flush goes to the PE when the provider has all operations of the context on it.
func (f *farewell) isOver() bool {
	e, p := f.of, &f.of.ops.Peers[f.pe]
	switch {
	case e.ops.Net.IsLost(f.pe):
		return true
	case p.Parked > 0: // replies that the PE may wait for
		return false
	case p.Left:
		return !e.moves() // a reply of the GPU stage may still have to go out
	case f.flushed:
		return !p.Flushing
	case p.Flushing || p.Queued > 0 || p.Writes > 0:
		return false
	case e.gpu != nil && p.Tokens > 0: // its bytes may not have left the GPU, or it reads them here
		return false
	}
	st := e.out.Leave(f.pe)
	f.flushed = st == call.Pending
	return st == call.Failed
}
