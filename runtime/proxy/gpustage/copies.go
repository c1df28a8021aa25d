package gpustage

// Copies read and write heaps of other PEs that are mapped in this process, between GPUs: all in
// one stream, in the order of posting, with each signal after its bytes. Only bytes may overtake
// the signals of other puts of their epoch.
//
// copies owns the order of these operations, and the signals that wait for their bytes. It does not
// own the pinned memory for bytes of main memory, which departures copy in pieces.

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// copiesDepartures copies between main memory and mapped heaps in pieces, through pinned memory. It
// calls copies.HandleBegun when all of an operation is in stream.Peer. departures implements it.
type copiesDepartures interface {
	CopyTo(pe libshmem.PE, t fabric.Token, epoch uint64, local, mapped unsafe.Pointer, n uint64, now bool)
	CopyFrom(pe libshmem.PE, t fabric.Token, local, mapped unsafe.Pointer, n uint64)
	// UnsentBefore reports whether bytes for a PE from before an epoch have not been sent.
	UnsentBefore(pe libshmem.PE, epoch uint64) bool
}

// copies are the operations of this PE on heaps of other PEs that this process has mapped.
type copies struct {
	engine  Engine
	state   *layout.State
	peers   []layout.Peer
	streams *stream.Set
	slots   *pool
	departs copiesDepartures
	to      []copiesPeer
	ops     [layout.Tokens]copyOperation
	moved   bool // operations are complete for which queued operations on the same PE may have waited
}

// copiesPeer counts the operations on the mapped heap of one PE.
type copiesPeer struct {
	mapped    unsafe.Pointer // address of its user heap in this process
	sets      bool           // a stream of this PE may set words there
	begun     uint64         // operations so far
	done      uint64         // operations that are complete
	epoch     uint64         // epoch of the last one
	before    uint64         // operations before the first of that epoch
	owed      int            // signals to send as messages when their bytes have been copied
	owedEpoch uint64         // epoch of the last of them
}

// copyOperation is an operation on a mapped heap that uses a token.
type copyOperation struct {
	pe        libshmem.PE
	put       bool
	hasSignal bool
	after     layout.Header // the signal
}

// newCopies returns the copies of an engine. Small bytes of main memory pass through slots, pinned
// memory.
func newCopies(e Engine, s *stream.Set, slots *pool, d copiesDepartures) *copies {
	x := e.Shared()
	return &copies{engine: e, state: x.State, peers: x.Peers, streams: s, slots: slots, departs: d}
}

// Connect sets the number of PEs.
func (c *copies) Connect(pes int) { c.to = make([]copiesPeer, pes) }

// Map sets where the user heap of a PE is mapped. sets says that a stream may set words of that
// heap, because the owner does not change words in several steps.
func (c *copies) Map(pe libshmem.PE, heap unsafe.Pointer, sets bool) {
	c.to[pe].mapped, c.to[pe].sets = heap, sets
}

// Mapped reports whether the user heap of a PE is mapped.
func (c *copies) Mapped(pe libshmem.PE) bool { return c.to[pe].mapped != nil }

// MustFollow reports whether some operations on a PE from before an epoch are not complete: an
// operation of the epoch that takes another path than the stream has to wait for them.
func (c *copies) MustFollow(pe libshmem.PE, epoch uint64) bool {
	peer := &c.to[pe]
	before := peer.begun
	if peer.epoch == epoch {
		before = peer.before
	}
	return peer.done < before
}

// tryBegin returns Done if an operation of n bytes on a mapped heap may start now, and Again if the
// stream is full, or if bytes or a signal from before a fence have not been put into the stream
// yet. Otherwise Engine.TryBegin decides.
func (c *copies) tryBegin(use Use, pe libshmem.PE, n uint64) call.Status {
	peer := &c.to[pe]
	if c.streams.Full(stream.Peer) || c.departs.UnsentBefore(pe, c.state.Epoch) || peer.owed > 0 && peer.owedEpoch != c.state.Epoch {
		return call.Again
	}
	return c.engine.TryBegin(use, pe, n)
}

// begin counts an operation on the mapped heap of a PE that is in the stream or will be put there.
// The bytes of an operation may overtake the signals of other puts of the same epoch, but not the
// signals of earlier epochs. So in a new epoch begin first puts the gathered stores, which have the
// signals, into the stream (FlushStores).
func (c *copies) begin(peer *copiesPeer) {
	if peer.epoch != c.state.Epoch {
		peer.epoch, peer.before = c.state.Epoch, peer.begun
		c.streams.FlushStores(stream.Peer)
	}
	peer.begun++
	c.streams.MarkBusy()
}

