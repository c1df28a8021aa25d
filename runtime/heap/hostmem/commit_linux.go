package hostmem

import (
	"fmt"

	"golang.org/x/sys/unix"

	"libshmem/runtime/shmerr"
)

// commitStep is the unit of commitment in bytes. So small allocations, which are frequent, read the
// machine's free memory only once in 4 MiB. To read it takes 0.1-0.2 ms; the first access to all
// pages of 4 MiB takes 3 ms.
const commitStep = 4 << 20

// Commit makes sure that there is memory for the internal area and the first end bytes of the user
// heap of every PE of the node, because symmetric heaps grow together. If there is too little
// memory, the error is of the kind ErrNoMemory.
//
// It decides by arithmetic and allocates no memory: the size that the file may grow to, less the
// part of it that is already there, must fit into the memory that the machine and the control
// groups of the process have left. The alternative, fallocate, was measured at 0.2-0.35 s for each
// GiB, also of memory that is never touched. Nor does fallocate protect from the limit of a control
// group: at that limit the kernel kills the process, and no call fails. Commit counts promised
// bytes that are not touched yet, so the PEs of a node are not promised the same memory twice. It
// does not foresee other programs that grow at the same time.
//
// Committed memory stays committed after a free, and a later allocation uses it again.
func (s *Segment) Commit(end uint64) error {
	if end <= s.committed {
		return nil
	}
	want := min(roundUp(end, commitStep), s.plan.Heap)
	err := s.afford(want)
	if err != nil && want > end {
		want = end
		err = s.afford(want)
	}
	if err == nil {
		s.committed = want
	}
	return err
}

// afford returns nil if the machine has memory for the first perHeap bytes of every user heap of
// the node and for their internal areas, or an error that says how much is missing.
func (s *Segment) afford(perHeap uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		return s.commitError(perHeap, shmerr.Causef(shmerr.ErrSystem, "fstat of the memory file: %w", err), "")
	}
	promised := (s.plan.Internal - s.plan.Sparse + perHeap) * uint64(s.plan.PEs)
	taken := uint64(st.Blocks)*512 - s.sparseTaken() // stat counts blocks of 512 bytes
	if taken >= promised {
		return nil
	}
	left, source, err := s.machine.available()
	if err != nil {
		return s.commitError(perHeap, err, shmerr.FileRemedy(err, "mount /proc"))
	}
	// The kernel's figure is an estimate, and the program needs memory outside of the heap, so 1/32
	// of the memory stays free.
	if left -= left / 32; promised-taken > left {
		return s.commitError(perHeap, shmerr.Causef(shmerr.ErrNoMemory, "%s more are needed and %s has %s", amount(promised-taken), source, amount(left)),
			"allocate less, run fewer PEs on the node or free memory")
	}
	return nil
}

// sparseTaken returns how many bytes of the sparse parts of the file have memory. These parts
// contain the programs' statics (Plan.Sparse).
func (s *Segment) sparseTaken() (n uint64) {
	if s.plan.Sparse == 0 {
		return 0
	}
	for rank := range s.plan.PEs {
		// SEEK_DATA and SEEK_HOLE find where the file has memory from `at` on, and where that ends.
		at := int64(s.plan.sparse(rank))
		end := at + int64(s.plan.Sparse)
		for at < end {
			data, err := unix.Seek(s.fd, at, unix.SEEK_DATA)
			if err != nil || data >= end { // ENXIO: no more data
				break
			}
			// SEEK_HOLE finds the end of the file if no hole comes before.
			hole, err := unix.Seek(s.fd, data, unix.SEEK_HOLE)
			if err != nil {
				break
			}
			at = min(hole, end)
			n += uint64(at - data)
		}
	}
	return n
}

// commitError returns the error of a commit of perHeap bytes in each heap.
func (s *Segment) commitError(perHeap uint64, cause error, remedy string) error {
	return &shmerr.Error{
		Op: "commit", Object: fmt.Sprintf("%s of the symmetric heap of each of %d PEs", amount(perHeap), s.plan.PEs),
		Cause: cause, Remedy: remedy,
	}
}

// Committed returns the part of each user heap that Commit has promised.
func (s *Segment) Committed() uint64 { return s.committed }
