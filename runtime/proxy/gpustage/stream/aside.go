package stream

import (
	"unsafe"

	"libshmem/runtime/proxy/fifo"
	"libshmem/runtime/proxy/mem"
)

// The bytes of small puts arrive in messages, in any order, and each is stored in a slot of its
// own. Copies of neighbours are one call of the driver's only if their sources are at one distance,
// too. So their bytes are first packed into other pinned memory (aside), in the order of their
// destinations: 64 KiB take a processor some 6 us, and each call that this saves takes 3.

// fewAside is the least number of copies that are packed.
const fewAside = 4

// aside is a ring of pinned memory in which the bytes of several copies are packed. The zero value
// has no memory.
type aside struct {
	base unsafe.Pointer
	size uint64
	head uint64               // offset of the next bytes
	left uint64               // bytes that are free
	uses fifo.Queue[asideUse] // bytes that are not free, in order
	all  int                  // gathered copies that may be packed: their sources are main memory
}

// asideUse is n bytes of an aside that a stream may read until a mark has passed.
type asideUse struct{ mark, n uint64 }

// Aside sets n bytes of pinned memory in which a stream packs the bytes of small copies. Aside must
// be called before the stream gets work.
func (s *Set) Aside(on Stream, at unsafe.Pointer, n uint64) {
	s.tracks[on].aside = aside{base: at, size: n, left: n}
}

// CopyBytes puts a copy from main memory into a stream, otherwise like CopyAhead. The CPU may read
// the source, and so pack it with others.
func (s *Set) CopyBytes(on Stream, to, from unsafe.Pointer, n uint64) {
	s.tracks[on].aside.all++
	s.CopyAhead(on, to, from, n)
}

// pack sorts the gathered copies by their destinations and packs their bytes, so that neighbours at
// the destination are neighbours in the source, too. It does nothing if that saves no driver call.
func (t *track) pack() {
	a := &t.aside
	all := a.all == len(t.copies)
	a.all = 0
	if !all || len(t.copies) < fewAside || a.size == 0 || !t.sortCopies() {
		return
	}
	at, ok := a.allocate(t.held, t.marked+1)
	if !ok {
		return
	}
	for i := range t.copies {
		c := &t.copies[i]
		mem.Copy(at, c.From, int(c.N))
		c.From, at = at, unsafe.Add(at, c.N)
	}
}

// sortCopies sorts the copies by their destinations, if most are neighbours there and none overlaps
// another, and if their sources are not neighbours already, in the order of the copies. It reports
// whether it has sorted them, because only then packing saves driver calls.
func (t *track) sortCopies() bool {
	var order [MaxCopies]uint8
	packed := true
	for i := range t.copies {
		k := i
		for ; k > 0 && uintptr(t.copies[order[k-1]].To) > uintptr(t.copies[i].To); k-- {
			order[k] = order[k-1]
		}
		order[k] = uint8(i)
		packed = packed && (i == 0 || uintptr(t.copies[i].From) == uintptr(t.copies[i-1].From)+uintptr(t.copies[i-1].N))
	}
	neighbours := 0
	for i := 1; i < len(t.copies); i++ {
		a, b := &t.copies[order[i-1]], &t.copies[order[i]]
		switch end := uintptr(a.To) + uintptr(a.N); {
		case end > uintptr(b.To):
			return false
		case end == uintptr(b.To) && a.N == b.N:
			neighbours++
		}
	}
	if packed || 2*neighbours < len(t.copies) {
		return false
	}
	var all [MaxCopies]Copy
	n := copy(all[:], t.copies)
	for i := range n {
		t.copies[i] = all[order[i]]
	}
	return true
}

// allocate allocates n bytes until the stream passes a mark. It returns false if fewer bytes are
// free.
func (a *aside) allocate(n, mark uint64) (unsafe.Pointer, bool) {
	n = (n + 63) &^ 63
	begin, all := a.head, n
	if begin+n > a.size { // the rest of the ring is left unused
		begin, all = 0, n+a.size-begin
	}
	if all > a.left {
		return nil, false
	}
	a.left -= all
	a.uses.Push(asideUse{mark, all})
	a.head = begin + n
	return unsafe.Add(a.base, begin), true
}

// release frees the bytes that the stream has read, because it has passed a mark.
func (a *aside) release(mark uint64) {
	for a.uses.Len() > 0 && a.uses.At(0).mark <= mark {
		a.left += a.uses.Pop().n
	}
}