// inStream reports whether an atomic operation can be put into the stream: only a set, and only if
// no other context of the owner changes words.
func (peer *copiesPeer) inStream(op fabric.Op) bool { return peer.sets && op == fabric.OpSet }

// set puts the atomic set of an operation into the stream.
func (c *copies) set(peer *copiesPeer, h *layout.Header) {
	c.streams.Write(stream.Peer, unsafe.Add(peer.mapped, h.Offset), h.Width, h.Operand)
}

// Store stores an element on the mapped heap of a PE. Streams store aligned words of 4 and 8 bytes;
// any other element is a put.
func (c *copies) Store(pe libshmem.PE, offset libshmem.Offset, width uint8, value uint64) call.Status {
	if width < 4 || offset&libshmem.Offset(width-1) != 0 {
		return c.Put(pe, offset, unsafe.Pointer(&value), uint64(width), false, nil, nil) // from main memory, without a request and a signal
	}
	return c.setWord(UseStore, pe, &layout.Header{Op: fabric.OpSet, Width: width, Offset: offset, Operand: value})
}

// AMO puts an atomic operation into the stream, if the stream can do it. If ok is false, the engine
// has to send it to the owner of the heap. If operations on the PE are still in the stream then,
// AMO returns Again, because the owner must not overtake them.
func (c *copies) AMO(pe libshmem.PE, h *layout.Header) (st call.Status, ok bool) {
	if peer := &c.to[pe]; !peer.inStream(h.Op) {
		return call.Again, peer.done < peer.begun
	}
	return c.setWord(UseSet, pe, h), true
}

// setWord puts the store of a word on the mapped heap of a PE into the stream, for an atomic set or
// for the store of an element. It is under way until the stream has passed a later mark
// (storedLater).
func (c *copies) setWord(use Use, pe libshmem.PE, h *layout.Header) call.Status {
	if st := c.tryBegin(use, pe, 0); st != call.Done {
		return st
	}
	peer := &c.to[pe]
	c.begin(peer)
	c.streams.NoteDriverCall(backlog.CallPut, pe)
	c.set(peer, h)
	c.storedLater(pe, noPiece)
	return call.Done
}

// The chores of copies: what the CPU does after the stream has carried out some work.
const (
	stored = iota + 1 // work without a token is complete; a slot may be free
	copied            // an operation with a token is complete
)

// Follow performs a chore after the stream has carried out an operation: one that has a token
// (copied) ends with its token; for any other, the slot of its bytes is freed and it is counted as
// done. Operations that wait in the PE's queue may be posted then (moved).
func (c *copies) Follow(x *stream.Chore) {
	if x.What == copied {
		c.end(fabric.Token(x.Token))
		return
	}
	if x.Index != noPiece {
		c.slots.ReleaseFor(libshmem.PE(x.PE), x.Index)
	}
	c.to[x.PE].done++
	c.engine.End(Op{Parity: x.Parity}, Ending{})
	c.moved = c.moved || c.peers[x.PE].Queued > 0
}

// storedLater makes quiets wait for work without a token that was just put into the stream, and
// adds the chore that completes the work and frees its slot, if it has one.
func (c *copies) storedLater(pe libshmem.PE, slot uint16) {
	op, _ := c.engine.Begin(UseStore, pe, nil, 0)
	c.streams.AddChore(stream.Peer, stream.Chore{For: c, What: stored, Parity: op.Parity, PE: uint32(pe), Index: slot})
}

// Put copies n bytes to the mapped heap of a PE, and then applies the signal in after, if there is
// one. gpu says that the source is GPU memory. If it is main memory, and a message could hold the
// bytes, the source may be reused when Put returns. A signal at a negative offset is in the
// internal area, which is not mapped: it is sent as a message when the bytes have been copied.
func (c *copies) Put(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, gpu bool, r *call.Request, after *layout.Header) call.Status {
	if st := c.tryBegin(UseCopy, pe, n); st != call.Done {
		return st
	}
	peer := &c.to[pe]
	at := unsafe.Add(peer.mapped, offset)
	c.streams.NoteDriverCall(backlog.CallPut, pe)
	small := !gpu && n > 0 && n <= layout.MaxPayload
	if small && (after == nil || after.Offset >= 0 && peer.inStream(after.Op)) {
		return c.putSmall(pe, at, source, int(n), after)
	}
	if small && !c.slots.MayAllocateFor(pe) { // CopyTo copies small bytes to a slot at once
		return call.Again
	}
	if after != nil {
		if st := c.engine.TryBegin(UseSignal, pe, 0); st != call.Done {
			return st
		}
	}
	t, ok := c.allocateToken(pe, r, n)
	if !ok {
		return call.Again
	}
	c.begin(peer)
	o := &c.ops[t]
	o.put = true
	if after != nil {
		o.hasSignal, o.after = true, *after
		if after.Offset < 0 || !peer.inStream(after.Op) {
			peer.owed++
			peer.owedEpoch = c.state.Epoch
		}
	}
	if !gpu && n > 0 {
		c.departs.CopyTo(pe, t, c.state.Epoch, source, at, n, small)
		return call.Pending
	}
	if n > 0 {
		c.streams.CopyAhead(stream.Peer, at, source, n)
	}
	c.HandleBegun(t)
	return call.Pending
}

