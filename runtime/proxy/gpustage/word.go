package gpustage

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// An atomic operation that a stream can do has a stream of its own, for it may be a
// kernel, and while the program's kernels fill the GPU that waits. Signals and
// bytes of other PEs must not wait along: a kernel may be there for one of them.
// It is asked for when what its PE sent before is done, and what its PE sent after
// it is held until it is done itself, but for more of the kind.
//
// One that no stream can do is done in three steps: the word is copied to main
// memory, the new value is computed, and it is stored. That is atomic while nothing
// else changes the word (Alone). All operations that wait for the same word are
// done on one copy of it.

// takesPlace reports whether a message is an operation for StreamWord.
func (s *Stage) takesPlace(h *layout.Header) bool {
	return h.Kind == layout.KindAMO && h.Offset >= 0 && s.segment.Heap != nil && h.Op <= fabric.OpFetchXor &&
		s.atomic&AtomicBit(h.Op, h.Width) != 0
}

// changeByStream asks for the first message that the line holds and that is not
// under way. False: not now.
func (s *Stage) changeByStream(l *stagedPeer, h *layout.Header) bool {
	t := &s.tracks[StreamWord]
	if t.full() || s.tracks[StreamIn].passed < l.issued {
		return false
	}
	at := s.engine.Word(h, h.Offset, h.Width)
	if at == nil { // and the job has failed
		return false
	}
	c := chore{what: taskChanged, pe: h.From, token: h.Token, index: noRecord, width: h.Width}
	var old unsafe.Pointer
	if h.Fetch != 0 {
		i, ok := s.coming.take()
		if !ok {
			return false
		}
		c.index, old = i, s.coming.at(i)
	}
	s.runs(backlog.CallCame, fabric.PE(h.From))
	s.atomicGPU(StreamWord, at, h, old)
	t.later(c)
	l.underway++
	return true
}

// changed comes when it is done.
func (s *Stage) changed(c *chore) {
	l := &s.lines[c.pe]
	if c.index != noRecord {
		value := mem.Load(s.coming.at(c.index), int(c.width))
		s.coming.give(c.index)
		s.engine.Answer(fabric.PE(c.pe), c.token, value)
	}
	l.underway--
	s.letThrough(l)
}

// word is one that is being changed.
type word struct {
	at    unsafe.Pointer // nil: none
	width uint8
	slot  uint16
}

// maxWords bounds how many are under way.
const maxWords = 32

// beginWord begins the first message that the line holds, if that can be now.
func (s *Stage) beginWord(l *stagedPeer, h *layout.Header, at unsafe.Pointer) {
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
	s.copyGPU(StreamIn, s.coming.at(i), at, uint64(h.Width))
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
func (s *Stage) endWord(c *chore) {
	w := &s.words[c.index]
	var old uint64
	mem.Copy(unsafe.Pointer(&old), s.coming.at(w.slot), int(w.width))
	s.coming.give(w.slot)
	value := old
	s.lines[c.pe].changing = false
	in := &s.tracks[StreamIn]
	in.fresh = true // of the store below, which the answers have to follow
	for _, pe := range s.busy {
		l := &s.lines[pe]
		for l.held.Len() > 0 && l.underway == 0 && !l.changing {
			m := l.held.At(0)
			h := (*layout.Header)(unsafe.Pointer(&m.message[0]))
			if h.Kind != layout.KindAMO || l.pullDone < m.pulls || h.Width != w.width || h.Offset < 0 || s.engine.Word(h, h.Offset, h.Width) != w.at {
				break
			}
			old := mem.Apply(h.Op, unsafe.Pointer(&value), h.Width, h.Operand, h.Extra)
			l.issued = in.last()
			if h.Fetch != 0 {
				in.later(chore{what: taskAnswer, pe: h.From, token: h.Token, value: old})
			}
			s.letThrough(l)
		}
	}
	s.runs(backlog.CallCame, fabric.PE(c.pe))
	s.writeGPU(StreamIn, w.at, w.width, value)
	s.until = in.last()
	w.at = nil
}

// yield gives Alone back when all words have been stored.
func (s *Stage) yield() {
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
