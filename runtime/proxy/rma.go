package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/ops"
	"libshmem/runtime/proxy/quiet"
)

// forWrites is an engine as its transfers see it.
type forWrites struct{ e *Engine }

func (w *forWrites) Meet(pe fabric.PE, p *layout.Peer) bool { return w.e.meet(p, pe) }

func (w *forWrites) Parked(p *layout.Peer) bool { return w.e.parkedAhead(p) }

// Behind first sends the batch of the PE, unless a write may pass it.
func (w *forWrites) Behind(pe fabric.PE, p *layout.Peer) bool {
	e := w.e
	if p.Batch != nil && !e.holdsOnly(p) {
		e.letGo(pe, p)
	}
	return p.Queued > 0 && !e.holdsOnly(p) || e.behindBytes(pe, p, e.Epoch)
}

func (w *forWrites) Enqueue(t fabric.Token, s *ops.Record) { w.e.enqueue(t, s) }

func (w *forWrites) Drive(pe fabric.PE) { w.e.drive(pe) }

func (w *forWrites) Jam() { w.e.jam() }

func (w *forWrites) Flush(pe fabric.PE) call.Status { return w.e.flush(pe) }

func (w *forWrites) Admit(pe fabric.PE, p *layout.Peer, n int) call.Status {
	return w.e.admit(pe, p, n)
}

// Follow sends the message, or adds it to a batch.
func (w *forWrites) Follow(s *ops.Record, p *layout.Peer) {
	if e := w.e; !e.holdSignal(p, s) {
		e.own(s.PE, s.Epoch, s.Lane, &s.After)
	}
}

func (w *forWrites) Own(pe fabric.PE, epoch uint64, l quiet.Parity, h layout.Header) {
	w.e.own(pe, epoch, l, &h)
}
