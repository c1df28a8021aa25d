package heap

import (
	"slices"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// upper is a block that AllocUpper has reserved in the upper part of a heap.
type upper struct{ off, size uint64 }

// AllocUpper reserves size bytes of offsets, from a multiple of align on, for memory that comes
// from elsewhere, such as a buffer of the program. It reserves the highest free offsets, none below
// `above`, so that the blocks of Alloc and the memory committed for them stay below. Until
// FreeUpper, Alloc has room only up to the lowest reserved offset. The errors are of the kinds of
// Alloc, and leave the heap unchanged.
func (h *Heap) AllocUpper(size, align, above uint64) (libshmem.Offset, error) {
	if size == 0 || align == 0 || align&(align-1) != 0 {
		return 0, &shmerr.Error{Op: "allocate", Object: describe(size, align), Cause: shmerr.Causef(shmerr.ErrArgument, "nothing, or no power of two")}
	}
	above = max(above, h.End(), Granule) // Granule: Alloc keeps a block that is not empty (bound)
	// The blocks are in descending order. Free offsets may lie above each of them, and below the
	// last: each iteration tries those from floor to end.
	end := h.top
	for i := range len(h.uppers) + 1 {
		floor, next := above, uint64(0)
		if i < len(h.uppers) {
			u := h.uppers[i]
			floor, next = u.off+u.size, u.off
		}
		if off := (end - min(end, size)) &^ (align - 1); end >= size && off >= floor {
			h.uppers = slices.Insert(h.uppers, i, upper{off, size})
			h.bound()
			return libshmem.Offset(off), nil
		}
		end = next
	}
	return 0, &shmerr.Error{Op: "allocate", Object: describe(size, align),
		Cause:  shmerr.Causef(shmerr.ErrNoMemory, "of the %d bytes of the symmetric heap, only those from offset %#x on may be used, and no free part of them is long enough", h.top, above),
		Remedy: "raise SHMEM_SYMMETRIC_SIZE"}
}

// FreeUpper frees the block of offsets that AllocUpper has reserved at off.
func (h *Heap) FreeUpper(off libshmem.Offset) error {
	i := slices.IndexFunc(h.uppers, func(u upper) bool { return u.off == uint64(off) })
	if i < 0 {
		return &shmerr.Error{Op: "free", Object: object(off), Cause: shmerr.Causef(shmerr.ErrAddress, "none begins there in the upper part of the heap")}
	}
	h.uppers = slices.Delete(h.uppers, i, i+1)
	h.bound()
	return nil
}

// inUpper finds the reservation of AllocUpper that contains the byte at off: its start and size, or
// false.
func (h *Heap) inUpper(off libshmem.Offset) (start libshmem.Offset, size uint64, ok bool) {
	for _, u := range h.uppers {
		if uint64(off)-u.off < u.size {
			return libshmem.Offset(u.off), u.size, true
		}
	}
	return 0, 0, false
}

// bound moves the end of the space of Alloc to the lowest reservation of AllocUpper: it shortens,
// lengthens, removes or adds the last free block.
func (h *Heap) bound() {
	to := h.top // the new end
	if n := len(h.uppers); n > 0 {
		to = h.uppers[n-1].off &^ (Granule - 1)
	}
	i := h.lastIdx
	if b := *h.blocks.at(i); !b.live() { // the tree is ordered by size, so the block leaves it first
		h.dropFree(i)
		if b.off == to && b.prev != 0 {
			h.blocks.at(b.prev).next, h.lastIdx = 0, b.prev
			h.blocks.free(i)
		} else {
			h.blocks.at(i).size = to - b.off
			h.addFree(i)
		}
	} else if to > b.end() {
		n := h.blocks.alloc(block{off: b.end(), size: to - b.end(), prev: i})
		h.blocks.at(i).next, h.lastIdx = n, n
		h.addFree(n)
	}
	h.size = to
}
