package gpustage

// Chunks of departures. A chunk is pinned memory with a part of one departure, or with whole puts
// to one PE: those that wait together in a turn, as the operations of a kernel's threads do. Then
// the driver gets their copies together, one mark is behind them, and one request to send has their
// places and signals. The target reads the chunk at once, and copies the pieces to their places. A
// put waits for no later one: when a turn ends, the chunk has the puts that were there.

import (
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
)

// mostShared is the most bytes of a put that shares a chunk with others.
const mostShared = 64 << 10

// chunk is pinned memory for bytes that another PE reads. It is as large as its bytes need, up to
// the size of the pool's pieces.
type chunk struct {
	parts     []chunkPart
	order     []uint8 // in which the parts lie there
	index     uint16  // of its memory
	used      uint64  // bytes
	grows     bool    // more puts of this pass may join it
	requested bool    // a request to send has named it
}

// chunkPart is a part of a departure in a chunk.
type chunkPart struct {
	of *departure
	at uint64 // in the departure
	n  uint64
	in uint64 // in the chunk
}

// aligned returns where the next put of a chunk may begin.
func aligned(n uint64) uint64 { return (n + layout.PieceAlign - 1) &^ (layout.PieceAlign - 1) }

// mayShare reports whether a departure is a put that may share a chunk.
func (d *departures) mayShare(x *departure) bool {
	return x.kind == toHeap && x.n > layout.MaxPayload && x.n <= min(mostShared, d.memory.Chunks.Size()) && x.begun == 0
}

// placeInChunk is place for a piece that does not fit a slot: it joins the PE's open chunk, or gets
// a new one.
func (d *departures) placeInChunk(p *piece) bool {
	x := p.of
	l := &d.to[x.pe]
	shares := d.mayShare(x)
	switch {
	case l.open != nil && shares && d.fits(l.open, x):
		d.join(l.open, p)
	case !shares:
		d.close(l)
		return d.newChunk(p, p.n)
	default:
		d.close(l)
		if !d.share(l, p) {
			return false
		}
	}
	l.shares -= aligned(x.n)
	return true
}

// share begins a chunk that further puts may join until the end of the pass, with room for the puts
// that wait. If there is less memory than the put needs, the chunk has a part of the put alone.
// False: there is no memory.
func (d *departures) share(l *departurePeer, p *piece) bool {
	n := p.n
	if !d.newChunk(p, max(n, min(l.shares, d.memory.Chunks.Size()))) {
		return false
	}
	if p.n == n {
		p.chunk.grows = true
		l.open = p.chunk
		d.shared = append(d.shared, p.of.pe)
	}
	return true
}

// fits reports whether a put may join a chunk. A request to send has the bytes of one epoch, for
// one kind of memory.
func (d *departures) fits(c *chunk, x *departure) bool {
	first := c.parts[0].of
	return len(c.parts) < layout.MostPieces && c.used+x.n <= d.memory.Chunks.capacity(c.index) &&
		first.epoch == x.epoch && (first.offset < 0) == (x.offset < 0)
}

// close closes the open chunk of a PE, if it has one: it frees the memory that the chunk does not
// need, and gives the stream the copies of its puts. It comes before any other piece for the PE,
// which would be sent first.
func (d *departures) close(l *departurePeer) {
	c := l.open
	if c == nil {
		return
	}
	l.open, c.grows = nil, false
	c.arrange()
	first := c.parts[0].of
	d.memory.Chunks.Trim(first.pe, c.index, c.used)
	d.streams.Runs(first.kind.driverCall(), first.pe)
	at := d.memory.Chunks.At(c.index)
	for _, i := range c.order {
		p := &c.parts[i]
		d.streams.CopyAhead(stream.Out, unsafe.Add(at, p.in), unsafe.Add(p.of.local, p.at), p.n)
	}
	d.streams.Later(stream.Out, stream.Chore{For: d, What: chunkCopied, Index: c.index})
}

// newChunk makes a chunk of up to most bytes, and puts a piece into it. If there is less memory,
// the piece becomes smaller. False: there is none.
func (d *departures) newChunk(p *piece, most uint64) bool {
	i, got, ok := d.memory.Chunks.AllocateUpTo(p.of.pe, most)
	if !ok {
		return false
	}
	var c *chunk
	if last := len(d.unused) - 1; last >= 0 {
		c, d.unused = d.unused[last], d.unused[:last]
	} else {
		c = new(chunk)
	}
	*c = chunk{parts: c.parts[:0], order: c.order[:0], index: i}
	d.chunks[i] = c
	p.n = min(p.n, got)
	d.join(c, p)
	return true
}

