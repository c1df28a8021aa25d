package gpustage

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// perform carries out a message, or puts its work into a stream. It returns false if that is not
// possible now; h may then have been reduced to the part that is left. It returns true, too, for a
// message that is refused. first says that h is in the list of waiting messages, as the first of
// its PE.
func (a *arrivals) perform(peer *arrivalPeer, h *layout.Header, payload unsafe.Pointer, n int, first bool) bool {
	a.streams.NoteDriverCall(backlog.CallCame, libshmem.PE(h.From))
	if h.Kind == layout.KindFlush { // the reply follows the stream's work for the PE
		if a.streams.LastPassed(stream.In) < peer.Issued {
			a.streams.AddChore(stream.In, stream.Chore{For: a, What: sendReply, PE: h.From, Token: h.Token})
		} else {
			a.reply(libshmem.PE(h.From), h.Token, 0)
		}
		return true
	}
	if !a.check.Segment.NamesGPU(h.Offset) { // the CPU applies it, after the stream's work for the PE
		if a.streams.LastPassed(stream.In) < peer.Issued {
			return false
		}
		if h.Kind == layout.KindPutSignal && a.check.Segment.NamesGPU(libshmem.Offset(h.Extra)) {
			a.part = layout.Header{Kind: layout.KindPut, From: h.From, Offset: h.Offset}
			if a.check.Word(h, libshmem.Offset(h.Extra), 8) == nil || !a.engine.Apply(&a.part, payload, n) {
				return true // it is refused, and nothing is left of it to perform
			}
			reduceToSignal(h)
			return a.changeWord(peer, h, first)
		}
		a.engine.Apply(h, payload, n)
		return true
	}
	if a.streams.Full(stream.In) {
		return false
	}
	switch h.Kind {
	case layout.KindAMO:
		return a.changeWord(peer, h, first)
	case layout.KindStore:
		return a.storeGPU(peer, h)
	}
	if h.Kind == layout.KindPutSignal && a.check.Word(h, libshmem.Offset(h.Extra), 8) == nil {
		return true // the signal is refused, and so are its bytes
	}
	if n > 0 && a.check.Target(h, h.Offset, uint64(n)) == nil {
		return true // the job fails, so the signal is dropped, too
	}
	if n > 0 && !a.copyPayload(peer, h, payload, n) {
		return false
	}
	if h.Kind == layout.KindPut {
		return true
	}
	reduceToSignal(h)
	if !a.check.Segment.NamesGPU(h.Offset) {
		return a.perform(peer, h, nil, 0, first)
	}
	return a.changeWord(peer, h, first)
}

// reduceToSignal changes the header of a put with signal into that of the signal alone, when its
// bytes are in place.
func reduceToSignal(h *layout.Header) {
	h.Kind, h.Width, h.Fetch, h.Token = layout.KindAMO, 8, 0, 0
	h.Offset, h.Extra = libshmem.Offset(h.Extra), 0
}

// noteIssued records the mark after the work that stream.In has for a PE: messages of the PE that
// the CPU applies wait until the stream has passed this mark.
func (a *arrivals) noteIssued(peer *arrivalPeer) {
	peer.Issued = a.streams.LastMark(stream.In)
}

// noteStored records the mark before which stream.In stores a word for a PE, for example a signal.
// Until the store is passed to the driver, bytes of the PE from after a fence must not overtake it
// (copyPayload).
func (a *arrivals) noteStored(peer *arrivalPeer) {
	peer.Stored = a.streams.NextMark(stream.In)
	a.noteIssued(peer)
}

