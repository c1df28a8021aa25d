package gpustage

import (
	"sync/atomic"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Atomic operations that a stream can do have a stream of their own, stream.Word. The stream may
// carry them out by kernels, and such a kernel waits while the program's kernels fill the GPU.
// Signals and bytes of other PEs must not wait for it, because a kernel of the program may wait for
// one of them. An operation is put into the stream when the earlier messages of its PE are
// complete. Later messages of the PE wait until it is complete, except further operations of this
// kind.
//
// An operation that no stream can do takes three steps: a stream copies the word to main memory,
// the CPU computes the new value, and the stream stores it. That is atomic while no other engine
// changes the word (AtomicsLock). All operations that wait for the same word are done on one copy
// of it.

// needsKernel reports whether a message is an atomic operation that stream.Word carries out,
// perhaps with a kernel, which waits while the GPU is full.
func (a *arrivals) needsKernel(h *layout.Header) bool {
	return h.Kind == layout.KindAMO && a.check.Segment.NamesGPU(h.Offset) && h.Op <= fabric.OpFetchXor &&
		a.streams.Atomics()&stream.AtomicBit(h.Op, h.Width) != 0
}

// changeByStream puts an atomic operation, the first waiting message of a PE that is not under way,
// into stream.Word. It returns false if earlier work is not complete, no slot is free, or the
// stream is full.
func (a *arrivals) changeByStream(peer *arrivalPeer, h *layout.Header) bool {
	if a.streams.Full(stream.Word) || a.streams.LastPassed(stream.In) < peer.Issued {
		return false
	}
	at := a.check.Word(h, h.Offset, h.Width)
	if at == nil { // the job has failed
		return false
	}
	c := stream.Chore{For: a, What: changed, PE: h.From, Token: h.Token, Index: noPiece, Width: h.Width}
	var old unsafe.Pointer
	if h.Fetch != 0 {
		i, ok := a.slots.Allocate()
		if !ok {
			return false
		}
		c.Index, old = i, a.slots.At(i)
	}
	a.streams.NoteDriverCall(backlog.CallCame, libshmem.PE(h.From))
	a.streams.Atomic(stream.Word, at, h, old)
	a.streams.AddChore(stream.Word, c)
	peer.underway++
	return true
}

// AtomicsLock is a lock that the engines of a PE share. Their atomic operations on the PE's GPU
// memory read, compute and write in steps; the lock makes them atomic with respect to each other. A
// Stage may use one only if no kernel and no other PE changes the same words by atomic operations
// of its own. PEs that only copy to this PE's heap do not: they send their atomic operations to
// this PE.
type AtomicsLock struct{ taken atomic.Bool }

// maxWords is the largest number of words of GPU memory that atomic operations in steps change at a
// time.
const maxWords = 32

// words are the words that atomic operations in steps change at present: until the stream has
// stored the new value, no other operation may change the word.
type words struct {
	lock    *AtomicsLock // nil: operations that no stream can do are refused
	all     []word
	hasLock bool   // this engine has locked the lock
	until   uint64 // the mark that stream.In has to pass before this engine unlocks it
	fresh   bool   // this poll may lock it, and start to change words
	wants   bool   // this engine waits until another one unlocks it
}

// word is one word of GPU memory that an atomic operation in steps changes.
type word struct {
	at    unsafe.Pointer // nil: not in use
	width uint8
	slot  uint16
}

// beginPoll is called when the engine begins to apply the messages that have arrived. If this
// engine does not have the AtomicsLock, under which one engine of the PE at a time changes words of
// GPU memory in steps, tryBegin may lock it in this poll.
func (w *words) beginPoll() {
	if w.lock != nil && !w.hasLock {
		w.fresh = true
	}
}

// tryBegin locks the AtomicsLock, if this engine has not locked it and this poll may. It reports
// whether an atomic operation in steps may start on a word now: this engine has locked, fewer than
// maxWords words are under change, and no operation under way changes the word.
func (w *words) tryBegin(at unsafe.Pointer, width uint8) bool {
	if !w.hasLock && w.fresh {
		if w.wants = !w.lock.taken.CompareAndSwap(false, true); !w.wants {
			w.hasLock, w.until = true, 0
		}
	}
	// fresh is false if this engine already held the lock when the poll began. Then no further
	// operation starts until it unlocks: otherwise other engines might never get the lock.
	if !w.hasLock || !w.fresh || len(w.all) == maxWords {
		return false
	}
	for i := range w.all {
		if o := &w.all[i]; o.at != nil && overlap(o.at, o.width, at, width) {
			return false // endWord also performs this operation, or it starts after that
		}
	}
	return true
}

// overlap reports whether n bytes at a and m bytes at b overlap.
func overlap(a unsafe.Pointer, n uint8, b unsafe.Pointer, m uint8) bool {
	return uintptr(a) < uintptr(b)+uintptr(m) && uintptr(b) < uintptr(a)+uintptr(n)
}

// endPoll is called at the end of a poll. It unlocks the AtomicsLock if all words under change have
// been stored; passed is the last mark that stream.In has passed.
func (w *words) endPoll(passed uint64) {
	w.fresh = false
	if !w.hasLock || passed < w.until {
		return
	}
	for i := range w.all {
		if w.all[i].at != nil {
			return
		}
	}
	w.all, w.hasLock = w.all[:0], false
	w.lock.taken.Store(false)
}

// beginWord starts an atomic operation in steps, the first waiting message of a PE, if it may start
// now: it has a stream copy the word to a slot. endWord does the next steps.
func (a *arrivals) beginWord(peer *arrivalPeer, h *layout.Header, at unsafe.Pointer) {
	w := &a.words
	if !w.tryBegin(at, h.Width) {
		return
	}
	i, ok := a.slots.Allocate()
	if !ok {
		return
	}
	a.streams.Copy(stream.In, a.slots.At(i), at, uint64(h.Width))
	a.noteIssued(peer)
	peer.changing = true
	w.all = append(w.all, word{at, h.Width, i})
	a.streams.AddChore(stream.In, stream.Chore{For: a, What: wordRead, Index: uint16(len(w.all) - 1), PE: h.From})
}

// endWord is called when a stream has copied a word to a slot. It applies the PE's atomic operation
// to the value, and all operations on the same word that are at the head of their PEs' waiting
// messages. Then it has the stream store the new value, and sends the replies after that store.
func (a *arrivals) endWord(c *stream.Chore) {
	w := &a.words.all[c.Index]
	var old uint64
	mem.Copy(unsafe.Pointer(&old), a.slots.At(w.slot), int(w.width))
	a.slots.Release(w.slot)
	value := old
	var known *mem.CachedWord // the cached copy of the word; nil: it has none
	a.in[c.PE].changing = false
	a.streams.RequireMark(stream.In) // the replies have to follow the store below
	for _, pe := range a.busy {
		peer := &a.in[pe]
		for peer.held.Len() > 0 && peer.underway == 0 && !peer.changing {
			m := peer.held.At(0)
			h := a.header(pe, m)
			if h.Kind != layout.KindAMO || peer.Pulls.Done < m.pulls || h.Width != w.width || !a.check.Segment.NamesGPU(h.Offset) || a.check.Word(h, h.Offset, h.Width) != w.at {
				break
			}
			if h.Width == 8 {
				known = a.check.Segment.CachedWord(h.Offset)
			}
			old := mem.Apply(h.Op, unsafe.Pointer(&value), h.Width, h.Operand, h.Extra)
			peer.Issued, peer.Stored = a.streams.LastMark(stream.In), a.streams.NextMark(stream.In)
			if h.Fetch != 0 {
				a.streams.AddChore(stream.In, stream.Chore{For: a, What: sendReply, PE: h.From, Token: h.Token, Value: old})
			}
			a.removeFirst(pe)
		}
	}
	a.streams.NoteDriverCall(backlog.CallCame, libshmem.PE(c.PE))
	a.streams.Write(stream.In, w.at, w.width, value)
	if known != nil {
		*known = mem.CachedWord{Value: value, Known: true}
	}
	a.words.until = a.streams.LastMark(stream.In)
	w.at = nil
}
