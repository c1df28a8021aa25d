package mem

import "libshmem"

// Remote is the memory of another PE, as the fabric reaches it.
type Remote struct {
	Base uint64 // remote address of the start of its user heap, or Nowhere
	Key  uint64

	Regions *RemoteRegions // what offsets from FirstRegion on name; nil: the PE has no regions
}

// Nowhere is Remote.Base of a PE that gave no fabric address.
const Nowhere = ^uint64(0)

// At returns the remote address and the key of an offset in the PE's heap.
func (r *Remote) At(offset libshmem.Offset) (remote, key uint64) {
	if r.Regions != nil && offset >= FirstRegion {
		return r.Regions.at(offset)
	}
	return r.Base + uint64(offset), r.Key
}
