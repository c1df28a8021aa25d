package gpustage

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Atomic operations that a stream can do have a stream of their own. They may be kernels, and such
// a kernel waits while the program's kernels fill the GPU. Signals and bytes of other PEs must not
// wait for it, because a kernel of the program may wait for one of them. Such an operation is put
// into the stream when earlier messages of its PE are done. Later messages of the PE wait until it
// is done, except further operations of this kind.
//
// An operation that no stream can do is done in three steps: the word is copied to main memory, the
// new value is computed, and it is stored. That is atomic while nothing else changes the word
// (Alone). All operations that wait for the same word are done on one copy of it.

// takesPlace reports whether a message is an operation for StreamWord.
func (s *Stage) takesPlace(h *layout.Header) bool {
	return h.Kind == layout.KindAMO && h.Offset >= 0 && s.segment.Heap != nil && h.Op <= fabric.OpFetchXor &&
		s.atomic&AtomicBit(h.Op, h.Width) != 0
}

// changeByStream puts the first waiting message of a PE that is not under way into StreamWord.
// False: not now.
func (s *Stage) changeByStream(l *stagedPeer, h *layout.Header) bool {
	if s.streams.Full(StreamWord) || s.streams.Passed(StreamIn) < l.issued {
		return false
	}
	at := s.engine.Word(h, h.Offset, h.Width)
	if at == nil { // the job has failed
		return false
	}
	c := stream.Chore{For: s, What: taskChanged, PE: h.From, Token: h.Token, Index: noRecord, Width: h.Width}
	var old unsafe.Pointer
	if h.Fetch != 0 {
		i, ok := s.coming.Take()
		if !ok {
			return false
		}
		c.Index, old = i, s.coming.At(i)
	}
	s.streams.Runs(backlog.CallCame, fabric.PE(h.From))
	s.streams.Atomic(StreamWord, at, h, old)
	s.streams.Later(StreamWord, c)
	l.underway++
	return true
}

// changed is called when the operation is done.
func (s *Stage) changed(c *stream.Chore) {
	l := &s.lines[c.PE]
	if c.Index != noRecord {
		value := mem.Load(s.coming.At(c.Index), int(c.Width))
		s.coming.Give(c.Index)
		s.engine.Answer(fabric.PE(c.PE), c.Token, value)
	}
	l.underway--
	s.letThrough(l)
}

// word is a word that is being changed.
type word struct {
	at    unsafe.Pointer // nil: not in use
	width uint8
	slot  uint16
}

// maxWords bounds how many are under way.
const maxWords = 32

// beginWord begins the first waiting message of a PE, if that is possible now.
func (s *Stage) beginWord(l *stagedPeer, h *layout.Header, at unsafe.Pointer) {
	if !s.mine && s.fresh {
		if s.wants = !s.alone.taken.CompareAndSwap(false, true); !s.wants {
			s.mine, s.until = true, 0
		}
	}
	// Later messages have to wait for the next turn with Alone, or other engines would never have
	// their turn.
	if !s.mine || !s.fresh || len(s.words) == maxWords {
		return
	}
	for i := range s.words {
		if o := &s.words[i]; o.at != nil && overlap(o.at, o.width, at, h.Width) {
			return // it is done with the operation that is under way, or after it
		}
	}
	i, ok := s.coming.Take()
	if !ok {
		return
	}
	s.streams.Copy(StreamIn, s.coming.At(i), at, uint64(h.Width))
	s.did(l)
	l.changing = true
	s.words = append(s.words, word{at, h.Width, i})
	s.streams.Later(StreamIn, stream.Chore{For: s, What: taskWord, Index: uint16(len(s.words) - 1), PE: h.From})
}

func overlap(a unsafe.Pointer, n uint8, b unsafe.Pointer, m uint8) bool {
	return uintptr(a) < uintptr(b)+uintptr(m) && uintptr(b) < uintptr(a)+uintptr(n)
}

// endWord is called when the value of a word has been read. It does the PE's operation, and other
// waiting operations that are first for their PEs and change the same word.
func (s *Stage) endWord(c *stream.Chore) {
	w := &s.words[c.Index]
	var old uint64
	mem.Copy(unsafe.Pointer(&old), s.coming.At(w.slot), int(w.width))
	s.coming.Give(w.slot)
	value := old
	s.lines[c.PE].changing = false
	s.streams.Fresh(StreamIn) // because of the store below, which the answers have to follow
	for _, pe := range s.busy {
		l := &s.lines[pe]
		for l.held.Len() > 0 && l.underway == 0 && !l.changing {
			m := l.held.At(0)
			h := (*layout.Header)(unsafe.Pointer(&m.message[0]))
			if h.Kind != layout.KindAMO || l.pullDone < m.pulls || h.Width != w.width || h.Offset < 0 || s.engine.Word(h, h.Offset, h.Width) != w.at {
				break
			}
			old := mem.Apply(h.Op, unsafe.Pointer(&value), h.Width, h.Operand, h.Extra)
			l.issued = s.streams.Last(StreamIn)
			if h.Fetch != 0 {
				s.streams.Later(StreamIn, stream.Chore{For: s, What: taskAnswer, PE: h.From, Token: h.Token, Value: old})
			}
			s.letThrough(l)
		}
	}
	s.streams.Runs(backlog.CallCame, fabric.PE(c.PE))
	s.streams.Write(StreamIn, w.at, w.width, value)
	s.until = s.streams.Last(StreamIn)
	w.at = nil
}

// yield gives Alone back when all words have been stored.
func (s *Stage) yield() {
	if !s.mine || s.streams.Passed(StreamIn) < s.until {
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
