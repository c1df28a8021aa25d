package gpustage

import (
	"fmt"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// owner is what this PE knows of the user heap of a PE, from the endpoint of that PE.
type owner struct {
	device  bool   // the heap is GPU memory
	atomics uint64 // AtomicBits of the operations that the PE supports on its heap
}

// othersMaySet reports whether a PE that has mapped this heap may do atomic sets on it in its own
// stream. It may not if the heap's PE reads a word, computes, and writes it back in separate steps
// (OwnerAlone): that write would undo a set between the steps.
func (o *owner) othersMaySet() bool { return o.atomics&stream.OwnerAlone == 0 }

// owners has an owner for each PE, and the memory of each PE, which may have regions.
type owners struct {
	all  []owner
	main []mem.Remote
}

// onGPU reports whether an offset of a PE's heap, or of one of its regions, is GPU memory.
func (o *owners) onGPU(pe libshmem.PE, offset libshmem.Offset) bool {
	if offset >= mem.FirstRegion && o.main[pe].Regions != nil {
		return o.main[pe].Regions.OnGPU(offset)
	}
	return offset >= 0 && o.all[pe].device
}

// refuse returns the error of an atomic operation on GPU memory that the owner's driver has no
// stream operation for, or nil. Its kernels change the memory, too, so the CPU cannot do the
// operation instead.
func (o *owners) refuse(pe libshmem.PE, offset libshmem.Offset, op fabric.Op, width uint8) error {
	if !o.onGPU(pe, offset) || o.all[pe].atomics&stream.AtomicBit(op, width) != 0 {
		return nil
	}
	return fmt.Errorf("atomic operation %d on %d bytes of GPU memory of PE %d: its driver cannot do it in a stream, and kernels change the memory too "+
		"(set SHMEM_HEAP=host, or SHMEM_DISABLE_P2P=1 so that all atomic operations meet in the owner's proxy)", op, width, pe)
}

// refuseSignal returns the error of a put's signal that the owner of the memory cannot apply, or
// nil.
func (o *owners) refuseSignal(pe libshmem.PE, after *layout.Header) error {
	if after == nil {
		return nil
	}
	return o.refuse(pe, after.Offset, after.Op, after.Width)
}
