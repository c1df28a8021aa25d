package gpustage

// Chunks of departures. A chunk is pinned memory with a part of one departure (an operation whose
// bytes leave this PE), or with whole puts to one PE: those that wait together at a poll, such as
// the operations of a kernel's threads. The driver gets their copies together, one mark follows
// them, and one request to send has their destinations and signals. The target reads the whole
// chunk, and copies the pieces to their destinations. A put does not wait for later ones: when a
// poll ends, the chunk has the puts that were waiting.

import (
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
)

// maxShared is the size in bytes of the largest put that shares a chunk with others.
const maxShared = 64 << 10

// chunk is pinned memory for bytes that another PE reads. It is as large as its bytes need, up to
// the size of the pool's pieces.
type chunk struct {
	parts     []chunkPart
	order     []uint8 // order of the parts in the chunk
	index     uint16  // index of its memory in the pool
	used      uint64  // bytes in use
	grows     bool    // more puts of this pass may join it
	requested bool    // a request to send for it was sent
}

// chunkPart is a part of a departure in a chunk.
type chunkPart struct {
	departure *departure
	at        uint64 // offset in the departure
	n         uint64
	inChunk   uint64 // offset in the chunk
}

// alignPiece returns the first offset from n on at which a put in a chunk may begin.
func alignPiece(n uint64) uint64 { return (n + layout.PieceAlign - 1) &^ (layout.PieceAlign - 1) }

// mayShare reports whether a departure is a put that may share a chunk with others: it is larger
// than a message, has at most maxShared bytes, and none of it was copied yet.
func (d *departures) mayShare(x *departure) bool {
	return x.kind == toHeap && x.n > layout.MaxPayload && x.n <= min(maxShared, d.memory.Chunks.Size()) && x.begun == 0
}

// placeInChunk allocates memory for a piece that does not fit a slot: space in the PE's open chunk,
// or a new chunk. False: there is none now.
func (d *departures) placeInChunk(p *piece) bool {
	x := p.departure
	peer := &d.to[x.pe]
	shares := d.mayShare(x)
	switch {
	case peer.open != nil && shares && d.mayJoin(peer.open, x):
		d.addPart(peer.open, p)
	case !shares:
		d.closeChunk(peer)
		return d.newChunk(p, p.n)
	default:
		d.closeChunk(peer)
		if !d.openChunk(peer, p) {
			return false
		}
	}
	peer.shares -= alignPiece(x.n) // the put waits no longer
	return true
}

// openChunk opens a chunk with space for the puts that wait. Further puts may join it until the end
// of this pass over the waiting puts. If the free memory is less than the put needs, the chunk gets
// only a part of the put. False: no memory is free.
func (d *departures) openChunk(peer *departurePeer, p *piece) bool {
	n := p.n
	if !d.newChunk(p, max(n, min(peer.shares, d.memory.Chunks.Size()))) {
		return false
	}
	if p.n == n {
		p.chunk.grows = true
		peer.open = p.chunk
		d.shared = append(d.shared, p.departure.pe)
	}
	return true
}

// mayJoin reports whether a put may join a chunk. All bytes of a request to send belong to one
// epoch and go to one kind of memory.
func (d *departures) mayJoin(c *chunk, x *departure) bool {
	first := c.parts[0].departure
	return len(c.parts) < layout.MaxPieces && c.used+x.n <= d.memory.Chunks.capacity(c.index) &&
		first.epoch == x.epoch && first.toGPU == x.toGPU
}

// closeChunk closes the open chunk of a PE, if it has one: it frees the memory that the chunk does
// not need, and passes the copies of its puts to the stream. It is called before any other piece
// for the PE is allocated, because that piece would otherwise be sent first.
func (d *departures) closeChunk(peer *departurePeer) {
	c := peer.open
	if c == nil {
		return
	}
	peer.open, c.grows = nil, false
	c.arrange()
	first := c.parts[0].departure
	d.memory.Chunks.Trim(first.pe, c.index, c.used)
	d.streams.NoteDriverCall(first.kind.driverCall(), first.pe)
	at := d.memory.Chunks.At(c.index)
	for _, i := range c.order {
		p := &c.parts[i]
		d.streams.CopyAhead(stream.Out, unsafe.Add(at, p.inChunk), unsafe.Add(p.departure.local, p.at), p.n)
	}
	d.streams.AddChore(stream.Out, stream.Chore{For: d, What: chunkCopied, Index: c.index})
}

// newChunk makes a chunk of at most limit bytes for a piece. If less memory is free, the piece
// becomes smaller. False: no memory is free.
func (d *departures) newChunk(p *piece, limit uint64) bool {
	i, got, ok := d.memory.Chunks.AllocateUpTo(p.departure.pe, limit)
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
	d.addPart(c, p)
	return true
}

// addPart adds a piece to a chunk that has space for it.
func (d *departures) addPart(c *chunk, p *piece) {
	p.chunk, p.memory = c, d.memory.Chunks.At(c.index)
	c.parts = append(c.parts, chunkPart{departure: p.departure, at: p.at, n: p.n})
	c.order = append(c.order, uint8(len(c.order)))
	c.used += alignPiece(p.n)
}

