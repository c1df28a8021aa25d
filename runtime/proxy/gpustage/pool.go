package gpustage

// A pool allocates pinned memory for copies to and from a GPU, in pieces of one size, or of that
// size and halves of it (a buddy allocator).
//
// It owns which pieces are free, and how much each PE holds. It does not own the memory. It has no
// lock: the thread that holds the engine's lock uses it.

import (
	"math/bits"
	"unsafe"

	"libshmem"
)

// noPiece is the index of a piece where there is none.
const noPiece = 0xffff

// mostHalvings is the number of times that a piece may be halved: 1 MiB into pieces of 8 KiB.
const mostHalvings = 7

// worth is the least size of a piece that TakeUpTo allocates in place of a larger one, for a PE
// that has other pieces. With less the PE waits, because each piece takes messages and a read of
// its own.
const worth = 64 << 10

// pool is a block of memory in pieces. The zero value has none. A piece is named by its first unit,
// and has a number of units that is a power of two, by which its first unit can be divided: the two
// halves of a larger piece join when both are free.
type pool struct {
	base  unsafe.Pointer
	unit  uint64 // bytes of the smallest piece
	units int
	left  int                     // units that are free
	free  [mostHalvings + 1][]set // pieces of 1, 2, 4 units and so on, by first unit
	top   int                     // order of the largest pieces: they have 1<<top units
	order []uint8                 // of the piece that begins at a unit
	has   []uint32                // units that each PE holds, from TakeFor and TakeUpTo
}

// set has a bit for each of 64 units.
type set uint64

// newPool returns a pool of n pieces at base, all of one size.
func newPool(base unsafe.Pointer, size uint64, n int) pool { return makePool(base, size, n, 0) }

// newParts returns a pool of n pieces at base. A piece is halved for a smaller need, as long as the
// halves are multiples of least.
func newParts(base unsafe.Pointer, size, least uint64, n int) pool {
	top := 0
	for top < mostHalvings && size>>top%(2*least) == 0 {
		top++
	}
	return makePool(base, size, n, top)
}

// makePool returns a pool of n pieces at base, which may be halved top times.
func makePool(base unsafe.Pointer, size uint64, n, top int) pool {
	p := pool{base: base, unit: size >> top, units: n << top, top: top}
	p.order = make([]uint8, p.units)
	for i := range p.free[:top+1] {
		p.free[i] = make([]set, (p.units+63)/64)
	}
	for i := range n {
		p.put(top, i<<top)
	}
	p.left = p.units
	return p
}

// These functions mark a piece of an order, named by its first unit i, as free or as in use, and
// report whether it is free; the last two return the bytes of a piece.
func (p *pool) put(order, i int)         { p.free[order][i/64] |= 1 << (i % 64) }
func (p *pool) drop(order, i int)        { p.free[order][i/64] &^= 1 << (i % 64) }
func (p *pool) is(order, i int) bool     { return i < p.units && p.free[order][i/64]>>(i%64)&1 != 0 }
func (p *pool) bytes(o uint8) uint64     { return p.unit << o }
func (p *pool) capacity(i uint16) uint64 { return p.bytes(p.order[i]) }

// first returns the first free piece of an order.
func (p *pool) first(order int) (int, bool) {
	for i, s := range p.free[order] {
		if s != 0 {
			return 64*i + bits.TrailingZeros64(uint64(s)), true
		}
	}
	return 0, false
}

// Connect sets the number of PEs. It comes before TakeFor.
func (p *pool) Connect(pes int) { p.has = make([]uint32, pes) }

// Size returns the bytes of the largest pieces.
func (p *pool) Size() uint64 { return p.unit << p.top }

// Len returns the number of names that pieces may have.
func (p *pool) Len() int { return p.units }

// At returns the address of a piece.
func (p *pool) At(i uint16) unsafe.Pointer { return unsafe.Add(p.base, uint64(i)*p.unit) }

// Take gives out a piece of the largest size; false: there is none.
func (p *pool) Take() (uint16, bool) { return p.take(p.top) }

// take allocates a piece of an order. It halves the smallest free piece that is large enough, so
// that larger ones stay whole. False: there is none.
func (p *pool) take(order int) (uint16, bool) {
	for from := order; from <= p.top; from++ {
		i, ok := p.first(from)
		if !ok {
			continue
		}
		p.drop(from, i)
		for ; from > order; from-- {
			p.put(from-1, i+1<<(from-1))
		}
		p.order[i] = uint8(order)
		p.left -= 1 << order
		return uint16(i), true
	}
	return 0, false
}

// Give frees a piece, and joins it with its other half while that is free.
func (p *pool) Give(i uint16) {
	at, order := int(i), int(p.order[i])
	p.left += 1 << order
	for ; order < p.top && p.is(order, at^1<<order); order++ {
		p.drop(order, at^1<<order)
		at &^= 1 << order
	}
	p.put(order, at)
}

// TakeFor is Take for an operation on a PE, which may have some pieces already: see MayTakeFor. So
// a PE that is stuck leaves half of the memory that it found to the others.
func (p *pool) TakeFor(pe libshmem.PE) (uint16, bool) {
	if !p.MayTakeFor(pe) {
		return 0, false
	}
	i, ok := p.Take()
	if ok {
		p.has[pe] += 1 << p.top
	}
	return i, ok
}

// TakeUpTo is TakeFor for a piece of n bytes. If none is free it allocates a smaller one, but one
// below worth only for a PE that has no other. got is the bytes that the piece has, n at most.
func (p *pool) TakeUpTo(pe libshmem.PE, n uint64) (i uint16, got uint64, ok bool) {
	if !p.MayTakeFor(pe) {
		return 0, 0, false
	}
	want := 0
	for want < p.top && p.unit<<want < n {
		want++
	}
	for order := want; order >= 0; order-- {
		if p.has[pe] > 0 && p.bytes(uint8(order)) < min(n, worth) {
			break
		}
		if i, ok = p.take(order); ok {
			p.has[pe] += 1 << order
			return i, min(n, p.capacity(i)), true
		}
	}
	return 0, 0, false
}

// Trim shortens a piece to n bytes and frees the rest.
func (p *pool) Trim(pe libshmem.PE, i uint16, n uint64) {
	for order := p.order[i]; order > 0 && n <= p.bytes(order-1); {
		order--
		p.order[i] = order
		half := i + 1<<order
		p.order[half] = order
		p.GiveFor(pe, half)
	}
}

// MayTakeFor reports whether a PE may have one more piece, if one is free: it has none, or holds
// less than what is free.
func (p *pool) MayTakeFor(pe libshmem.PE) bool {
	has := p.has[pe]
	return has == 0 || int(has) < p.left
}

// GiveFor frees a piece that a PE holds.
func (p *pool) GiveFor(pe libshmem.PE, i uint16) {
	p.has[pe] -= 1 << p.order[i]
	p.Give(i)
}

// Free reports whether all pieces are free, and no PE holds one.
func (p *pool) Free() bool {
	for _, n := range p.has {
		if n != 0 {
			return false
		}
	}
	return p.left == p.units
}
