package proxy

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Messages of one PE take effect in their order, as they do on main memory. On
// GPU memory that is the order of one stream: bytes, signals and elements are put
// into it as their messages come, and nobody waits. A message waits only for
// bytes that have been offered before it and have not come yet, for an atomic
// operation that takes more than one step, and, where the CPU has to do it, for
// the stream.

// stages tells whether a message of a PE is one for this file.
func (e *Engine) stages(h *layout.Header) bool {
	return h.Kind <= layout.KindFlush && (e.segment.Heap != nil || e.peers[h.From].Behind)
}

// applyStaged lets a message through or keeps it.
func (e *Engine) applyStaged(h *layout.Header, payload unsafe.Pointer, n int) {
	e.settleWrites()
	l := &e.stage.lines[h.From]
	if l.held.Len() > 0 || l.pullDone != l.pullsAll || !e.perform(l, h, payload, n, false) {
		e.stage.hold(l, h, payload, n)
	}
	e.listen(l, h.From)
}

func (s *stage) hold(l *line, h *layout.Header, payload unsafe.Pointer, n int) {
	var b []byte
	if last := len(s.kept) - 1; last >= 0 {
		b, s.kept = s.kept[last], s.kept[:last]
	} else {
		b = make([]byte, messageSize)
	}
	*(*layout.Header)(unsafe.Pointer(&b[0])) = *h
	if n > 0 {
		mem.Copy(unsafe.Pointer(&b[layout.HeaderSize]), payload, n)
	}
	l.held.Push(held{b, n, l.pullsAll})
	l.heldAll++
}

// listen has a PE looked at until nothing of it waits. C leaves its messages to
// Go for as long.
func (e *Engine) listen(l *line, pe uint32) {
	if !l.listed && e.unfinished(l) {
		l.listed = true
		e.peers[pe].Behind = true
		e.stage.busy = append(e.stage.busy, fabric.PE(pe))
	}
}

// unfinished tells whether something of the line is not finished.
func (e *Engine) unfinished(l *line) bool {
	return l.held.Len() > 0 || l.pullDone != l.pullsAll || l.issued > e.stage.tracks[StreamIn].passed
}

// letThroughAll lets through what has waited long enough. It returns how many
// messages that were.
func (e *Engine) letThroughAll() int {
	s := e.stage
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
			if e.takesPlace(h) {
				if !e.changeByStream(l, h) {
					break
				}
				continue
			}
			if l.underway > 0 || !e.perform(l, h, unsafe.Pointer(&m.message[layout.HeaderSize]), m.n, true) {
				break
			}
			s.letThrough(l)
			n++
		}
		if e.unfinished(l) {
			still = append(still, pe)
			continue
		}
		l.listed = false
		e.peers[pe].Behind = s.flush != nil || e.isLost(pe)
	}
	s.busy, s.fresh = still, false
	s.yield()
	return n
}

func (s *stage) letThrough(l *line) {
	s.kept = append(s.kept, l.held.Pop().message[:messageSize])
	l.heldDone++
}

// perform does what a message asks for, as far as asking a stream for it. False:
// not now. It may change the message into what is left of it.
func (e *Engine) perform(l *line, h *layout.Header, payload unsafe.Pointer, n int, waits bool) bool {
	e.runs(errandCame, fabric.PE(h.From))
	in := &e.stage.tracks[StreamIn]
	if h.Kind == layout.KindFlush {
		if in.passed < l.issued {
			in.later(chore{what: taskAnswer, pe: h.From, token: h.Token})
		} else {
			e.answer(h, 0)
		}
		return true
	}
	if e.segment.Heap == nil || h.Offset < 0 {
		if in.passed < l.issued {
			return false
		}
		if h.Kind == layout.KindPutSignal && int64(h.Extra) >= 0 && e.segment.Heap != nil {
			if e.word(h, int64(h.Extra), 8) == nil || !e.change(&layout.Header{Kind: layout.KindPut, From: h.From, Offset: h.Offset}, payload, n) {
				return true
			}
			signalOnly(h)
			return e.changeWord(l, h, waits)
		}
		e.applyHost(h, payload, n)
		return true
	}
	if in.full() {
		return false
	}
	switch h.Kind {
	case layout.KindAMO:
		return e.changeWord(l, h, waits)
	case layout.KindStore:
		return e.storeGPU(l, h)
	}
	if h.Kind == layout.KindPutSignal && e.word(h, int64(h.Extra), 8) == nil {
		return true
	}
	if n > 0 && e.target(h, h.Offset, uint64(n)) == nil {
		return true // nor may its signal come
	}
	if n > 0 && !e.copyPayload(l, h, payload, n) {
		return false
	}
	if h.Kind == layout.KindPut {
		return true
	}
	signalOnly(h)
	if h.Offset < 0 {
		return e.perform(l, h, nil, 0, waits)
	}
	return e.changeWord(l, h, waits)
}

