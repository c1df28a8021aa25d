package gpustage

// A pool gives out main memory in pieces of one size, for copies to and from a GPU.
//
// It owns which pieces are free, and how many pieces each PE holds. It does not own the memory. It
// has no lock: the thread that holds the engine's lock uses it.

import (
	"unsafe"

	"libshmem"
)

// noPiece stands for no piece.
const noPiece = 0xffff

// pool is a block of memory in pieces of one size. The zero value has none.
type pool struct {
	base unsafe.Pointer
	size uint64
	free []uint16
	has  []uint16 // pieces of each PE, from TakeFor
}

// newPool returns a pool of n pieces at base.
func newPool(base unsafe.Pointer, size uint64, n int) pool {
	p := pool{base: base, size: size, free: make([]uint16, 0, n)}
	for i := n; i > 0; i-- {
		p.free = append(p.free, uint16(i-1))
	}
	return p
}

// Connect sets the number of PEs. It comes before TakeFor.
func (p *pool) Connect(pes int) { p.has = make([]uint16, pes) }

// Size returns the bytes of a piece.
func (p *pool) Size() uint64 { return p.size }

// Len returns the number of pieces.
func (p *pool) Len() int { return cap(p.free) }

// At returns the address of a piece.
func (p *pool) At(i uint16) unsafe.Pointer { return unsafe.Add(p.base, uint64(i)*p.size) }

// Take gives out a piece; false: all are in use.
func (p *pool) Take() (uint16, bool) {
	last := len(p.free) - 1
	if last < 0 {
		return 0, false
	}
	i := p.free[last]
	p.free = p.free[:last]
	return i, true
}

// Give takes a piece back.
func (p *pool) Give(i uint16) { p.free = append(p.free, i) }

// TakeFor gives a piece to a PE, which may have some already. A PE that is stuck leaves half of the
// pieces that it found to the others.
func (p *pool) TakeFor(pe libshmem.PE) (uint16, bool) {
	if !p.MayTakeFor(pe) {
		return 0, false
	}
	i, ok := p.Take()
	if ok {
		p.has[pe]++
	}
	return i, ok
}

// MayTakeFor reports whether a PE may have one more piece. The first piece has to be free, too.
func (p *pool) MayTakeFor(pe libshmem.PE) bool {
	has := p.has[pe]
	return has == 0 || int(has) < len(p.free)
}

// GiveFor takes back a piece that a PE has.
func (p *pool) GiveFor(pe libshmem.PE, i uint16) {
	p.Give(i)
	p.has[pe]--
}

// Free reports whether all pieces are free, and no PE holds one.
func (p *pool) Free() bool {
	for _, n := range p.has {
		if n != 0 {
			return false
		}
	}
	return len(p.free) == cap(p.free)
}
