package mem

import (
	"unsafe"

	"libshmem"
)

// Segment is this PE's slice of symmetric memory.
type Segment struct {
	Base     unsafe.Pointer // of the internal area
	Internal uint64         // bytes
	Size     uint64         // bytes in all
	Heap     unsafe.Pointer // the user heap in GPU memory; nil: it is main memory and follows the internal area

	// The offset of the buffers for reductions between hosts, in bytes below the user heap, and
	// their size. In the internal area PEs write elements of the program only there.
	RoundsOffset, RoundsSize uint64

	Regions *Regions // memory besides the segment, which offsets from FirstRegion on name; nil: none
}

// At returns the address of n bytes at an offset from the start of the user heap, and whether all
// of them are inside the segment. Negative offsets name the internal area, which lies before the
// user heap; if that is GPU memory, it lies elsewhere, and bytes must not run from one into the
// other. Offsets from FirstRegion on name regions.
func (s *Segment) At(offset libshmem.Offset, n uint64) (unsafe.Pointer, bool) {
	if s.Regions != nil && offset >= FirstRegion {
		return s.Regions.at(offset, n)
	}
	o := uint64(offset) + s.Internal // an offset below the segment wraps to a large number and fails the check
	if o > s.Size || n > s.Size-o {
		return nil, false
	}
	if s.Heap == nil {
		return unsafe.Add(s.Base, o), true
	}
	if offset >= 0 {
		return unsafe.Add(s.Heap, offset), true
	}
	return unsafe.Add(s.Base, o), n <= s.Internal-o
}

// Registered returns how many bytes from Base on are registered with the fabric.
func (s *Segment) Registered() uint64 {
	if s.Heap != nil {
		return s.Internal
	}
	return s.Size
}

// Contains reports whether n bytes at p are in the part of the segment that is registered with the
// fabric (Registered).
func (s *Segment) Contains(p unsafe.Pointer, n uint64) bool {
	o, size := uint64(uintptr(p)-uintptr(s.Base)), s.Registered()
	return o < size && n <= size-o
}

// NamesGPU reports whether an offset names GPU memory: of the user heap, or of a region.
func (s *Segment) NamesGPU(offset libshmem.Offset) bool {
	if s.Regions != nil && offset >= FirstRegion {
		return s.Regions.onGPU(offset)
	}
	return s.Heap != nil && offset >= 0
}

// CachedWord returns this PE's record of the 8-byte word at an offset. The record has the word's
// value once it is known, so that an atomic operation need not read the word from GPU memory.
// CachedWord returns nil if the offset is in no region whose words only operations of PEs change
// (KeepWords).
func (s *Segment) CachedWord(offset libshmem.Offset) *CachedWord {
	if s.Regions == nil || offset < FirstRegion {
		return nil
	}
	return s.Regions.cachedWord(offset)
}

// OnGPU reports whether n bytes at p are in a user heap of GPU memory.
func (s *Segment) OnGPU(p unsafe.Pointer, n uint64) bool {
	o, size := uint64(uintptr(p)-uintptr(s.Heap)), s.Size-s.Internal
	return s.Heap != nil && o < size && n <= size-o
}
