package gpustage

// A pool allocates pinned memory for copies to and from a GPU, in pieces of one size, or of that
// size and halves of it (a buddy allocator).
//
// It owns the lists of free pieces, and how much each PE holds. It does not own the memory. It has
// no lock: only a thread that holds the engine's lock calls it.

import (
	"math/bits"
	"unsafe"

	"libshmem"
)

// noPiece is the index that stands for "no piece": for example, in the chore of an operation that
// uses no slot. No pool has so many units.
const noPiece = 0xffff

// maxHalvings is the number of times that a piece may be halved: 1 MiB into pieces of 8 KiB.
const maxHalvings = 7

// leastSubstitute is the least size of a piece that AllocateUpTo returns instead of a larger one,
// if the PE holds other pieces. If only smaller ones are free, the PE waits, because each piece
// costs messages and a read of its own.
const leastSubstitute = 64 << 10

// pool is a block of memory that is divided into units of equal size. The zero value has no memory.
// A piece of order o has 1<<o units, and the index of its first unit, a multiple of 1<<o, is its
// name. The two halves of a larger piece (buddies) are joined when both are free.
type pool struct {
	base  unsafe.Pointer
	unit  uint64 // bytes of a unit, the smallest piece
	units int
	left  int                    // units that are free
	free  [maxHalvings + 1][]set // free pieces: by order, then a bit for each first unit
	top   int                    // order of the largest pieces: they have 1<<top units
	order []uint8                // order of the piece that begins at each unit
	held  []uint32               // units that each PE holds, from AllocateFor and AllocateUpTo
}

// set has a bit for each of 64 units.
type set uint64

// newPool returns a pool of n pieces at base, all of one size.
func newPool(base unsafe.Pointer, size uint64, n int) pool { return makePool(base, size, n, 0) }

// newDivisiblePool returns a pool of n pieces of size bytes at base. The pool halves a piece to
// serve a smaller request, as long as the size of the halves is a multiple of least.
func newDivisiblePool(base unsafe.Pointer, size, least uint64, n int) pool {
	top := 0
	for top < maxHalvings && size>>top%(2*least) == 0 {
		top++
	}
	return makePool(base, size, n, top)
}

// makePool returns a pool of n pieces of size bytes at base, each of which may be halved top times:
// a unit is the smallest piece. All pieces are free, and none is halved yet.
func makePool(base unsafe.Pointer, size uint64, n, top int) pool {
	p := pool{base: base, unit: size >> top, units: n << top, top: top}
	p.order = make([]uint8, p.units)
	for i := range p.free[:top+1] {
		p.free[i] = make([]set, (p.units+63)/64)
	}
	for i := range n {
		p.markFree(top, i<<top)
	}
	p.left = p.units
	return p
}

// markFree marks the piece of an order whose first unit is i as free.
func (p *pool) markFree(order, i int) { p.free[order][i/64] |= 1 << (i % 64) }

// markInUse marks the piece of an order whose first unit is i as in use.
func (p *pool) markInUse(order, i int) { p.free[order][i/64] &^= 1 << (i % 64) }

// isFree reports whether the piece of an order whose first unit is i is free.
func (p *pool) isFree(order, i int) bool {
	return i < p.units && p.free[order][i/64]>>(i%64)&1 != 0
}

// bytes returns the bytes of a piece of an order.
func (p *pool) bytes(order uint8) uint64 { return p.unit << order }

// capacity returns the bytes of the allocated piece whose first unit is i.
func (p *pool) capacity(i uint16) uint64 { return p.bytes(p.order[i]) }

// first returns the index of the first free piece of an order, and false if none is free.
func (p *pool) first(order int) (int, bool) {
	for i, s := range p.free[order] {
		if s != 0 {
			return 64*i + bits.TrailingZeros64(uint64(s)), true
		}
	}
	return 0, false
}

// Connect sets the number of PEs, for AllocateFor and AllocateUpTo, which may be called only after
// it.
func (p *pool) Connect(pes int) { p.held = make([]uint32, pes) }

// Size returns the bytes of the largest pieces.
func (p *pool) Size() uint64 { return p.unit << p.top }