// copyPayload lets the stream copy the bytes of a message to their destination, from a slot,
// because the next message needs the receive buffer. The copy overtakes stores, signals of other
// puts, that are gathered for a driver call: a copy between two stores would split that call. If
// such a store of this PE may be from before a fence (its epoch is not known to be that of these
// bytes), it goes to the driver first. False: no slot is free.
func (a *arrivals) copyPayload(peer *arrivalPeer, h *layout.Header, payload unsafe.Pointer, n int) bool {
	at := a.check.Target(h, h.Offset, uint64(n))
	if at == nil {
		return true
	}
	if a.streams.Storable(at, n) {
		a.streams.StoreWords(stream.In, at, payload, n)
		a.noteStored(peer)
		return true
	}
	i, ok := a.slots.Allocate()
	if !ok {
		return false
	}
	slot := a.slots.At(i)
	mem.Copy(slot, payload, n)
	next := a.streams.NextMark(stream.In)
	if peer.Stored == next && (h.Token == 0 || h.Token != peer.epoch || peer.epochMark != next) {
		a.streams.FlushStores(stream.In)
	}
	peer.epoch, peer.epochMark = h.Token, next
	a.streams.CopyBytes(stream.In, at, slot, uint64(n))
	a.noteIssued(peer)
	a.streams.AddChore(stream.In, stream.Chore{For: a, What: releaseSlot, Index: i})
	return true
}

// storeGPU stores an element in GPU memory: with one store of the stream if it has 4 or 8 bytes and
// is aligned, so that readers see all of it at once, and as a copy of bytes otherwise. False: no
// slot is free for the copy.
func (a *arrivals) storeGPU(peer *arrivalPeer, h *layout.Header) bool {
	w := h.Width
	if w == 0 || w > 8 || w&(w-1) != 0 {
		a.check.FailMalformed(h)
		return true
	}
	if w >= 4 && h.Offset&libshmem.Offset(w-1) == 0 {
		if at := a.check.Target(h, h.Offset, uint64(w)); at != nil {
			a.streams.Write(stream.In, at, w, h.Operand)
			a.noteStored(peer)
		}
		return true
	}
	value := h.Operand
	return a.copyPayload(peer, h, unsafe.Pointer(&value), int(w))
}

// changeWord carries out an atomic operation or the update of a signal on GPU memory, through
// streams. It returns false if that is not possible now. If the value of the word is known, because
// only such operations change it, the stream stores the new value. Two other kinds of operations
// are performed only from the list of waiting messages, where the operation stays until it is
// complete, so that later messages of its PE cannot overtake it: those that stream.Word carries
// out, and those in several steps, which beginWord starts. first says that h is in that list, as
// the first of its PE.
func (a *arrivals) changeWord(peer *arrivalPeer, h *layout.Header, first bool) bool {
	at := a.check.Word(h, h.Offset, h.Width)
	if at == nil {
		return true
	}
	bit := stream.AtomicBit(h.Op, h.Width)
	word := a.check.Segment.CachedWord(h.Offset)
	switch {
	case word != nil && word.Known && h.Width == 8:
		old := mem.Apply(h.Op, unsafe.Pointer(&word.Value), 8, h.Operand, h.Extra)
		a.streams.Write(stream.In, at, 8, word.Value)
		a.noteStored(peer)
		if h.Fetch != 0 {
			a.streams.RequireMark(stream.In)
			a.streams.AddChore(stream.In, stream.Chore{For: a, What: sendReply, PE: h.From, Token: h.Token, Value: old})
		}
	case a.streams.Atomics()&bit != 0:
		return false // Advance calls changeByStream when it is in the list
	case h.Op == fabric.OpFetch:
		i, ok := a.slots.Allocate()
		if !ok {
			return false
		}
		a.streams.Copy(stream.In, a.slots.At(i), at, uint64(h.Width))
		a.noteIssued(peer)
		a.streams.AddChore(stream.In, stream.Chore{For: a, What: sendValue, Index: i, Width: h.Width, PE: h.From, Token: h.Token})
	case a.words.lock != nil:
		// endWord applies this operation, and others on the same word, from the list.
		if first {
			a.beginWord(peer, h, at)
		}
		return false
	case h.Op == fabric.OpSet:
		a.streams.Write(stream.In, at, h.Width, h.Operand)
		a.noteStored(peer)
		if h.Fetch != 0 {
			a.streams.AddChore(stream.In, stream.Chore{For: a, What: sendReply, PE: h.From, Token: h.Token})
		}
	default:
		a.check.FailMalformed(h) // the sender knows which operations this PE supports
	}
	return true
}
