package gpustage

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Messages of one PE take effect in their order, as they do on main memory. On GPU memory that is
// the order of one stream: bytes, signals and elements are put into it as their messages come,
// without a wait. A message waits only for bytes of earlier requests to send that have not come
// yet, for an atomic operation that takes more than one step, and, if the CPU has to apply it, for
// the stream.

// Apply takes a message that has to keep its order with GPU memory, or that concerns bytes on their
// way. It returns false for any other message.
func (s *Stage) Apply(h *layout.Header, payload unsafe.Pointer, n int) bool {
	switch {
	case h.Kind <= layout.KindFlush:
		if s.segment.Heap == nil && !s.peers[h.From].Behind {
			return false
		}
		s.applyInOrder(h, payload, n)
	case h.Kind == layout.KindRequestToSend:
		s.takeRequestToSend(h, payload, n)
	case h.Kind == layout.KindFinished:
		s.finished(h)
	case h.Kind == layout.KindFetch:
		s.takeFetch(h)
	case h.Kind == layout.KindData:
		s.takeData(h, payload, n)
	case h.Kind == layout.KindExtent:
		s.takeExtent(h)
	default:
		return false
	}
	return true
}

// applyInOrder applies a message or keeps it.
func (s *Stage) applyInOrder(h *layout.Header, payload unsafe.Pointer, n int) {
	s.Flush()
	l := &s.lines[h.From]
	if l.held.Len() > 0 || l.pullDone != l.pullsAll || !s.perform(l, h, payload, n, false) {
		s.hold(l, h, payload, n)
	}
	s.listen(l, h.From)
}

func (s *Stage) hold(l *stagedPeer, h *layout.Header, payload unsafe.Pointer, n int) {
	var b []byte
	if last := len(s.kept) - 1; last >= 0 {
		b, s.kept = s.kept[last], s.kept[:last]
	} else {
		b = make([]byte, layout.MessageSize)
	}
	*(*layout.Header)(unsafe.Pointer(&b[0])) = *h
	if n > 0 {
		mem.Copy(unsafe.Pointer(&b[layout.HeaderSize]), payload, n)
	}
	l.held.Push(waitingMessage{b, n, l.pullsAll})
	l.heldAll++
}

// listen adds a PE to those that each turn looks at, until none of its messages waits. Until then C
// leaves its messages to Go.
func (s *Stage) listen(l *stagedPeer, pe uint32) {
	if !l.listed && s.unfinished(l) {
		l.listed = true
		s.peers[pe].Behind = true
		s.busy = append(s.busy, fabric.PE(pe))
	}
}

// unfinished reports whether work for messages of a PE is not finished.
func (s *Stage) unfinished(l *stagedPeer) bool {
	return l.held.Len() > 0 || l.pullDone != l.pullsAll || l.issued > s.streams.Passed(StreamIn)
}

// letThroughAll applies the waiting messages whose time has come. It returns how many.
func (s *Stage) letThroughAll() int {
	if s.alone != nil && !s.mine && len(s.busy) > 0 {
		s.fresh = true
	}
	n := 0
	still := s.busy[:0]
	for _, pe := range s.busy {
		l := &s.lines[pe]
		for l.held.Len() > l.underway && !l.changing {
			m := l.held.At(l.underway)
			h := (*layout.Header)(unsafe.Pointer(&m.message[0]))
			if l.pullDone < m.pulls {
				break
			}
			if s.takesPlace(h) {
				if !s.changeByStream(l, h) {
					break
				}
				continue
			}
			if l.underway > 0 || !s.perform(l, h, unsafe.Pointer(&m.message[layout.HeaderSize]), m.n, true) {
				break
			}
			s.letThrough(l)
			n++
		}
		if s.unfinished(l) {
			still = append(still, pe)
			continue
		}
		l.listed = false
		s.peers[pe].Behind = s.flush != nil || s.engine.Lost(pe) != nil
	}
	s.busy, s.fresh = still, false
	s.yield()
	return n
}

func (s *Stage) letThrough(l *stagedPeer) {
	s.kept = append(s.kept, l.held.Pop().message[:layout.MessageSize])
	l.heldDone++
}

