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

// Atomic operations that a stream can do have a stream of their own. They may be kernels, and such
// a kernel waits while the program's kernels fill the GPU. Signals and bytes of other PEs must not
// wait for it, because a kernel of the program may wait for one of them. Such an operation is put
// into the stream when earlier messages of its PE are done. Later messages of the PE wait until it
// is done, except further operations of this kind.
//
// An operation that no stream can do is done in three steps: the word is copied to main memory, the
// new value is computed, and it is stored. That is atomic while nothing else changes the word
// (Alone). All operations that wait for the same word are done on one copy of it.

// takesPlace reports whether a message is an operation for stream.Word.
func (a *arrivals) takesPlace(h *layout.Header) bool {
	return h.Kind == layout.KindAMO && h.Offset >= 0 && a.gpu && h.Op <= fabric.OpFetchXor &&
		a.streams.Atomics()&stream.AtomicBit(h.Op, h.Width) != 0
}

// changeByStream puts the first waiting message of a PE that is not under way into stream.Word.
// False: not now.
func (a *arrivals) changeByStream(l *arrivalPeer, h *layout.Header) bool {
	if a.streams.Full(stream.Word) || a.streams.Passed(stream.In) < l.Issued {
		return false
	}
	at := a.named.Word(h, h.Offset, h.Width)
	if at == nil { // the job has failed
		return false
	}
	c := stream.Chore{For: a, What: changed, PE: h.From, Token: h.Token, Index: noPiece, Width: h.Width}
	var old unsafe.Pointer
	if h.Fetch != 0 {
		i, ok := a.slots.Take()
		if !ok {
			return false
		}
		c.Index, old = i, a.slots.At(i)
	}
	a.streams.Runs(backlog.CallCame, libshmem.PE(h.From))
	a.streams.Atomic(stream.Word, at, h, old)
	a.streams.Later(stream.Word, c)
	l.underway++
	return true
}

// Alone is shared by the engines of a PE. It makes their atomic operations on its GPU memory, done
// by reading, computing and writing, atomic together. It may only be given if only these engines
// change words atomically: no kernel, and no PE that loads and stores there. Engines that copy to
// the heap leave such operations to the owner.
type Alone struct{ taken atomic.Bool }

// maxWords caps the words under change at a time.
const maxWords = 32

// words are the words under change: an atomic operation reads, computes and writes in several steps
// of a stream, and no other may change the word meanwhile.
type words struct {
	alone *Alone // nil: operations that no stream can do are refused
	all   []word
	mine  bool   // this engine holds alone
	until uint64 // mark of stream.In that has to pass before alone is given back
	fresh bool   // this turn may take alone and begin words
	wants bool   // this engine waits for another one to release alone
}

// word is one word under change.
type word struct {
	at    unsafe.Pointer // nil: not in use
	width uint8
	slot  uint16
}

// begin starts a turn in which messages wait.
func (w *words) begin() {
	if w.alone != nil && !w.mine {
		w.fresh = true
	}
}

// may reports whether an operation on a word may begin now.
func (w *words) may(at unsafe.Pointer, width uint8) bool {
	if !w.mine && w.fresh {
		if w.wants = !w.alone.taken.CompareAndSwap(false, true); !w.wants {
			w.mine, w.until = true, 0
		}
	}
	// Later messages have to wait for the next turn with Alone, or other engines would never have
	// their turn.
	if !w.mine || !w.fresh || len(w.all) == maxWords {
		return false
	}
	for i := range w.all {
		if o := &w.all[i]; o.at != nil && overlap(o.at, o.width, at, width) {
			return false // it is done with the operation that is under way, or after it
		}
	}
	return true
}

func overlap(a unsafe.Pointer, n uint8, b unsafe.Pointer, m uint8) bool {
	return uintptr(a) < uintptr(b)+uintptr(m) && uintptr(b) < uintptr(a)+uintptr(n)
}

// end ends a turn. It gives Alone back when all words have been stored; passed is the last mark
// that stream.In has passed.
func (w *words) end(passed uint64) {
	w.fresh = false
	if !w.mine || passed < w.until {
		return
	}
	for i := range w.all {
		if w.all[i].at != nil {
			return
		}
	}
	w.all, w.mine = w.all[:0], false
	w.alone.taken.Store(false)
}

// beginWord begins the first waiting message of a PE, if that is possible now.
func (a *arrivals) beginWord(l *arrivalPeer, h *layout.Header, at unsafe.Pointer) {
	w := &a.words
	if !w.may(at, h.Width) {
		return
	}
	i, ok := a.slots.Take()
	if !ok {
		return
	}
	a.streams.Copy(stream.In, a.slots.At(i), at, uint64(h.Width))
	a.did(l)
	l.changing = true
	w.all = append(w.all, word{at, h.Width, i})
	a.streams.Later(stream.In, stream.Chore{For: a, What: wordRead, Index: uint16(len(w.all) - 1), PE: h.From})
}

// endWord is called when the value of a word has been read. It does the PE's operation, and other
// waiting operations that are first for their PEs and change the same word.
func (a *arrivals) endWord(c *stream.Chore) {
	w := &a.words.all[c.Index]
	var old uint64
	mem.Copy(unsafe.Pointer(&old), a.slots.At(w.slot), int(w.width))
	a.slots.Give(w.slot)
	value := old
	a.in[c.PE].changing = false
	a.streams.Fresh(stream.In) // because of the store below, which the answers have to follow
	for _, pe := range a.busy {
		l := &a.in[pe]
		for l.held.Len() > 0 && l.underway == 0 && !l.changing {
			m := l.held.At(0)
			h := a.header(pe, m)
			if h.Kind != layout.KindAMO || l.Pulls.Done < m.pulls || h.Width != w.width || h.Offset < 0 || a.named.Word(h, h.Offset, h.Width) != w.at {
				break
			}
			old := mem.Apply(h.Op, unsafe.Pointer(&value), h.Width, h.Operand, h.Extra)
			l.Issued, l.Stored = a.streams.Last(stream.In), a.streams.Next(stream.In)
			if h.Fetch != 0 {
				a.streams.Later(stream.In, stream.Chore{For: a, What: sendReply, PE: h.From, Token: h.Token, Value: old})
			}
			a.letThrough(pe)
		}
	}
	a.streams.Runs(backlog.CallCame, libshmem.PE(c.PE))
	a.streams.Write(stream.In, w.at, w.width, value)
	a.words.until = a.streams.Last(stream.In)
	w.at = nil
}
