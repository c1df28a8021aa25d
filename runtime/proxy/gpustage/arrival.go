package gpustage

// Arrivals are the messages of other PEs that change GPU memory, or that have to follow one that
// does.
//
// Messages of one PE take effect in the order of posting, as they do on main memory. On GPU memory
// that is the order of one stream: bytes, signals and elements are put into it when their messages
// arrive, without a wait. A message waits only for bytes of earlier requests to send that have not
// arrived yet, for an atomic operation that takes more than one step, and, if the CPU has to apply
// it, for the stream.
//
// arrivals owns the messages that wait, and the atomic operations that are under way. It does not
// own the streams, the slots for bytes, and the reads of announced bytes, whose progress it reads.

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/early"
	"libshmem/runtime/proxy/fifo"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// arrivals are the messages of other PEs that concern GPU memory, and the work for them under way.
type arrivals struct {
	engine    Engine
	check     mem.Checker
	streams   *stream.Set
	slots     *pool // for bytes of messages, and for old values
	heaps     *heaps
	gpu       bool // this PE's user heap, or regions of it, are GPU memory
	peers     []layout.Peer
	in        []arrivalPeer   // by PE
	busy      []libshmem.PE   // PEs whose messages wait, or may have to wait
	kept      *early.Messages // the waiting messages, by PE and number
	assembled []byte          // header and payload of the message that storeWaiting stores
	part      layout.Header   // the part of a message that is applied to main memory
	words     words           // words under change by atomic operations in steps
}

// arrivalPeer has the state of one PE's messages. Each message waits for the bytes of all earlier
// requests to send.
type arrivalPeer struct {
	*progress // counts of its messages and pulls, and marks of its work in stream.In
	held      fifo.Queue[waitingMessage]
	changing  bool // the first waiting message is an atomic operation in steps, under way
	underway  int  // number of atomic operations in stream.Word: the first of the waiting messages
	listed    bool // the PE is in busy

	epoch     uint32 // layout.State.EpochToken of its last put that was copied
	epochMark uint64 // the mark after that copy
}

// waitingMessage is a message of a PE that has arrived and cannot be applied yet.
type waitingMessage struct {
	pulls  uint64 // pulls of its PE that have to be complete first
	number uint32 // its number among the PE's messages that had to wait
	n      uint32 // bytes of payload
}

// newArrivals returns the arrivals of an engine. gpu says that this PE has GPU memory that messages
// may name. Only then are slots, pinned memory for bytes of messages, and lock used; lock may be
// nil.
func newArrivals(e Engine, s *stream.Set, x *heaps, gpu bool, slots *pool, lock *AtomicsLock) *arrivals {
	shared := e.Shared()
	return &arrivals{engine: e, check: shared.Checker, streams: s, heaps: x, gpu: gpu, peers: shared.Peers, slots: slots, kept: early.New(layout.MessageSize), words: words{lock: lock}}
}

// Connect sets the number of PEs, and the progress for each that arrivals and pulls share.
func (a *arrivals) Connect(all []progress) {
	a.in = make([]arrivalPeer, len(all))
	for i := range all {
		a.in[i].progress = &all[i]
	}
}

// The chores of arrivals: what the CPU does after a stream has carried out some work.
const (
	releaseSlot = iota + 1 // bytes are in place: free their slot
	sendReply              // the work of a request is complete: send the reply
	sendValue              // a value is in a slot: send it as the reply
	wordRead               // the word of an atomic operation in steps is in a slot
	changed                // stream.Word has carried out an atomic operation
)

// Follow performs a chore of arrivals, work of the CPU after a stream has carried out the work
// before it. c.What says which chore.
func (a *arrivals) Follow(c *stream.Chore) {
	switch c.What {
	case releaseSlot:
		a.slots.Release(c.Index)
	case sendReply:
		a.reply(libshmem.PE(c.PE), c.Token, c.Value)
	case sendValue:
		a.replyFrom(c)
	case wordRead:
		a.endWord(c)
	case changed:
		if c.Index != noPiece { // the old value is in a slot, for the reply
			a.replyFrom(c)
		}
		a.in[c.PE].underway--
		a.removeFirst(libshmem.PE(c.PE))
	}
}

