package gpustage

// Bytes that leave GPU memory are copied to pinned memory, and sent from there.
//
// A departure is a put of this PE, or the get of another PE. Small pieces travel in messages.
// Larger ones are stored in chunks, whole puts of up to maxShared bytes together with others
// (chunk.go). For a chunk this PE sends a request to send, and the chunk is free when the other PE
// has read it. The same pieces are used for copies between main memory and heaps that this process
// has mapped.
//
// departures owns the pieces that wait for a copy, the pieces that wait to be sent, and the chunks
// that another PE may read. It does not own the puts of callers before they depart, nor the order
// of copies to mapped heaps.

import (
	"fmt"
	"slices"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/fifo"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// endingOf returns the Ending of an operation on a PE: with an error if the PE was lost.
func endingOf(e Engine, pe libshmem.PE) Ending {
	if err := e.Lost(pe); err != nil {
		return Ending{Status: int32(call.Failed), Err: err}
	}
	return Ending{}
}

// endingOfRead returns the Ending of a put whose target has replied that it has read the bytes, or
// could not read them.
func endingOfRead(h *layout.Header) Ending {
	if h.Operand == 0 {
		return Ending{}
	}
	return Ending{Status: int32(h.Operand), Err: fmt.Errorf("PE %d: read the bytes of a put: error %d", h.From, int32(h.Operand))}
}

// departure is an operation whose bytes leave GPU memory in pieces, through pinned memory. On a
// mapped heap it is a copy through pinned memory, and nothing is sent.
type departure struct {
	id        uint32 // its index in departures.all, by which chores name it
	kind      departureKind
	pe        libshmem.PE
	epoch     uint64
	token     fabric.Token // of a put
	requestID uint32       // of a get
	local     unsafe.Pointer
	mapped    unsafe.Pointer  // address on the mapped heap, of a copy
	offset    libshmem.Offset // in the heap of pe, of a put
	toGPU     bool            // offset names GPU memory
	n         uint64
	begun     uint64 // bytes whose pieces have been made
	uncopied  int    // pieces that are in a stream
	unsent    int    // pieces that have been made and not sent
	open      int    // pieces that have been made and that the other PE may still have to read
	sent      bool   // all bytes and the signal were sent
	hasSignal bool   // the signal in after follows the bytes
	after     layout.Header
	end       Ending // an error if the target could not read some of the bytes
}

// departureKind is the kind of a departure.
type departureKind uint8

const (
	none     departureKind = iota // complete: the record is free
	toHeap                        // GPU memory to the heap of pe, by request to send or message
	toGet                         // GPU memory to a get of pe
	copyTo                        // main memory to the mapped heap of pe
	copyFrom                      // the mapped heap of pe to main memory
)

// isCopy reports whether an outgoing operation of kind k is a copy to or from a mapped heap, which
// does not use the fabric.
func (k departureKind) isCopy() bool { return k >= copyTo }

// driverCall returns the purpose of a departure's driver calls, which reports print if such a call
// does not return: to serve a get of another PE, to get from a mapped heap, or to put.
func (k departureKind) driverCall() backlog.Call {
	switch k {
	case toGet:
		return backlog.CallServe
	case copyFrom:
		return backlog.CallGet
	}
	return backlog.CallPut
}

// departureMemory is the pinned memory for pieces of departures.
type departureMemory struct {
	Chunks, Slots *pool  // for large and for small pieces
	Remote, Key   uint64 // remote address and key of the first chunk
}

// departures are the puts and gets whose bytes leave GPU memory through pinned memory, for all PEs.
type departures struct {
	state    *layout.State
	engine   Engine
	check    mem.Checker
	streams  *stream.Set
	memory   departureMemory
	copied   func(t fabric.Token) // called when all of a copy is in stream.Peer
	peers    []layout.Peer
	to       []departurePeer
	waiting  fifo.Queue[*departure] // departures with bytes that no piece has been made for
	ready    fifo.Queue[piece]      // pieces that are copied out and not sent
	chunks   []*chunk               // by the index of their memory; nil: not in use
	requests []uint16               // number of requests to send for each chunk's memory so far
	shared   []libshmem.PE          // PEs with a chunk that may get more puts in this pass
	payload  layout.Requests        // payload of the message that is being sent
	pass     uint32                 // number of the pass over waiting departures or ready pieces
	all      []*departure
	spare    []*departure
	unused   []*chunk
	noRoom   bool // in this poll a piece could not be sent
	moved    bool // bytes have left for a PE with queued operations, which may have waited for that
}

// departurePeer has the departures for one PE.
type departurePeer struct {
	unsent       int    // puts, and copies from main memory, that have bytes to send
	epoch        uint64 // of the last one
	blocked      uint32 // the last pass in which a piece for the PE had no memory or could not be sent
	stagedAlways bool   // Staged stays set: see StageAlways
	shares       uint64 // bytes of puts that wait and may share a chunk
	open         *chunk // a chunk that more puts of this pass may join; nil: none
}

// newDepartures returns departures through the pinned memory m. copied is called with the token of
// a copy when all of the copy is in stream.Peer.
func newDepartures(e Engine, s *stream.Set, m departureMemory, copied func(t fabric.Token)) *departures {
	shared := e.Shared()
	return &departures{state: shared.State, engine: e, check: shared.Checker, streams: s, memory: m, copied: copied, peers: shared.Peers, chunks: make([]*chunk, m.Chunks.Len()), requests: make([]uint16, m.Chunks.Len())}
}

// Connect sets the number of PEs.
func (d *departures) Connect(pes int) { d.to = make([]departurePeer, pes) }

// StageAlways makes C and the engine call the Stage first for every operation on a PE, not only
// while bytes leave for it: this process has mapped the PE's heap.
func (d *departures) StageAlways(pe libshmem.PE) {
	d.to[pe].stagedAlways = true
	d.peers[pe].Staged = true
}

// BeginPoll is called when a poll of the engine begins: no piece has failed to be sent in it yet.
func (d *departures) BeginPoll() { d.noRoom = false }

// NoRoom reports whether a piece could not be sent in this poll: the provider's queue was full,
// which may change without a completion.
func (d *departures) NoRoom() bool { return d.noRoom }

// UnsentBefore reports whether bytes for a PE from before an epoch, that is, from before the last
// fence, have not been sent.
func (d *departures) UnsentBefore(pe libshmem.PE, epoch uint64) bool {
	peer := &d.to[pe]
	return peer.unsent > 0 && peer.epoch != epoch
}

// countUnsent counts a departure that has bytes to send to a PE, and notes its epoch, after which
// later epochs wait.
func (d *departures) countUnsent(pe libshmem.PE, epoch uint64) {
	peer := &d.to[pe]
	peer.unsent++
	peer.epoch = epoch
}

// departingPut has the arguments of departures.Put.
type departingPut struct {
	PE     libshmem.PE
	Token  fabric.Token
	Epoch  uint64
	Local  unsafe.Pointer
	Offset libshmem.Offset
	ToGPU  bool // Offset names GPU memory
	N      uint64
	After  *layout.Header // its signal, or nil
}

// Put queues a put from GPU memory. Advance copies its bytes out and sends them. Small puts to one
// PE may share a chunk: shares counts the bytes that wait for that.
func (d *departures) Put(p departingPut) {
	x := d.add(toHeap, p.PE, p.Local, p.N)
	x.epoch, x.token, x.offset, x.toGPU = p.Epoch, p.Token, p.Offset, p.ToGPU
	if p.After != nil {
		x.hasSignal, x.after = true, *p.After
	}
	d.waiting.Push(x)
	if d.mayShare(x) {
		d.to[p.PE].shares += alignPiece(p.N)
	}
	d.countUnsent(p.PE, p.Epoch)
	d.peers[p.PE].Staged = true
	d.streams.MarkBusy()
}

// Serve queues the n bytes of GPU memory at local, which a PE gets with its request requestID.
// Advance copies them out and sends them.
func (d *departures) Serve(pe libshmem.PE, requestID uint32, local unsafe.Pointer, n uint64) {
	x := d.add(toGet, pe, local, n)
	x.requestID = requestID
	d.waiting.Push(x)
	d.streams.MarkBusy()
}

// CopyTo queues a copy of n bytes from main memory to a mapped heap, for the put with token t. If
// now is set, it first tries to copy at once, before the departures that wait.
func (d *departures) CopyTo(pe libshmem.PE, t fabric.Token, epoch uint64, local, mapped unsafe.Pointer, n uint64, now bool) {
	x := d.add(copyTo, pe, local, n)
	x.token, x.mapped = t, mapped
	d.countUnsent(pe, epoch)
	if !now || !d.start(x) {
		d.waiting.Push(x)
	}
}

// CopyFrom queues a copy of n bytes from a mapped heap to main memory, for the get with token t.
func (d *departures) CopyFrom(pe libshmem.PE, t fabric.Token, local, mapped unsafe.Pointer, n uint64) {
	x := d.add(copyFrom, pe, local, n)
	x.token, x.mapped = t, mapped
	d.waiting.Push(x)
}

// add returns a new departure of n bytes, in a free record if there is one.
func (d *departures) add(k departureKind, pe libshmem.PE, local unsafe.Pointer, n uint64) *departure {
	var x *departure
	if last := len(d.spare) - 1; last >= 0 {
		x, d.spare = d.spare[last], d.spare[:last]
	} else {
		x = &departure{id: uint32(len(d.all))}
		d.all = append(d.all, x)
	}
	*x = departure{id: x.id, kind: k, pe: pe, local: local, n: n}
	return x
}

// Advance passes copies of waiting departures to the streams while pinned memory is free, and sends
// the pieces that have been copied. Bytes for one PE stay in order.
func (d *departures) Advance() {
	d.pass++
	for range d.waiting.Len() {
		x := d.waiting.Pop()
		if peer := &d.to[x.pe]; peer.blocked == d.pass || !d.start(x) {
			peer.blocked = d.pass
			d.waiting.Push(x)
		}
	}
	for _, pe := range d.shared {
		d.closeChunk(&d.to[pe])
	}
	d.shared = d.shared[:0]
	d.sendReady()
}

// start makes pieces of a departure and starts their copies, as long as pinned memory is free. It
// returns true if that is all of the departure.
func (d *departures) start(x *departure) bool {
	id := stream.Out
	if x.kind.isCopy() {
		id = stream.Peer
	}
	for x.begun < x.n {
		if d.streams.Full(id) {
			return false
		}
		p := piece{departure: x, at: x.begun, n: min(x.n-x.begun, d.memory.Chunks.Size())}
		if !d.allocatePiece(&p) {
			return false
		}
		x.begun += p.n
		x.uncopied++
		x.unsent++
		x.open++
		if p.chunk != nil && p.chunk.grows {
			continue // it is copied with the others
		}
		d.copyPiece(id, &p)
	}
	switch x.kind {
	case copyTo:
		d.to[x.pe].unsent--
		d.copied(x.token)
	case copyFrom:
		d.copied(x.token)
	}
	return true
}

// copyPiece puts into a stream the copy of a piece that shares its chunk or slot with no other, and
// adds the chore that follows the copy.
func (d *departures) copyPiece(id stream.Stream, p *piece) {
	x := p.departure
	to, from := p.memory, unsafe.Add(x.local, p.at)
	d.streams.NoteDriverCall(x.kind.driverCall(), x.pe)
	switch x.kind {
	case copyTo:
		mem.Copy(to, from, int(p.n))
		to, from = unsafe.Add(x.mapped, p.at), to
	case copyFrom:
		from = unsafe.Add(x.mapped, p.at)
	}
	d.streams.CopyAhead(id, to, from, p.n)
	if p.chunk == nil {
		d.streams.AddChore(id, stream.Chore{For: d, What: slotCopied, Index: p.index, Value: p.at, N: p.n, Token: x.id})
		return
	}
	p.chunk.used = p.n
	d.streams.AddChore(id, stream.Chore{For: d, What: chunkCopied, Index: p.chunk.index})
}

// The chores of departures: what the CPU does after a stream has copied pieces.
const (
	slotCopied = iota + 1
	chunkCopied
)

// Follow performs a chore: a stream has copied a small piece to its slot (c.Index), or the pieces
// of a chunk. A piece of a put or of another PE's get is then ready to be sent, unless the PE is
// lost; a piece of a copy is complete.
func (d *departures) Follow(c *stream.Chore) {
	if c.What == chunkCopied {
		d.handleCopiedChunk(d.chunks[c.Index])
		return
	}
	x := d.all[c.Token]
	p := piece{departure: x, at: c.Value, n: c.N, index: c.Index, memory: d.memory.Slots.At(c.Index)}
	x.uncopied--
	switch {
	case x.kind.isCopy():
		d.endCopy(&p)
	case d.engine.Lost(x.pe) != nil:
		x.n = x.begun // no more of its bytes are copied
		d.dropPiece(&p)
	default:
		d.ready.Push(p)
		d.completeSource(x)
	}
}

// completeSource completes the request of a put when all of its bytes have been copied out: the
// source may be reused. Quiets still wait for the put.
func (d *departures) completeSource(x *departure) {
	if x.kind == toHeap && x.begun == x.n && x.uncopied == 0 {
		d.engine.End(Op{Token: x.token}, Ending{Phase: SourceFree})
	}
}

// endCopy handles a piece of a copy to or from a mapped heap that the stream has copied. After the
// last piece the departure is complete.
func (d *departures) endCopy(p *piece) {
	x := p.departure
	if x.kind == copyFrom {
		mem.Copy(unsafe.Add(x.local, p.at), p.memory, int(p.n))
	}
	d.releasePiece(p)
	if x.begun == x.n && x.uncopied == 0 {
		d.free(x)
	}
}

// sentAll is called after each piece. When all bytes of a departure have been sent, it sends the
// signal unless the last piece has carried it, and lets later operations on the PE go on. When the
// other PE has read all bytes, it completes the put.
func (d *departures) sentAll(x *departure) {
	if x.begun < x.n || x.unsent > 0 {
		return
	}
	if !x.sent && x.kind == toHeap {
		peer := &d.to[x.pe]
		if x.hasSignal {
			sendOrQueue(d.engine, x.token, x.pe, x.after)
		}
		if peer.unsent--; peer.unsent == 0 && !peer.stagedAlways {
			d.peers[x.pe].Staged = false
		}
		d.moved = d.moved || d.peers[x.pe].Queued > 0
	}
	if x.sent = true; x.open > 0 {
		return
	}
	if x.kind == toHeap {
		if e := endingOf(d.engine, x.pe); e.Err != nil {
			x.end = e
		}
		d.engine.End(Op{Token: x.token}, x.end)
	}
	d.free(x)
}

// free frees the record of a departure that is complete.
func (d *departures) free(x *departure) {
	x.kind = none
	d.spare = append(d.spare, x)
}

// UnderWay reports whether departures are under way, except to PEs whose programs have ended.
func (d *departures) UnderWay() bool {
	return len(d.spare) != len(d.all) && slices.ContainsFunc(d.all, func(x *departure) bool { return x.kind != none && !d.peers[x.pe].Left })
}

// CheckIdle returns an error that describes the departures under way, or nil if there are none.
// Tests call it at their end.
func (d *departures) CheckIdle() error {
	if d.waiting.Len() != 0 || d.ready.Len() != 0 || len(d.spare) != len(d.all) || d.noRoom {
		return fmt.Errorf("%d of %d departures, %d of them not begun, %d pieces ready, no room %v",
			len(d.all)-len(d.spare), len(d.all), d.waiting.Len(), d.ready.Len(), d.noRoom)
	}
	for i := range d.to {
		if n := d.to[i].unsent; n != 0 {
			return fmt.Errorf("%d departures for PE %d", n, i)
		}
	}
	return nil
}