// signalOnly makes a put with signal the signal.
func signalOnly(h *layout.Header) {
	h.Kind, h.Width, h.Fetch = layout.KindAMO, 8, 0
	h.Offset, h.Extra = int64(h.Extra), 0
}

// did notes that something for a PE is in StreamIn.
func (s *stage) did(l *line) {
	l.issued = s.tracks[StreamIn].last()
}

// copyPayload puts the bytes of a message into place, by way of a slot: the
// receive buffer is needed for the next message.
func (e *Engine) copyPayload(l *line, h *layout.Header, payload unsafe.Pointer, n int) bool {
	at := e.target(h, h.Offset, uint64(n))
	if at == nil {
		return true
	}
	s := e.stage
	if e.storable(at, n) {
		e.storeWords(StreamIn, at, payload, n)
		s.did(l)
		return true
	}
	i, ok := s.coming.take()
	if !ok {
		return false
	}
	slot := s.coming.at(i)
	mem.Copy(slot, payload, n)
	e.copyGPU(StreamIn, at, slot, uint64(n))
	s.did(l)
	s.tracks[StreamIn].later(chore{what: taskApplied, index: i})
	return true
}

// storable tells whether bytes are there sooner word by word than by a copy.
func (e *Engine) storable(at unsafe.Pointer, n int) bool {
	odd := int(uintptr(at) & 4)
	return (uintptr(at)|uintptr(n))&3 == 0 && uint64(n+odd+7)/8 <= e.stage.memory.Words()
}

func (e *Engine) storeWords(s Stream, at, payload unsafe.Pointer, n int) {
	for i := 0; i < n; {
		to, w := unsafe.Add(at, i), 8
		if uintptr(to)&7 != 0 || n-i < 8 {
			w = 4
		}
		e.writeGPU(s, to, uint8(w), mem.Load(unsafe.Add(payload, i), w))
		i += w
	}
}

// storeGPU stores an element, at once for its readers where it is aligned.
func (e *Engine) storeGPU(l *line, h *layout.Header) bool {
	w := h.Width
	if w == 0 || w > 8 || w&(w-1) != 0 {
		e.malformed(h)
		return true
	}
	if w >= 4 && h.Offset&int64(w-1) == 0 {
		if at := e.target(h, h.Offset, uint64(w)); at != nil {
			e.writeGPU(StreamIn, at, w, h.Operand)
			e.stage.did(l)
		}
		return true
	}
	value := h.Operand
	return e.copyPayload(l, h, unsafe.Pointer(&value), int(w))
}

// changeWord does an atomic operation, in one step where there is one.
func (e *Engine) changeWord(l *line, h *layout.Header, waits bool) bool {
	s := e.stage
	at := e.word(h, h.Offset, h.Width)
	if at == nil {
		return true
	}
	bit := AtomicBit(h.Op, h.Width)
	switch {
	case s.atomic&bit != 0:
		return false // held first: see changeByStream
	case h.Op == OpFetch:
		i, ok := s.coming.take()
		if !ok {
			return false
		}
		e.copyGPU(StreamIn, s.coming.at(i), at, uint64(h.Width))
		s.did(l)
		s.tracks[StreamIn].later(chore{what: taskFetched, index: i, width: h.Width, pe: h.From, token: h.Token})
	case s.alone != nil:
		// Only the first message that is held, so that what ends it finds it.
		if waits {
			e.beginWord(l, h, at)
		}
		return false
	case h.Op == OpSet:
		e.writeGPU(StreamIn, at, h.Width, h.Operand)
		s.did(l)
		if h.Fetch != 0 {
			s.tracks[StreamIn].later(chore{what: taskAnswer, pe: h.From, token: h.Token})
		}
	default:
		e.malformed(h) // the sender knows what this PE can do
	}
	return true
}