// reply sends value as the reply to the PE's request that carried the token.
func (a *arrivals) reply(pe libshmem.PE, token uint32, value uint64) {
	sendOrQueue(a.engine, noOperation, pe, layout.Header{Kind: layout.KindReply, Token: token, Operand: value})
}

// replyFrom sends the reply to a request, with the value in a slot of pinned memory, and frees the
// slot.
func (a *arrivals) replyFrom(c *stream.Chore) {
	value := mem.Load(a.slots.At(c.Index), int(c.Width))
	a.slots.Release(c.Index)
	a.reply(libshmem.PE(c.PE), c.Token, value)
}

// Apply applies a message, or stores it until it can be applied. It returns false for a message
// that neither changes GPU memory nor has to follow one that does. NIC writes are flushed first,
// because the message may follow one.
func (a *arrivals) Apply(h *layout.Header, payload unsafe.Pointer, n int) bool {
	if !a.gpu && !a.peers[h.From].Behind {
		return false
	}
	a.heaps.Flush()
	peer := &a.in[h.From]
	if peer.held.Len() > 0 || peer.Pulls.Open() || !a.perform(peer, h, payload, n, false) { // false: h is in no list
		a.storeWaiting(peer, h, payload, n)
	}
	a.MarkBusy(libshmem.PE(h.From))
	return true
}

// storeWaiting stores a copy of a message that cannot be applied yet. Advance applies it when the
// messages before it, and the bytes announced before it, are in place.
func (a *arrivals) storeWaiting(peer *arrivalPeer, h *layout.Header, payload unsafe.Pointer, n int) {
	if a.assembled == nil {
		a.assembled = make([]byte, layout.MessageSize)
	}
	m := a.assembled[:layout.HeaderSize+n]
	*(*layout.Header)(unsafe.Pointer(&m[0])) = *h
	if n > 0 {
		mem.Copy(unsafe.Pointer(&m[layout.HeaderSize]), payload, n)
	}
	number := uint32(peer.Kept.All)
	a.kept.Keep(h.From, number, m)
	peer.held.Push(waitingMessage{peer.Pulls.All, number, uint32(n)})
	peer.Kept.All++
}

var _ [early.BlockSize - layout.HeaderSize]struct{} // the first block of a stored message has its header

// header returns the header of a waiting message. The caller may change it: perform reduces a
// message to the part that is left.
func (a *arrivals) header(pe libshmem.PE, m *waitingMessage) *layout.Header {
	return (*layout.Header)(unsafe.Pointer(unsafe.SliceData(a.kept.Begin(uint32(pe), m.number))))
}

// performWaiting performs a waiting message, or the part of it that is left. It returns false if
// the message still has to wait. A message in one block is read in place; a longer one is copied
// together first.
func (a *arrivals) performWaiting(peer *arrivalPeer, pe libshmem.PE, m *waitingMessage) bool {
	h := a.header(pe, m)
	if layout.HeaderSize+m.n <= early.BlockSize {
		return a.perform(peer, h, unsafe.Add(unsafe.Pointer(h), layout.HeaderSize), int(m.n), true) // true: h is the first in the list
	}
	message := a.kept.Copy(uint32(pe), m.number)
	defer a.kept.Reuse(message)
	return a.perform(peer, h, unsafe.Pointer(&message[layout.HeaderSize]), int(m.n), true)
}

// MarkBusy adds a PE to busy, the PEs that Advance checks at each poll, if work for its messages is
// not complete. Until it is, C leaves the messages of that PE to Go.
func (a *arrivals) MarkBusy(pe libshmem.PE) {
	if peer := &a.in[pe]; !peer.listed && a.unfinished(peer) {
		peer.listed = true
		a.peers[pe].Behind = true
		a.busy = append(a.busy, pe)
	}
}

