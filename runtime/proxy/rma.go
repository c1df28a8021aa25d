package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/ops"
	"libshmem/runtime/proxy/quiet"
)

// forWrites is an engine as its transfers see it.
type forWrites Engine

func (w *forWrites) Meet(pe fabric.PE, p *layout.Peer) bool { return (*Engine)(w).meet(p, pe) }

func (w *forWrites) Parked(p *layout.Peer) bool { return (*Engine)(w).parkedAhead(p) }

// Behind first sends the batch of the PE, unless a write may pass it.
func (w *forWrites) Behind(pe fabric.PE, p *layout.Peer) bool {
	e := (*Engine)(w)
	if p.Batch != nil && !e.holdsOnly(p) {
		e.letGo(pe, p)
	}
	return p.Queued > 0 && !e.holdsOnly(p) || e.behindBytes(pe, p, e.Epoch)
}

func (w *forWrites) Enqueue(t fabric.Token, s *ops.Record) { (*Engine)(w).enqueue(t, s) }

func (w *forWrites) Drive(pe fabric.PE) { (*Engine)(w).drive(pe) }

func (w *forWrites) Jam() { (*Engine)(w).jam() }

func (w *forWrites) Flush(pe fabric.PE) call.Status { return (*Engine)(w).flush(pe) }

func (w *forWrites) Admit(pe fabric.PE, p *layout.Peer, n int) call.Status {
	return (*Engine)(w).admit(pe, p, n)
}

// Follow sends the message, or adds it to a batch.
func (w *forWrites) Follow(s *ops.Record, p *layout.Peer) {
	if e := (*Engine)(w); !e.holdSignal(p, s) {
		e.own(s.PE, s.Epoch, s.Lane, &s.After)
	}
}

func (w *forWrites) Own(pe fabric.PE, epoch uint64, l quiet.Parity, h layout.Header) {
	(*Engine)(w).own(pe, epoch, l, &h)
}