// putSmall copies n bytes of main memory that a message could hold, and their signal: the stream
// stores the bytes as words, or copies them from a slot. It returns Again if no slot is free.
func (c *copies) putSmall(pe libshmem.PE, at, source unsafe.Pointer, n int, after *layout.Header) call.Status {
	peer, slot := &c.to[pe], uint16(noPiece)
	if c.streams.Storable(at, n) {
		c.begin(peer)
		c.streams.StoreWords(stream.Peer, at, source, n)
	} else {
		var ok bool
		if slot, ok = c.slots.AllocateFor(pe); !ok {
			return call.Again
		}
		mem.Copy(c.slots.At(slot), source, n)
		c.begin(peer)
		c.streams.CopyBytes(stream.Peer, at, c.slots.At(slot), uint64(n))
	}
	if after != nil {
		c.set(peer, after)
	}
	c.storedLater(pe, slot)
	return call.Done
}

// allocateToken allocates a token for an operation of n bytes. Its request is r, or none if r is
// nil; quiets wait for it in both cases. allocateToken returns false if no token is free.
func (c *copies) allocateToken(pe libshmem.PE, r *call.Request, n uint64) (fabric.Token, bool) {
	op, st := c.engine.Begin(UseCopy, pe, r, n)
	if st != call.Done {
		return 0, false
	}
	c.ops[op.Token] = copyOperation{pe: pe}
	return op.Token, true
}

// Get copies n bytes from the mapped heap of a PE. No other operation is ordered with it. gpu says
// that the destination is GPU memory.
func (c *copies) Get(pe libshmem.PE, offset libshmem.Offset, dest unsafe.Pointer, n uint64, gpu bool, r *call.Request) call.Status {
	if c.streams.Full(stream.Peer) || c.engine.TryBegin(UseCopyBack, pe, n) != call.Done {
		return call.Again
	}
	t, ok := c.allocateToken(pe, r, n)
	if !ok {
		return call.Again
	}
	c.streams.MarkBusy()
	at := unsafe.Add(c.to[pe].mapped, offset)
	if !gpu {
		c.departs.CopyFrom(pe, t, dest, at, n)
		return call.Pending
	}
	c.streams.NoteDriverCall(backlog.CallGet, pe)
	c.streams.CopyAhead(stream.Peer, dest, at, n)
	c.HandleBegun(t)
	return call.Pending
}

// HandleBegun is called when all copies of an operation are in the stream. If the stream can set
// its signal, the signal follows the bytes there; otherwise end sends it. HandleBegun adds the
// chore that calls end.
func (c *copies) HandleBegun(t fabric.Token) {
	o := &c.ops[t]
	if peer, h := &c.to[o.pe], &o.after; o.hasSignal && h.Offset >= 0 && peer.inStream(h.Op) {
		c.set(peer, h)
		o.hasSignal = false
	}
	c.streams.RequireMark(stream.Peer)
	c.streams.AddChore(stream.Peer, stream.Chore{For: c, What: copied, Token: uint32(t)})
}

// end completes an operation whose copies the stream has carried out. If the stream could not set
// the operation's signal, end sends the signal as a message.
func (c *copies) end(t fabric.Token) {
	o := &c.ops[t]
	peer := &c.to[o.pe]
	if o.hasSignal {
		sendOrQueue(c.engine, t, o.pe, o.after)
		peer.owed--
	}
	if o.put {
		peer.done++
		c.moved = c.moved || c.peers[o.pe].Queued > 0
	}
	c.engine.End(Op{Token: t}, Ending{})
}

// CheckIdle returns an error that describes the operations under way, or nil if there are none.
// Tests call it at their end.
func (c *copies) CheckIdle() error {
	for i := range c.to {
		if peer := &c.to[i]; peer.begun != peer.done || peer.owed != 0 {
			return fmt.Errorf("copies to PE %d: %d of %d are complete, %d signals wait", i, peer.done, peer.begun, peer.owed)
		}
	}
	return nil
}