// unfinished reports whether messages of a PE wait, bytes that it announced have not arrived, or
// stream.In has not carried out work for it.
func (a *arrivals) unfinished(peer *arrivalPeer) bool {
	return peer.held.Len() > 0 || peer.Pulls.Open() || peer.Issued > a.streams.LastPassed(stream.In)
}

// Advance applies the waiting messages of each busy PE that need not wait any more, in their order.
// Atomic operations that a stream carries out by kernels may be under way several at a time
// (underway); any other message waits until those are complete.
func (a *arrivals) Advance() {
	if len(a.busy) > 0 {
		a.words.beginPoll()
	}
	still := a.busy[:0]
	for _, pe := range a.busy {
		peer := &a.in[pe]
		for peer.held.Len() > peer.underway && !peer.changing {
			m := peer.held.At(peer.underway)
			if peer.Pulls.Done < m.pulls {
				break
			}
			if h := a.header(pe, m); a.needsKernel(h) {
				if !a.changeByStream(peer, h) {
					break
				}
				continue
			}
			if peer.underway > 0 || !a.performWaiting(peer, pe, m) {
				break
			}
			a.removeFirst(pe)
		}
		if a.unfinished(peer) {
			still = append(still, pe)
			continue
		}
		peer.listed = false
		// C may handle messages of that PE again, unless Go has to handle all of them: because this
		// PE has to flush the writes of NICs, which C does not do (heaps.flushBy), or because that
		// PE is lost.
		a.peers[pe].Behind = a.heaps.MustFlush() || a.engine.Lost(pe) != nil
	}
	a.busy = still
	a.words.endPoll(a.streams.LastPassed(stream.In))
}

// WantsLock reports whether an atomic operation in steps waits because another engine of this PE
// has locked the AtomicsLock.
func (a *arrivals) WantsLock() bool { return a.words.wants }

// Busy returns the number of PEs that have messages whose work is not complete.
func (a *arrivals) Busy() int { return len(a.busy) }

// Atomics returns the atomic operations that this PE carries out for others on its GPU memory, by
// stream.AtomicBit. With an AtomicsLock it carries out all of them, some in steps, so it adds
// OwnerAlone: no other PE may change the words.
func (a *arrivals) Atomics() uint64 {
	if a.words.lock != nil {
		return stream.AllAtomics | stream.OwnerAlone
	}
	return a.streams.Atomics() | stream.PlainAtomics
}

// Drop removes the waiting messages of a lost PE. Messages that are in a stream stay until the
// stream has carried them out.
func (a *arrivals) Drop(pe libshmem.PE) {
	peer := &a.in[pe]
	keep := peer.underway // operations in stream.Word end in Follow, those in steps in endWord
	if peer.changing {
		keep = max(keep, 1)
	}
	for peer.held.Len() > keep {
		a.kept.Forget(uint32(pe), peer.held.PopLast().number)
		peer.Kept.Done++
	}
}

// CheckIdle returns an error that describes the waiting messages, or nil if no message waits. Tests
// call it at their end.
func (a *arrivals) CheckIdle() error {
	if len(a.busy) != 0 || a.words.hasLock || a.kept.Len() != 0 {
		return fmt.Errorf("%d PEs busy, lock %v, %d messages kept", len(a.busy), a.words.hasLock, a.kept.Len())
	}
	for i := range a.in {
		if peer := &a.in[i]; peer.held.Len() != 0 || peer.Kept.Open() || peer.Pulls.Open() || peer.changing || peer.underway != 0 || peer.listed {
			return fmt.Errorf("messages of PE %d: %+v, %+v", i, peer, *peer.progress)
		}
	}
	return nil
}

// removeFirst removes the first waiting message of a PE, which has been applied.
func (a *arrivals) removeFirst(pe libshmem.PE) {
	peer := &a.in[pe]
	a.kept.Forget(uint32(pe), peer.held.Pop().number)
	peer.Kept.Done++
}