// join adds a piece to a chunk that has room for it.
func (d *departures) join(c *chunk, p *piece) {
	p.chunk, p.memory = c, d.memory.Chunks.At(c.index)
	c.parts = append(c.parts, chunkPart{of: p.of, at: p.at, n: p.n})
	c.order = append(c.order, uint8(len(c.order)))
	c.used += aligned(p.n)
}

// arrived is called when a stream has copied the bytes of a chunk: into the chunk, which is then
// ready to be sent, or between it and a mapped heap.
func (d *departures) arrived(c *chunk) {
	first := c.parts[0].of
	for i := range c.parts {
		c.parts[i].of.uncopied--
	}
	switch {
	case first.kind.isCopy():
		p := piece{of: first, at: c.parts[0].at, n: c.parts[0].n, memory: d.memory.Chunks.At(c.index), chunk: c}
		d.endCopy(&p)
	case d.engine.Lost(first.pe) != nil:
		d.dropChunk(c)
	default:
		d.ready.Push(piece{of: first, chunk: c})
		for i := range c.parts {
			d.finish(c.parts[i].of)
		}
	}
}

// sendRequest sends the request to send for a chunk, with the place and the signal of each put in
// it.
func (d *departures) sendRequest(c *chunk) call.Status {
	first := &c.parts[0]
	x := first.of
	turn := d.turns[c.index] + 1
	h := layout.Header{
		Kind: layout.KindRequestToSend, Token: uint32(turn)<<16 | layout.ChunkToken | uint32(c.index), Extra: d.memory.Key,
		Offset: x.offset + libshmem.Offset(first.at), Operand: d.memory.Remote + uint64(uintptr(d.memory.Chunks.At(c.index))-uintptr(d.memory.Chunks.At(0))),
	}
	d.payload.RequestToSend = layout.RequestToSend{N: c.used, Fence: uint32(x.epoch), Get: x.requestID}
	pieces := 0
	if len(c.parts) > 1 || x.carries() {
		pieces = len(c.parts)
		for i, k := range c.order {
			d.describe(&d.payload.Pieces[i], &c.parts[k], k)
		}
	}
	st := d.engine.Send(Message{x.token, x.pe, h, unsafe.Pointer(&d.payload), d.payload.Size(pieces), TryAgain})
	if st != call.Done {
		return st
	}
	d.turns[c.index], c.requested = turn, true
	for i := range c.parts {
		x := c.parts[i].of
		if pieces > 0 && x.carries() {
			x.then = false
		}
		x.unsent--
		d.sentAll(x)
	}
	return call.Done
}

// describe writes the place and the signal of a part into a request to send. turn is its place in
// the order of posting.
func (*departures) describe(to *layout.PieceOfSend, p *chunkPart, turn uint8) {
	x := p.of
	*to = layout.PieceOfSend{Offset: x.offset + libshmem.Offset(p.at), N: uint32(p.n), Order: turn}
	if x.carries() {
		to.Signals, to.Signal, to.Op, to.Operand = true, x.after.Offset, x.after.Op, x.after.Operand
	}
}

// Finished handles the reply to a request to send for a chunk: the other PE has read the chunk, or
// could not, and the chunk is free.
func (d *departures) Finished(h *layout.Header) {
	turn, i := uint16(h.Token>>16), int(h.Token&0xffff&^layout.ChunkToken)
	if i >= len(d.chunks) || d.chunks[i] == nil || !d.chunks[i].requested || d.turns[i] != turn || uint32(d.chunks[i].parts[0].of.pe) != h.From {
		d.named.NotRequested(h)
		return
	}
	c := d.chunks[i]
	for k := range c.parts {
		if h.Operand != 0 {
			c.parts[k].of.end = readEnd(h)
		}
	}
	d.endChunk(c)
}

// endChunk frees a chunk that was sent and that no PE reads any more, and completes the departures
// that have no other piece under way.
func (d *departures) endChunk(c *chunk) {
	d.freeChunk(c)
	for i := range c.parts {
		x := c.parts[i].of
		x.open--
		d.sentAll(x)
	}
}

// dropChunk drops a chunk that was copied out and not sent: its PE is lost.
func (d *departures) dropChunk(c *chunk) {
	d.freeChunk(c)
	for i := range c.parts {
		x := c.parts[i].of
		x.n = x.begun
		x.unsent--
		x.open--
		d.sentAll(x)
	}
}

// freeChunk frees the memory of a chunk. Its parts stay valid until the next chunk begins.
func (d *departures) freeChunk(c *chunk) {
	d.memory.Chunks.ReleaseFor(c.parts[0].of.pe, c.index)
	d.chunks[c.index] = nil
	d.unused = append(d.unused, c)
}