// Len returns the number of units: the index of a piece is below it.
func (p *pool) Len() int { return p.units }

// At returns the address of a piece.
func (p *pool) At(i uint16) unsafe.Pointer { return unsafe.Add(p.base, uint64(i)*p.unit) }

// Allocate returns the index of a piece of the largest size. It returns false if no such piece is
// free.
func (p *pool) Allocate() (uint16, bool) { return p.allocate(p.top) }

// allocate returns the index of a piece of an order. It takes the smallest free piece that is large
// enough, so that larger ones stay whole, and halves it down to the order. It returns false if no
// free piece is large enough.
func (p *pool) allocate(order int) (uint16, bool) {
	for from := order; from <= p.top; from++ {
		i, ok := p.first(from)
		if !ok {
			continue
		}
		p.markInUse(from, i)
		for ; from > order; from-- {
			p.markFree(from-1, i+1<<(from-1))
		}
		p.order[i] = uint8(order)
		p.left -= 1 << order
		return uint16(i), true
	}
	return 0, false
}

// Release frees the piece whose first unit is i. While the buddy, the other half of the next larger
// piece, is free too, it joins the two.
func (p *pool) Release(i uint16) {
	at, order := int(i), int(p.order[i])
	p.left += 1 << order
	for ; order < p.top && p.isFree(order, at^1<<order); order++ {
		p.markInUse(order, at^1<<order)
		at &^= 1 << order
	}
	p.markFree(order, at)
}

// AllocateFor allocates a piece of the largest size for an operation on a PE. It returns false if
// none is free, or if the PE already holds its share (MayAllocateFor). So a PE whose operations
// never complete leaves about half of the memory to the others.
func (p *pool) AllocateFor(pe libshmem.PE) (uint16, bool) {
	if !p.MayAllocateFor(pe) {
		return 0, false
	}
	i, ok := p.Allocate()
	if ok {
		p.held[pe] += 1 << p.top
	}
	return i, ok
}

// AllocateUpTo allocates a piece of n bytes for an operation on a PE, or, if none is free, a
// smaller one. A piece below leastSubstitute replaces a larger one only for a PE that holds no
// other piece. got is the usable size of the piece, at most n. It returns false if the PE already
// holds its share (MayAllocateFor), or if no piece that it may get is free.
func (p *pool) AllocateUpTo(pe libshmem.PE, n uint64) (i uint16, got uint64, ok bool) {
	if !p.MayAllocateFor(pe) {
		return 0, 0, false
	}
	want := 0
	for want < p.top && p.unit<<want < n {
		want++
	}
	for order := want; order >= 0; order-- {
		if p.held[pe] > 0 && p.bytes(uint8(order)) < min(n, leastSubstitute) {
			break
		}
		if i, ok = p.allocate(order); ok {
			p.held[pe] += 1 << order
			return i, min(n, p.capacity(i)), true
		}
	}
	return 0, 0, false
}

// Trim shortens piece i, which a PE holds, to the smallest order that has n bytes, and frees the
// rest: the upper half each time it halves the piece. It is called for a piece that puts were to
// join, when that closes before it is full.
func (p *pool) Trim(pe libshmem.PE, i uint16, n uint64) {
	for order := p.order[i]; order > 0 && n <= p.bytes(order-1); {
		order--
		p.order[i] = order
		half := i + 1<<order
		p.order[half] = order
		p.ReleaseFor(pe, half)
	}
}

// MayAllocateFor reports whether a PE may get one more piece: it holds none, or fewer units than
// are free.
func (p *pool) MayAllocateFor(pe libshmem.PE) bool {
	held := p.held[pe]
	return held == 0 || int(held) < p.left
}

// ReleaseFor frees piece i, which a PE got from AllocateFor or AllocateUpTo.
func (p *pool) ReleaseFor(pe libshmem.PE, i uint16) {
	p.held[pe] -= 1 << p.order[i]
	p.Release(i)
}

// AllFree reports whether all pieces are free, and no PE holds one.
func (p *pool) AllFree() bool {
	for _, n := range p.held {
		if n != 0 {
			return false
		}
	}
	return p.left == p.units
}
