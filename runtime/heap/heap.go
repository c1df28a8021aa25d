package heap

import (
	"fmt"
	"math/bits"
	"unsafe"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// Granule is the alignment and the unit of size of every block, in bytes: a cache line. PEs poll
// blocks, and other PEs and NICs write to them, so no two blocks share a line. That costs memory
// only in a heap of many tiny blocks, which symmetric memory is rarely used for.
const Granule = 64

// BlockCost is the memory that the bookkeeping of one block takes, in bytes.
const BlockCost = uint64(unsafe.Sizeof(block{}))

// MaxSize is the largest heap: offsets have 44 bits where they are packed.
const MaxSize = 1 << 44

// Hints are the promises of shmem_malloc_with_hints. Every block is fit for
// all of them, since none shares a cache line.
type Hints uint64

// The hints of the specification.
const (
	HintAtomicsRemote Hints = 1 << iota // remote atomics are the main use
	HintSignalRemote                    // a signal object
	knownHints        = HintAtomicsRemote | HintSignalRemote
)

// Check returns an error for bits that are no hints of the specification.
func (h Hints) Check() error {
	if unknown := h &^ knownHints; unknown != 0 {
		return &shmerr.Error{
			Op: "allocate", Object: fmt.Sprintf("with hints %#x", uint64(h)),
			Cause:  shmerr.Causef(shmerr.ErrArgument, "the bits %#x are not hints", uint64(unknown)),
			Remedy: "use 0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE or both",
		}
	}
	return nil
}

// Heap is the state of one symmetric heap.
type Heap struct {
	size    uint64  // bytes that Alloc may use: those below the upper part
	top     uint64  // bytes of the heap, including the upper part
	uppers  []upper // blocks of AllocUpper, in descending order
	maxLog  uint8   // log2 of the alignment of the heap itself
	blocks  arena
	free    tree   // of the free blocks, by size
	live    tree   // of the live blocks, by offset
	lastIdx int32  // index of the block with the highest offset
	nLive   int    // number of live blocks
	nFree   int    // number of free blocks
	want    uint64 // bytes that the program requested in live blocks
	used    uint64 // bytes of the live blocks
	peak    uint64 // the highest End so far
}

// New makes an empty heap of size bytes, rounded up to Granule, whose start is a multiple of align
// bytes on every PE. No block can have a larger alignment than align.
func New(size, align uint64) (*Heap, error) {
	switch {
	case size == 0 || size > MaxSize:
		return nil, &shmerr.Error{Op: "create", Object: fmt.Sprintf("symmetric heap of %d bytes", size),
			Cause:  shmerr.Causef(shmerr.ErrSetting, "the size is not between 1 and %d bytes", uint64(MaxSize)),
			Remedy: "change SHMEM_SYMMETRIC_SIZE"}
	case align < Granule || align&(align-1) != 0:
		return nil, &shmerr.Error{Op: "create", Object: "symmetric heap",
			Cause: shmerr.Causef(shmerr.ErrInternal, "its alignment %d is not a power of two from %d on", align, Granule)}
	}
	h := &Heap{size: roundUp(size), top: roundUp(size), maxLog: log2(align)}
	h.blocks.blocks = make([]block, 1, 16) // index 0 stands for no block
	h.free = tree{arena: &h.blocks, bySize: true}
	h.live = tree{arena: &h.blocks}
	h.lastIdx = h.blocks.alloc(block{size: h.size})
	h.addFree(h.lastIdx)
	return h, nil
}

// Alloc allocates size bytes at an offset that is a multiple of align (0 stands for Granule). An
// error is an *shmerr.Error of the kind ErrNoMemory or ErrArgument, and leaves the heap unchanged.
func (h *Heap) Alloc(size, align uint64) (libshmem.Offset, error) {
	if align == 0 {
		align = Granule
	}
	if size == 0 || align&(align-1) != 0 {
		cause := "no bytes are asked for"
		if size != 0 {
			cause = "the alignment is not a power of two"
		}
		return 0, &shmerr.Error{Op: "allocate", Object: describe(size, align),
			Cause: shmerr.Causef(shmerr.ErrArgument, "%s", cause)}
	}
	if log2(align) > h.maxLog {
		return 0, &shmerr.Error{Op: "allocate", Object: describe(size, align),
			Cause:  shmerr.Causef(shmerr.ErrNoMemory, "the symmetric heap itself is aligned to %d bytes only", uint64(1)<<h.maxLog),
			Remedy: "raise SHMEM_SYMMETRIC_SIZE to 8 times the alignment"}
	}
	i, start := h.fit(size, max(align, Granule))
	if i == 0 {
		s := h.Stats()
		return 0, &shmerr.Error{Op: "allocate", Object: describe(size, align),
			Cause: shmerr.Causef(shmerr.ErrNoMemory, "%d of %d bytes of the symmetric heap are free, the largest free block has %d",
				s.Free, s.Size, s.LargestFree),
			Remedy: "raise SHMEM_SYMMETRIC_SIZE"}
	}
	h.dropFree(i)
	if pad := start - h.blocks.at(i).off; pad != 0 {
		rest := h.split(i, pad)
		h.addFree(i)
		i = rest
	}
	h.addLive(i, size, align)
	h.trim(i)
	return libshmem.Offset(start), nil
}

// Free frees the block that begins at offset off. If no live block begins there, it returns an
// error that says what is at off.
func (h *Heap) Free(off libshmem.Offset) error {
	i, err := h.lookup("free", off)
	if err != nil {
		return err
	}
	h.dropLive(i)
	h.release(i)
	return nil
}

// Resize is what Realloc returns.
type Resize struct {
	Offset libshmem.Offset // of the block with the new size
	Moved  bool            // the old block is still live: copy, then Free it
	Copy   uint64          // bytes to copy when Moved: the smaller of the two sizes
}

// Realloc changes the size of the block at off. The block stays where it is when it shrinks or when
// enough bytes after it are free; otherwise Realloc allocates a second block of the same alignment,
// to which the caller copies. The errors are those of Alloc and Free, and leave the block
// unchanged.
func (h *Heap) Realloc(off libshmem.Offset, size uint64) (Resize, error) {
	i, err := h.lookup("reallocate", off)
	if err != nil {
		return Resize{}, err
	}
	b := *h.blocks.at(i)
	if size == 0 {
		return Resize{}, &shmerr.Error{Op: "reallocate", Object: object(off),
			Cause: shmerr.Causef(shmerr.ErrArgument, "no bytes are asked for")}
	}
	room := b.size
	if b.next != 0 && !h.blocks.at(b.next).live() {
		room += h.blocks.at(b.next).size
	}
	if size > room { // room is a multiple of Granule: the rounded size fits too
		to, err := h.Alloc(size, 1<<b.align)
		if err != nil {
			return Resize{}, err
		}
		return Resize{Offset: to, Moved: true, Copy: min(size, b.want)}, nil
	}
	h.dropLive(i)
	if size > b.size {
		h.dropFree(b.next)
		h.join(i, b.next)
	}
	h.addLive(i, size, 1<<b.align)
	h.trim(i)
	return Resize{Offset: off}, nil
}

// Block finds the live block that contains the byte at off, and returns its start and how many
// bytes the program requested. The bytes after those, up to the end of the Granule, belong to no
// block.
func (h *Heap) Block(off libshmem.Offset) (start libshmem.Offset, size uint64, ok bool) {
	if uint64(off) >= h.size {
		return h.inUpper(off)
	}
	i := h.live.floor(uint64(off))
	if i == 0 {
		return 0, 0, false
	}
	b := h.blocks.at(i)
	return libshmem.Offset(b.off), b.want, uint64(off) < b.off+b.want
}

// End returns the first byte after the last live block: memory before it must be committed, memory
// after it is not in use.
func (h *Heap) End() uint64 {
	last := h.blocks.at(h.lastIdx)
	if last.live() {
		return last.end()
	}
	return last.off
}

// Stats describes a heap, in bytes.
type Stats struct {
	Size        uint64
	Wanted      uint64 // requested for the live blocks
	Used        uint64 // occupied by the live blocks
	Free        uint64
	LargestFree uint64
	End         uint64 // as Heap.End
	Peak        uint64 // the highest End so far
	Live        int    // blocks
	FreeBlocks  int
	Bookkeeping uint64 // memory of the Heap itself
}

// Stats returns the present state of the heap.
func (h *Heap) Stats() Stats {
	s := Stats{
		Size: h.size, Wanted: h.want, Used: h.used, Free: h.size - h.used, End: h.End(), Peak: h.peak,
		Live: h.nLive, FreeBlocks: h.nFree,
		Bookkeeping: uint64(unsafe.Sizeof(*h)) + uint64(cap(h.blocks.blocks))*BlockCost,
	}
	if i := h.free.last(); i != 0 {
		s.LargestFree = h.blocks.at(i).size
	}
	return s
}

// Product returns count*size for calloc, and false when that exceeds 64 bits.
func Product(count, size uint64) (uint64, bool) {
	hi, lo := bits.Mul64(count, size)
	return lo, hi == 0
}

// probes caps the free blocks that fit tries in the hope that one of them is well aligned. After
// them fit uses a block that is large enough wherever its aligned part begins.
const probes = 64

// fit finds the smallest free block that has size bytes from a multiple of align
// on, and returns its index and that offset. It returns index 0 if there is none.
func (h *Heap) fit(size, align uint64) (i int32, start uint64) {
	if size > h.size {
		return 0, 0
	}
	size = roundUp(size)
	i = h.free.ceiling(size, 0)
	for n := 0; i != 0; n++ {
		b := h.blocks.at(i)
		start = (b.off + align - 1) &^ (align - 1)
		if start+size <= b.end() {
			return i, start
		}
		if n == probes {
			// Blocks begin at multiples of Granule, so at most align-Granule bytes precede the
			// aligned part.
			if sure := h.free.ceiling(size+align-Granule, 0); sure != 0 {
				i = sure
				continue
			}
		}
		i = h.free.ceiling(b.size, b.off+1)
	}
	return 0, 0
}

// lookup finds the live block that begins at off, or returns an error that names the block there.
func (h *Heap) lookup(op string, off libshmem.Offset) (int32, error) {
	i := h.live.floor(uint64(off))
	var cause string
	switch {
	case uint64(off) >= h.size:
		cause = fmt.Sprintf("the symmetric heap has %d bytes", h.size)
	case i != 0 && h.blocks.at(i).off == uint64(off):
		return i, nil
	case i != 0 && uint64(off) < h.blocks.at(i).end():
		b := h.blocks.at(i)
		cause = fmt.Sprintf("it is %d bytes inside the block of %d bytes at offset %#x", uint64(off)-b.off, b.want, b.off)
	default:
		cause = "no block is allocated there: it was freed before, or never allocated"
	}
	return 0, &shmerr.Error{Op: op, Object: object(off),
		Cause:  shmerr.Causef(shmerr.ErrAddress, "%s", cause),
		Remedy: "pass an address that an allocation returned, once"}
}

// addFree adds block i to the free blocks.
func (h *Heap) addFree(i int32) { h.free.insert(i); h.nFree++ }

// dropFree removes block i from the free blocks.
func (h *Heap) dropFree(i int32) { h.free.remove(i); h.nFree-- }

// addLive adds block i to the tree of allocated (live) blocks. want and align are the size and the
// alignment that the program asked for.
func (h *Heap) addLive(i int32, want, align uint64) {
	b := h.blocks.at(i)
	b.want, b.align = want, log2(align)
	h.live.insert(i)
	h.nLive++
	h.want += want
	h.used += b.size
}

// dropLive removes block i from the tree of live blocks. It is then in no tree.
func (h *Heap) dropLive(i int32) {
	h.live.remove(i)
	b := h.blocks.at(i)
	h.nLive--
	h.want -= b.want
	h.used -= b.size
	b.want = 0
}

// trim frees the end of live block i, the granules beyond those that the requested size needs. Then
// it updates the peak.
func (h *Heap) trim(i int32) {
	b := h.blocks.at(i)
	if need := roundUp(b.want); need < b.size {
		h.used -= b.size - need
		h.release(h.split(i, need))
	}
	h.peak = max(h.peak, h.End())
}

// release joins block i, which is in no tree, with its free neighbours and adds the result to the
// tree of free blocks, so that no two free blocks are neighbours.
func (h *Heap) release(i int32) {
	if n := h.blocks.at(i).next; n != 0 && !h.blocks.at(n).live() {
		h.dropFree(n)
		h.join(i, n)
	}
	if p := h.blocks.at(i).prev; p != 0 && !h.blocks.at(p).live() {
		h.dropFree(p)
		h.join(p, i)
		i = p
	}
	h.addFree(i)
}

// split cuts block i at size and returns the second part, which is in no tree.
// Block i itself may be in the tree of live blocks, whose order by offset does
// not depend on the size.
func (h *Heap) split(i int32, size uint64) int32 {
	b := h.blocks.at(i)
	n := h.blocks.alloc(block{off: b.off + size, size: b.size - size, prev: i, next: b.next})
	b = h.blocks.at(i) // alloc may have moved the array of blocks
	b.size, b.next = size, n
	if next := h.blocks.at(n).next; next != 0 {
		h.blocks.at(next).prev = n
	} else {
		h.lastIdx = n
	}
	return n
}

// join appends block n, which follows i and is in no tree, to i.
func (h *Heap) join(i, n int32) {
	b, next := h.blocks.at(i), *h.blocks.at(n)
	b.size += next.size
	b.next = next.next
	if next.next != 0 {
		h.blocks.at(next.next).prev = i
	} else {
		h.lastIdx = i
	}
	h.blocks.free(n)
}

// roundUp returns n rounded up to whole granules.
func roundUp(n uint64) uint64 { return (n + Granule - 1) &^ (Granule - 1) }

// log2 returns the exponent of a power of two.
func log2(powerOfTwo uint64) uint8 { return uint8(bits.TrailingZeros64(powerOfTwo)) }

// object names a block, for errors.
func object(off libshmem.Offset) string { return fmt.Sprintf("the block at offset %#x", uint64(off)) }

// describe names the memory that a call has asked for, for errors.
func describe(size, align uint64) string {
	if align == Granule {
		return fmt.Sprintf("%d bytes", size)
	}
	return fmt.Sprintf("%d bytes aligned to %d", size, align)
}
