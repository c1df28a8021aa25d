package stream

import (
	"unsafe"

	"libshmem/runtime/proxy/fifo"
	"libshmem/runtime/proxy/mem"
)

// The bytes of small puts arrive in messages, in any order, and each message is in a slot of its
// own. The driver makes several copies in one call only if both their destinations and their
// sources are at equal distances. So the CPU first packs the bytes of neighbouring destinations
// into other pinned memory (aside), in the order of their destinations. Packing 64 KiB takes a
// processor some 6 us, and each call that this saves takes 3 us.

// fewAside is the least number of copies that are packed: fewer save too few calls.
const fewAside = 4

// aside is a ring of pinned memory in which the bytes of several copies are packed. The zero value
// has no memory.
type aside struct {
	base unsafe.Pointer
	size uint64
	head uint64               // offset of the next bytes
	left uint64               // bytes that are free
	uses fifo.Queue[asideUse] // the bytes in use, in the order of the ring
	all  int                  // how many gathered copies the CPU may pack: their sources are main memory
}

// asideUse is n bytes of an aside, which the stream may read until it passes a mark.
type asideUse struct{ mark, n uint64 }

// Aside gives a stream n bytes of pinned memory in which the CPU packs the bytes of small copies.
// It must be called before the stream gets work.
func (s *Set) Aside(id Stream, at unsafe.Pointer, n uint64) {
	s.tracks[id].aside = aside{base: at, size: n, left: n}
}

// CopyBytes is CopyAhead for a source in main memory, which the CPU can read and so pack with other
// sources.
func (s *Set) CopyBytes(id Stream, to, from unsafe.Pointer, n uint64) {
	s.tracks[id].aside.all++
	s.CopyAhead(id, to, from, n)
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

// sortCopies sorts the copies by their destinations, and reports whether it has done so. It does it
// only if packing then saves driver calls: at least half of the copies have the next one as their
// neighbour at the destination, and their sources are not neighbours already. Copies that overlap
// stay as they are, because the later one has to win.
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
	n = (n + 63) &^ 63 // whole cache lines
	begin, all := a.head, n
	if begin+n > a.size { // the bytes have to be in one piece, so the end of the ring stays unused
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

// release frees the bytes of copies before a mark, which the stream has passed.
func (a *aside) release(mark uint64) {
	for a.uses.Len() > 0 && a.uses.At(0).mark <= mark {
		a.left += a.uses.Pop().n
	}
}
