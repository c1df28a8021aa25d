package mem

import (
	"unsafe"

	"libshmem"
)

// An engine without a symmetric heap has regions: memory that one PE registers by itself, at any
// time. Offsets from FirstRegion on name a region by a number, and a byte in it, so that messages
// and operations need no further member. A number may be used again after its region has ended.
const (
	regionShift = 44 // below it is the offset within a region
	// FirstRegion is the smallest offset in a region.
	FirstRegion libshmem.Offset = 1 << regionShift
	// MaxRegions is the number of regions that a PE may have at a time, and MaxRegion the bytes of
	// one.
	MaxRegions = 1<<(63-regionShift) - 1
	MaxRegion  = 1 << regionShift
)

// InRegion returns the offset that names a byte of the region with a number.
func InRegion(region uint32, offset uint64) libshmem.Offset {
	return libshmem.Offset(region+1)<<regionShift + libshmem.Offset(offset)
}

// region returns the number of the region that an offset names, and the offset within it.
func region(offset libshmem.Offset) (number int, in uint64) {
	return int(offset>>regionShift) - 1, uint64(offset) & (1<<regionShift - 1)
}

// Regions are the regions of this PE, by number.
type Regions struct{ all []localRegion }

// localRegion is memory of this process. With the address nil there is no region of this number.
type localRegion struct {
	base unsafe.Pointer
	len  uint64
	gpu  bool
	// words: what the owner knows of its words of 8 bytes, if only operations of PEs change them
	// (KeepWords); nil: it has to read them.
	words []CachedWord
}

// CachedWord is the owner's record of a word of GPU memory that only operations of PEs change. The
// first operation sets Value, so that later ones need not read the word.
type CachedWord struct {
	Value uint64
	Known bool
}

// Add makes n bytes at base a region, and returns its number, the lowest that is free. gpu says
// that they are GPU memory. false: there are MaxRegions already.
func (r *Regions) Add(base unsafe.Pointer, n uint64, gpu bool) (number uint32, ok bool) {
	for i := range r.all {
		if r.all[i].base == nil {
			r.all[i] = localRegion{base: base, len: n, gpu: gpu}
			return uint32(i), true
		}
	}
	if len(r.all) == MaxRegions {
		return 0, false
	}
	r.all = append(r.all, localRegion{base: base, len: n, gpu: gpu})
	return uint32(len(r.all) - 1), true
}

// Remove ends a region. Its number is free afterwards.
func (r *Regions) Remove(number uint32) { r.all[number] = localRegion{} }

// at returns the address of n bytes at an offset, and whether they are inside a region.
func (r *Regions) at(offset libshmem.Offset, n uint64) (unsafe.Pointer, bool) {
	i, in := region(offset)
	if i >= len(r.all) || r.all[i].base == nil || in > r.all[i].len || n > r.all[i].len-in {
		return nil, false
	}
	return unsafe.Add(r.all[i].base, in), true
}

// KeepWords makes records for the words of a region, whose values the engine then remembers: the
// caller promises that from now on only operations of PEs change them, and no kernel does.
func (r *Regions) KeepWords(number uint32) {
	r.all[number].words = make([]CachedWord, r.all[number].len/8)
}

// cachedWord returns this PE's record of the word at an offset, or nil if kernels may change the
// word, too (KeepWords was not called).
func (r *Regions) cachedWord(offset libshmem.Offset) *CachedWord {
	i, in := region(offset)
	if i >= len(r.all) || in/8 >= uint64(len(r.all[i].words)) {
		return nil
	}
	return &r.all[i].words[in/8]
}

// onGPU reports whether an offset names a region of GPU memory.
func (r *Regions) onGPU(offset libshmem.Offset) bool {
	i, _ := region(offset)
	return i < len(r.all) && r.all[i].gpu
}

// RemoteRegions are the regions of another PE that this PE may use, by number.
type RemoteRegions struct{ all []remoteRegion }

// remoteRegion is how the fabric reaches a region of another PE, unless the region is GPU memory,
// whose bytes only the owner copies.
type remoteRegion struct {
	base, key uint64
	gpu       bool
}

// Set sets the remote address of a region's first byte, and its key. gpu says that the region is
// GPU memory.
func (r *RemoteRegions) Set(number uint32, base, key uint64, gpu bool) {
	for int(number) >= len(r.all) {
		r.all = append(r.all, remoteRegion{})
	}
	r.all[number] = remoteRegion{base, key, gpu}
}

// OnGPU reports whether an offset names a region of GPU memory. Preconditions: Set was called for
// its region.
func (r *RemoteRegions) OnGPU(offset libshmem.Offset) bool {
	i, _ := region(offset)
	return r.all[i].gpu
}

// at returns the remote address and the key of an offset. Preconditions: Set was called for its
// region.
func (r *RemoteRegions) at(offset libshmem.Offset) (remote, key uint64) {
	i, in := region(offset)
	return r.all[i].base + in, r.all[i].key
}
