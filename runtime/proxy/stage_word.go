package proxy

import "unsafe"

// An atomic operation that the GPU has no way for in a stream is done in three
// steps: the word is copied to main memory, the new value is computed, and it is
// stored. That is atomic while nobody else changes the word (Alone). All
// operations that wait for the same word are done on one copy of it.

// word is one that is being changed.
type word struct {
	at    unsafe.Pointer // nil: none
	width uint8
	slot  uint16
}

// maxWords bounds how many are under way.
const maxWords = 32

// beginWord begins the first message that the line holds, if that can be now.
func (e *Engine) beginWord(l *line, h *header, at unsafe.Pointer) {
	s := e.stage
	if !s.mine && s.fresh {
		if s.wants = !s.alone.taken.CompareAndSwap(false, true); !s.wants {
			s.mine, s.until = true, 0
		}
	}
	// What came later has to wait for the next turn with Alone, or other engines
	// would never have theirs.
	if !s.mine || !s.fresh || len(s.words) == maxWords {
		return
	}
	for i := range s.words {
		if o := &s.words[i]; o.at != nil && overlap(o.at, o.width, at, h.Width) {
			return // done along with the one that is under way, or after it
		}
	}
	i, ok := s.coming.take()
	if !ok {
		return
	}
	e.copyGPU(StreamIn, s.coming.at(i), at, uint64(h.Width))
	s.did(l)
	l.changing = true
	s.words = append(s.words, word{at, h.Width, i})
	s.tracks[StreamIn].later(chore{what: taskWord, index: uint16(len(s.words) - 1), pe: h.From})
}

func overlap(a unsafe.Pointer, n uint8, b unsafe.Pointer, m uint8) bool {
	return uintptr(a) < uintptr(b)+uintptr(m) && uintptr(b) < uintptr(a)+uintptr(n)
}

// endWord comes when the value of a word is there. It does what the PE has asked
// for and whatever else is first in its line and about the same word.
func (e *Engine) endWord(c *chore) {
	s := e.stage
	w := &s.words[c.index]
	var old uint64
	copyBytes(unsafe.Pointer(&old), s.coming.at(w.slot), int(w.width))
	s.coming.give(w.slot)
	value := old
	s.lines[c.pe].changing = false
	in := &s.tracks[StreamIn]
	in.fresh = true // of the store below, which the answers have to follow
	for _, pe := range s.busy {
		l := &s.lines[pe]
		for l.held.n > 0 && !l.changing {
			m := l.held.at(0)
			h := (*header)(unsafe.Pointer(&m.message[0]))
			if h.Kind != kindAMO || l.pullDone < m.pulls || h.Width != w.width || h.Offset < 0 || e.word(h, h.Offset, h.Width) != w.at {
				break
			}
			old := applyOp(h.Op, unsafe.Pointer(&value), h.Width, h.Operand, h.Extra)
			l.issued = in.last()
			if h.Fetch != 0 {
				in.later(chore{what: taskAnswer, pe: h.From, token: h.Token, value: old})
			}
			s.letThrough(l)
		}
	}
	e.writeGPU(StreamIn, w.at, w.width, value)
	s.until = in.last()
	w.at = nil
}

// yield gives Alone back when all words have been stored.
func (s *stage) yield() {
	if !s.mine || s.tracks[StreamIn].passed < s.until {
		return
	}
	for i := range s.words {
		if s.words[i].at != nil {
			return
		}
	}
	s.words, s.mine = s.words[:0], false
	s.alone.taken.Store(false)
}