// handleCopiedChunk is called when a stream has copied the bytes of a chunk: into the chunk, which
// is then ready to be sent, or between the chunk and a mapped heap.
func (d *departures) handleCopiedChunk(c *chunk) {
	first := c.parts[0].departure
	for i := range c.parts {
		c.parts[i].departure.uncopied--
	}
	switch {
	case first.kind.isCopy():
		p := piece{departure: first, at: c.parts[0].at, n: c.parts[0].n, memory: d.memory.Chunks.At(c.index), chunk: c}
		d.endCopy(&p)
	case d.engine.Lost(first.pe) != nil:
		d.dropChunk(c)
	default:
		d.ready.Push(piece{departure: first, chunk: c})
		for i := range c.parts {
			d.completeSource(c.parts[i].departure)
		}
	}
}

// sendRequest sends the request to send for a chunk, a piece of pinned memory that has been filled:
// its PE then reads the bytes at the remote address in Operand, with the key in Extra. If the chunk
// has several puts, or one with a signal, the request also has the destination and the signal of
// each. The token includes a count of the chunk's requests, so that a late reply to an earlier
// request is not taken for one to this. It returns Again if the request cannot be posted now.
func (d *departures) sendRequest(c *chunk) call.Status {
	first := &c.parts[0]
	x := first.departure
	request := d.requests[c.index] + 1
	h := layout.Header{
		Kind: layout.KindRequestToSend, Token: uint32(request)<<16 | layout.ChunkToken | uint32(c.index), Extra: d.memory.Key,
		Offset: x.offset + libshmem.Offset(first.at), Operand: d.memory.Remote + uint64(uintptr(d.memory.Chunks.At(c.index))-uintptr(d.memory.Chunks.At(0))),
	}
	d.payload.RequestToSend = layout.RequestToSend{N: c.used, Fence: uint32(x.epoch), Get: x.requestID}
	pieces := 0
	if len(c.parts) > 1 || x.carriesSignal() {
		pieces = len(c.parts)
		for i, k := range c.order {
			d.describe(&d.payload.Pieces[i], &c.parts[k], k)
		}
	}
	st := d.engine.Send(Message{x.token, x.pe, h, unsafe.Pointer(&d.payload), d.payload.Size(pieces), TryAgain})
	if st != call.Done {
		return st
	}
	d.requests[c.index], c.requested = request, true
	for i := range c.parts {
		x := c.parts[i].departure
		if pieces > 0 && x.carriesSignal() {
			x.hasSignal = false
		}
		x.unsent--
		d.sentAll(x)
	}
	return call.Done
}

// describe writes the destination and the signal of a part into a request to send. position is the
// part's position in the order of posting.
func (*departures) describe(to *layout.PieceOfSend, p *chunkPart, position uint8) {
	x := p.departure
	*to = layout.PieceOfSend{Offset: x.offset + libshmem.Offset(p.at), N: uint32(p.n), Order: position}
	if x.carriesSignal() {
		to.Signals, to.Signal, to.Op, to.Operand = true, x.after.Offset, x.after.Op, x.after.Operand
	}
}

// HandleFinished handles the reply to a request to send for a chunk: the other PE has read the
// chunk, or could not, and the chunk is free.
func (d *departures) HandleFinished(h *layout.Header) {
	request, i := uint16(h.Token>>16), int(h.Token&0xffff&^layout.ChunkToken)
	if i >= len(d.chunks) || d.chunks[i] == nil || !d.chunks[i].requested || d.requests[i] != request || uint32(d.chunks[i].parts[0].departure.pe) != h.From {
		d.check.FailUnrequested(h)
		return
	}
	c := d.chunks[i]
	for k := range c.parts {
		if h.Operand != 0 {
			c.parts[k].departure.end = endingOfRead(h)
		}
	}
	d.endChunk(c)
}

// endChunk frees a chunk that was sent and that no PE reads any more, and completes the departures
// that have no other piece under way.
func (d *departures) endChunk(c *chunk) {
	d.freeChunk(c)
	for i := range c.parts {
		x := c.parts[i].departure
		x.open--
		d.sentAll(x)
	}
}

// dropChunk drops a chunk that was copied out of GPU memory and not sent, because its PE is lost.
// It marks the operations in it as begun to their end, so that no more of their bytes are copied.
func (d *departures) dropChunk(c *chunk) {
	d.freeChunk(c)
	for i := range c.parts {
		x := c.parts[i].departure
		x.n = x.begun
		x.unsent--
		x.open--
		d.sentAll(x)
	}
}

// freeChunk frees the memory of a chunk. The list of its parts stays valid until the next chunk is
// made.
func (d *departures) freeChunk(c *chunk) {
	d.memory.Chunks.ReleaseFor(c.parts[0].departure.pe, c.index)
	d.chunks[c.index] = nil
	d.unused = append(d.unused, c)
}
