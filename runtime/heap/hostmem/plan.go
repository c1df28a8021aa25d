package hostmem

import (
	"fmt"

	"libshmem/runtime/heap"
	"libshmem/runtime/shmerr"
)

// Plan divides the memory file of a node. All sizes are in bytes.
//
//	| internal area | user heap |  internal area | user heap | ...
//	                ^ HeapOffset                 ^ PartSize + HeapOffset
//
// The internal area ends where the user heap begins, so that it has the same
// negative offsets on every PE; the space before it is never touched.
type Plan struct {
	Internal uint64 // the library's own area of each PE, a multiple of the page
	Heap     uint64 // the user heap of each PE, a multiple of the page
	Align    uint64 // every user heap begins at a multiple of Align, in memory and in the file
	PEs      int    // on this node
	// Sparse is the size of the first part of the internal area, which contains the program's
	// statics. Commit does not count this part: the statics exist anyway, and an array that the
	// program does not touch takes no memory.
	Sparse uint64
}

const (
	// Page is the unit of sizes. A kernel with larger pages rounds them up further.
	Page = 4096

	// HugePage is the size of a huge page of x86-64, and of aarch64 with pages of 4 KiB.
	HugePage = 2 << 20

	minAlign = HugePage
	maxAlign = 1 << 30
)

// NewPlan rounds the sizes up. The alignment of the user heap, which bounds the alignments that a
// program may request, is the largest power of two that is at most an eighth of the heap, within 2
// MiB and 1 GiB: it costs address space before and after each heap, and no memory.
func NewPlan(internal, user uint64, pes int) Plan {
	p := Plan{Internal: roundUp(internal, Page), Heap: roundUp(user, Page), Align: minAlign, PEs: pes}
	for p.Align < maxAlign && p.Align*2 <= user/8 {
		p.Align *= 2
	}
	return p
}

// HeapOffset returns the distance from the start of a PE's part of the file to the PE's user heap.
// The heap is aligned, so unused space may precede the internal area.
func (p Plan) HeapOffset() uint64 { return roundUp(p.Internal, p.Align) }

// PartSize returns the size of one PE's part of the file.
func (p Plan) PartSize() uint64 { return p.HeapOffset() + roundUp(p.Heap, p.Align) }

// sparse returns the offset in the file at which the sparse bytes of a PE's part begin.
func (p Plan) sparse(rank int) uint64 {
	return uint64(rank)*p.PartSize() + p.HeapOffset() - p.Internal
}

// Total returns the size of the file.
func (p Plan) Total() uint64 { return p.PartSize() * uint64(p.PEs) }

// addressSpace is the most that a process can map if a pointer has 47 usable bits, less what
// libraries, stacks and Go's own heap need.
const addressSpace = 1<<47 - 1<<33

// check returns an error for a plan that no process of this machine could map.
func (p Plan) check() error {
	if p.PEs < 1 || p.Heap == 0 || p.Heap > heap.MaxSize || p.Internal > heap.MaxSize {
		return p.refuse(shmerr.Causef(shmerr.ErrSetting, "the size is not between 1 byte and %s", amount(heap.MaxSize)), lowerSize)
	}
	if most := uint64(addressSpace) / p.PartSize(); uint64(p.PEs) > most {
		return p.refuse(shmerr.Causef(shmerr.ErrNoMemory, "they need %s of address space and a process has %s", amount(p.Total()), amount(addressSpace)), lowerSize)
	}
	return nil
}

// lowerSize is the remedy for heaps that are too large for the address space, a limit or the
// memory.
const lowerSize = "lower SHMEM_SYMMETRIC_SIZE or run fewer PEs on the node"

// refuse returns the error of heaps that cannot be reserved.
func (p Plan) refuse(cause error, remedy string) error {
	return &shmerr.Error{Op: "reserve", Object: p.String(), Cause: cause, Remedy: remedy}
}

// String names the setting that the plan comes from.
func (p Plan) String() string {
	return fmt.Sprintf("SHMEM_SYMMETRIC_SIZE of %s for %d PEs of this node", amount(p.Heap), p.PEs)
}

// roundUp returns n rounded up to a multiple of unit.
func roundUp(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }

// amount returns a number of bytes as text: "4.0 MiB".
func amount(n uint64) string {
	f, unit := float64(n), 0
	for f >= 1024 && unit < 4 {
		f /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, [...]string{"", "KiB", "MiB", "GiB", "TiB"}[unit])
}
