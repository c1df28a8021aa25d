package gpustage

// A departure is a put whose source is GPU memory, or whose target is, on its way to the network:
// its bytes go through pinned memory in pieces.

import (
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// piece is a part of a departure in pinned memory: in a slot, or in a chunk, which it may share.
type piece struct {
	departure *departure
	at        uint64 // offset in the departure
	n         uint64
	memory    unsafe.Pointer
	chunk     *chunk
	index     uint16 // of the slot
}

// fitsMessage reports whether a piece fits a message, and so a slot.
func (p *piece) fitsMessage() bool { return p.n <= layout.MaxPayload }

// allocatePiece allocates pinned memory for a piece: a slot, or space in a chunk. If less than it
// needs is free, the piece becomes smaller. It returns false if no memory is free now.
func (d *departures) allocatePiece(p *piece) bool {
	if p.fitsMessage() {
		d.closeChunk(&d.to[p.departure.pe])
		i, ok := d.memory.Slots.AllocateFor(p.departure.pe)
		p.index, p.memory = i, d.memory.Slots.At(i)
		return ok
	}
	return d.placeInChunk(p)
}

// releasePiece frees the pinned memory of a piece: its slot, or the chunk that it has for itself.
func (d *departures) releasePiece(p *piece) {
	if p.chunk != nil {
		d.freeChunk(p.chunk)
	} else {
		d.memory.Slots.ReleaseFor(p.departure.pe, p.index)
	}
}

// sendReady sends the pieces that have been copied out, in order for each PE: pieces in slots as
// messages, and requests to send for chunks.
func (d *departures) sendReady() {
	d.pass++
	for range d.ready.Len() {
		p := d.ready.Pop()
		if peer := &d.to[p.departure.pe]; peer.blocked == d.pass || !d.sendPiece(&p) {
			peer.blocked = d.pass
			d.noRoom = true
			d.ready.Push(p)
		}
	}
}

// sendPiece sends a piece: a small one in a message, and for a chunk the request to send. It
// returns false if that cannot be posted now. A piece for a lost PE is dropped.
func (d *departures) sendPiece(p *piece) bool {
	x := p.departure
	if d.engine.Lost(x.pe) != nil {
		d.dropReady(p)
		return true
	}
	var st call.Status
	if p.chunk != nil {
		st = d.sendRequest(p.chunk)
	} else {
		st = d.sendSlot(p)
	}
	return st == call.Done
}

// sendSlot sends a small piece in a message, whose kind depends on the operation: data for a get, a
// put with the signal if the piece carries it (carriesSignal), the store of an element if the size
// allows that, else a put. The slot is free when the message is posted: Send copies the bytes.
func (d *departures) sendSlot(p *piece) call.Status {
	x := p.departure
	m := Message{Token: x.token, PE: x.pe, Payload: p.memory, N: int(p.n), NoRoom: TryAgain}
	carries := false
	switch offset := x.offset + libshmem.Offset(p.at); {
	case x.kind == toGet:
		m.Header = layout.Header{Kind: layout.KindData, Token: x.requestID, Offset: libshmem.Offset(p.at)}
	case x.carriesSignal():
		carries = true
		m.Header = x.after
		m.Header.Kind, m.Header.Offset, m.Header.Extra = layout.KindPutSignal, offset, uint64(x.after.Offset)
		m.Header.Token = d.state.EpochToken(x.epoch)
	case p.n <= 8 && p.n&(p.n-1) == 0:
		m.Header = layout.Header{Kind: layout.KindStore, Width: uint8(p.n), Offset: offset, Operand: mem.Load(p.memory, int(p.n))}
		m.Payload, m.N = nil, 0
	default:
		m.Header = layout.Header{Kind: layout.KindPut, Token: d.state.EpochToken(x.epoch), Offset: offset}
	}
	st := d.engine.Send(m)
	if st == call.Done {
		x.hasSignal = x.hasSignal && !carries
		x.unsent--
		d.releasePiece(p)
		x.open--
		d.sentAll(x)
	}
	return st
}

// carriesSignal reports whether the piece that is sent next is the last one, which carries the
// signal.
func (x *departure) carriesSignal() bool { return x.hasSignal && x.begun == x.n && x.unsent == 1 }

// Drop fails the departures to a lost PE that use the fabric. It leaves the pieces that are in
// streams, which Follow drops. A chunk for which a request to send was sent to the PE is free at
// once, because only that PE reads it.
func (d *departures) Drop(pe libshmem.PE) {
	for range d.waiting.Len() {
		x := d.waiting.Pop()
		if x.pe != pe || x.kind.isCopy() {
			d.waiting.Push(x)
			continue
		}
		x.n = x.begun // no more of its bytes are copied; sentAll fails it, as the PE is lost
		d.sentAll(x)
	}
	d.to[pe].shares = 0 // of the PE no put waits that may share a chunk
	for range d.ready.Len() {
		p := d.ready.Pop()
		if p.departure.pe != pe {
			d.ready.Push(p)
			continue
		}
		d.dropReady(&p)
	}
	for _, c := range d.chunks {
		if c != nil && c.requested && c.parts[0].departure.pe == pe {
			d.endChunk(c)
		}
	}
}

// dropReady drops an entry of the queue ready, a small piece or a chunk, whose PE is lost.
func (d *departures) dropReady(p *piece) {
	if p.chunk != nil {
		d.dropChunk(p.chunk)
		return
	}
	p.departure.n = p.departure.begun
	d.dropPiece(p)
}

// dropPiece drops a small piece that was copied out and not sent, because its PE is lost: it frees
// the slot and counts the piece as sent.
func (d *departures) dropPiece(p *piece) {
	x := p.departure
	d.releasePiece(p)
	x.unsent--
	x.open--
	d.sentAll(x)
}
