package gpustage

import (
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// piece is a part of a departure that is in a chunk or slot.
type piece struct {
	of    *departure
	at    uint64
	n     uint64
	index uint16
}

// chunkRequest is the use of a chunk that a request to send has named, while another PE may read it.
type chunkRequest struct {
	piece piece
	turn  uint16
}

func (p *piece) small() bool { return p.n <= layout.MaxPayload }

func (d *departures) poolOf(p *piece) *pool {
	if p.small() {
		return d.memory.Slots
	}
	return d.memory.Chunks
}

// place returns the memory of a piece.
func (d *departures) place(p *piece) unsafe.Pointer { return d.poolOf(p).At(p.index) }

func (d *departures) giveBack(p *piece) { d.poolOf(p).GiveFor(p.of.pe, p.index) }

// sendReady sends the pieces in main memory, or requests to send for them, in order for each PE.
func (d *departures) sendReady() {
	d.pass++
	for range d.ready.Len() {
		p := d.ready.Pop()
		if l := &d.to[p.of.pe]; l.blocked == d.pass || !d.sendPiece(&p) {
			l.blocked = d.pass
			d.noRoom = true
			d.ready.Push(p)
		}
	}
}

// sendPiece sends a piece in a message if it fits one, else a request to send. False: no room.
func (d *departures) sendPiece(p *piece) bool {
	x := p.of
	if d.engine.Lost(x.pe) != nil {
		x.n = x.begun
		d.dropPiece(p)
		return true
	}
	at := d.place(p)
	var st call.Status
	switch {
	case !p.small():
		o := &d.requests[p.index]
		h := layout.Header{
			Kind: layout.KindRequestToSend, Token: uint32(o.turn+1)<<16 | layout.ChunkToken | uint32(p.index),
			Offset: x.offset + libshmem.Offset(p.at), Operand: d.memory.Remote + uint64(p.index)*d.memory.Chunks.Size(), Extra: d.memory.Key,
		}
		d.payload = layout.RequestToSend{N: p.n, Fence: uint32(x.epoch), Get: x.question}
		if st = d.engine.Send(x.token, x.pe, h, unsafe.Pointer(&d.payload), layout.RequestToSendSize); st == call.Done {
			o.turn++
			o.piece = *p
		}
	case x.kind == toGet:
		st = d.engine.Send(x.token, x.pe, layout.Header{Kind: layout.KindData, Token: x.question, Offset: libshmem.Offset(p.at)}, at, int(p.n))
	case x.then && x.begun == x.n && x.unsent == 1: // the last piece carries the signal
		h := x.after
		h.Kind, h.Offset, h.Extra = layout.KindPutSignal, x.offset+libshmem.Offset(p.at), uint64(x.after.Offset)
		if st = d.engine.Send(x.token, x.pe, h, at, int(p.n)); st == call.Done {
			x.then = false
		}
	case p.n <= 8 && p.n&(p.n-1) == 0:
		h := layout.Header{Kind: layout.KindStore, Width: uint8(p.n), Offset: x.offset + libshmem.Offset(p.at), Operand: mem.Load(at, int(p.n))}
		st = d.engine.Send(x.token, x.pe, h, nil, 0)
	default:
		st = d.engine.Send(x.token, x.pe, layout.Header{Kind: layout.KindPut, Offset: x.offset + libshmem.Offset(p.at)}, at, int(p.n))
	}
	switch st {
	case call.Again:
		return false
	case call.Failed:
		d.engine.SendFailed(x.pe)
		return false
	}
	x.unsent--
	if p.small() {
		d.giveBack(p)
		x.open--
	}
	d.sentAll(x)
	return true
}

// Finished frees the chunk that a request to send named, when the other side has read it.
func (d *departures) Finished(h *layout.Header) {
	turn, i := uint16(h.Token>>16), int(h.Token&0xffff&^layout.ChunkToken)
	if i >= len(d.requests) || d.requests[i].piece.of == nil || d.requests[i].turn != turn || uint32(d.requests[i].piece.of.pe) != h.From {
		d.engine.Refuse(h, true)
		return
	}
	x := d.requests[i].piece.of
	if h.Operand != 0 && x.kind == toHeap {
		d.engine.Spoil(x.token, readError(h))
	}
	d.freeChunk(i)
}

// freeChunk frees a chunk that no PE reads any more.
func (d *departures) freeChunk(i int) {
	p := d.requests[i].piece
	d.requests[i].piece = piece{}
	d.giveBack(&p)
	p.of.open--
	d.sentAll(p.of)
}

// Drop ends the departures for a lost PE that use the fabric. It leaves the pieces that are in
// streams, which Follow drops. A chunk in a request to send to the PE is free at once, because only
// that PE reads it.
func (d *departures) Drop(pe libshmem.PE) {
	for range d.waiting.Len() {
		x := d.waiting.Pop()
		if x.pe != pe || x.kind.copies() {
			d.waiting.Push(x)
			continue
		}
		x.n = x.begun
		d.sentAll(x)
	}
	for range d.ready.Len() {
		p := d.ready.Pop()
		if p.of.pe != pe {
			d.ready.Push(p)
			continue
		}
		d.dropPiece(&p)
	}
	for i := range d.requests {
		if x := d.requests[i].piece.of; x != nil && x.pe == pe {
			d.freeChunk(i)
		}
	}
}

// dropPiece gives up a piece that is in main memory and was not sent.
func (d *departures) dropPiece(p *piece) {
	x := p.of
	d.giveBack(p)
	x.unsent--
	x.open--
	d.sentAll(x)
}