// perform does what a message asks for, or puts it into a stream. False: not now. It may reduce the
// message to the part that is left.
func (s *Stage) perform(l *stagedPeer, h *layout.Header, payload unsafe.Pointer, n int, waits bool) bool {
	s.streams.Runs(backlog.CallCame, fabric.PE(h.From))
	if h.Kind == layout.KindFlush {
		if s.streams.Passed(StreamIn) < l.issued {
			s.streams.Later(StreamIn, stream.Chore{For: s, What: taskAnswer, PE: h.From, Token: h.Token})
		} else {
			s.engine.Answer(fabric.PE(h.From), h.Token, 0)
		}
		return true
	}
	if s.segment.Heap == nil || h.Offset < 0 {
		if s.streams.Passed(StreamIn) < l.issued {
			return false
		}
		if h.Kind == layout.KindPutSignal && int64(h.Extra) >= 0 && s.segment.Heap != nil {
			s.part = layout.Header{Kind: layout.KindPut, From: h.From, Offset: h.Offset}
			if s.engine.Word(h, int64(h.Extra), 8) == nil || !s.engine.Change(&s.part, payload, n) {
				return true
			}
			signalOnly(h)
			return s.changeWord(l, h, waits)
		}
		s.engine.Apply(h, payload, n)
		return true
	}
	if s.streams.Full(StreamIn) {
		return false
	}
	switch h.Kind {
	case layout.KindAMO:
		return s.changeWord(l, h, waits)
	case layout.KindStore:
		return s.storeGPU(l, h)
	}
	if h.Kind == layout.KindPutSignal && s.engine.Word(h, int64(h.Extra), 8) == nil {
		return true
	}
	if n > 0 && s.engine.Target(h, h.Offset, uint64(n)) == nil {
		return true // and its signal is dropped, too
	}
	if n > 0 && !s.copyPayload(l, h, payload, n) {
		return false
	}
	if h.Kind == layout.KindPut {
		return true
	}
	signalOnly(h)
	if h.Offset < 0 {
		return s.perform(l, h, nil, 0, waits)
	}
	return s.changeWord(l, h, waits)
}

// signalOnly reduces a put with signal to its signal.
func signalOnly(h *layout.Header) {
	h.Kind, h.Width, h.Fetch = layout.KindAMO, 8, 0
	h.Offset, h.Extra = int64(h.Extra), 0
}

// did notes that work for a PE is in StreamIn.
func (s *Stage) did(l *stagedPeer) {
	l.issued = s.streams.Last(StreamIn)
}

// copyPayload puts the bytes of a message into place, through a slot, because the next message
// needs the receive buffer.
func (s *Stage) copyPayload(l *stagedPeer, h *layout.Header, payload unsafe.Pointer, n int) bool {
	at := s.engine.Target(h, h.Offset, uint64(n))
	if at == nil {
		return true
	}
	if s.streams.Storable(at, n) {
		s.streams.StoreWords(StreamIn, at, payload, n)
		s.did(l)
		return true
	}
	i, ok := s.coming.Take()
	if !ok {
		return false
	}
	slot := s.coming.At(i)
	mem.Copy(slot, payload, n)
	s.streams.Copy(StreamIn, at, slot, uint64(n))
	s.did(l)
	s.streams.Later(StreamIn, stream.Chore{For: s, What: taskApplied, Index: i})
	return true
}

// storeGPU stores an element. If it is aligned, readers see all of it at once.
func (s *Stage) storeGPU(l *stagedPeer, h *layout.Header) bool {
	w := h.Width
	if w == 0 || w > 8 || w&(w-1) != 0 {
		s.engine.Malformed(h)
		return true
	}
	if w >= 4 && h.Offset&int64(w-1) == 0 {
		if at := s.engine.Target(h, h.Offset, uint64(w)); at != nil {
			s.streams.Write(StreamIn, at, w, h.Operand)
			s.did(l)
		}
		return true
	}
	value := h.Operand
	return s.copyPayload(l, h, unsafe.Pointer(&value), int(w))
}

// changeWord does an atomic operation, in one step if a stream can do that.
func (s *Stage) changeWord(l *stagedPeer, h *layout.Header, waits bool) bool {
	at := s.engine.Word(h, h.Offset, h.Width)
	if at == nil {
		return true
	}
	bit := AtomicBit(h.Op, h.Width)
	switch {
	case s.atomic&bit != 0:
		return false // it is kept first: see changeByStream
	case h.Op == fabric.OpFetch:
		i, ok := s.coming.Take()
		if !ok {
			return false
		}
		s.streams.Copy(StreamIn, s.coming.At(i), at, uint64(h.Width))
		s.did(l)
		s.streams.Later(StreamIn, stream.Chore{For: s, What: taskFetched, Index: i, Width: h.Width, PE: h.From, Token: h.Token})
	case s.alone != nil:
		// Only for the first waiting message, because the end of the word looks for it there.
		if waits {
			s.beginWord(l, h, at)
		}
		return false
	case h.Op == fabric.OpSet:
		s.streams.Write(StreamIn, at, h.Width, h.Operand)
		s.did(l)
		if h.Fetch != 0 {
			s.streams.Later(StreamIn, stream.Chore{For: s, What: taskAnswer, PE: h.From, Token: h.Token})
		}
	default:
		s.engine.Malformed(h) // the sender knows which operations this PE can do
	}
	return true
}
