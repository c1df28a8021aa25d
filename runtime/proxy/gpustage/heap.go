package gpustage

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
)

// FlushBy sets the function to call before anything acts on bytes that a NIC has written to the
// user heap. It comes before Connect, if the GPU needs flushes.
func (s *Stage) FlushBy(f func() error) { s.heaps.FlushBy(func() { s.streams.Check(f()) }) }

// RegisterHeap lets the fabric of other PEs reach a part of the user heap, from an offset on. It
// comes after New. After Connect it tells the other PEs, and the lock is held. A part of a loan
// comes between its BeginLoan and its EndLoan.
func (s *Stage) RegisterHeap(offset uint64, loan Loan, m fabric.GPUMemory) error {
	return s.heaps.Register(offset, loan, m)
}

// UnregisterHeap undoes all calls of RegisterHeap, before Connect.
func (s *Stage) UnregisterHeap() error { return s.heaps.Unregister() }

// BeginLoan says that parts of the heap may be registered that belong to a loan, here and by other
// PEs. Each PE has the same loans in the same order. The lock is held.
func (s *Stage) BeginLoan(loan Loan) { s.heaps.BeginLoan(loan) }

// EndLoan undoes RegisterHeap for a loan, and forgets the extents of the other PEs. They must not
// use the loan any more, and they end it, too. The lock is held.
func (s *Stage) EndLoan(loan Loan) error { return s.heaps.EndLoan(loan) }

// Region returns the region of n bytes at p of this PE's heap. flush says that the GPU sees bytes
// that a NIC writes there only after a flush.
func (s *Stage) Region(p unsafe.Pointer, n uint64) (r *fabric.Region, flush bool) {
	return s.heaps.Region(p, n), s.heaps.Flushing()
}

// Covers reports whether NICs reach all of n bytes at an offset of a PE's heap, in one part of it or
// in several that follow each other. The lock is held.
func (s *Stage) Covers(pe libshmem.PE, offset libshmem.Offset, n uint64) bool {
	return s.heaps.Covers(pe, offset, n)
}

// Part returns how many of n bytes a NIC moves at once between a PE's heap, from an offset on, and a
// local address: the parts of a heap are registered one by one. The lock is held.
func (s *Stage) Part(pe libshmem.PE, offset libshmem.Offset, local unsafe.Pointer, n uint64) uint64 {
	return s.heaps.Part(pe, offset, local, n)
}

// Flushes reports whether a PE has to flush writes of NICs at an offset of its heap.
func (s *Stage) Flushes(pe libshmem.PE, offset libshmem.Offset) bool {
	return s.heaps.Flushes(pe, offset)
}

// Aim names the remote side of an operation where it is GPU memory.
func (s *Stage) Aim(op *fabric.RMA, offset libshmem.Offset) { s.heaps.Aim(op, offset) }

// Flush makes the GPU see what NICs have written before the completions of this turn.
func (s *Stage) Flush() { s.heaps.Flush() }
