package device

import (
	"errors"
	"unsafe"

	"libshmem"
	"libshmem/runtime/gpu"
	"libshmem/runtime/heap"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/shmerr"
)

// lender passes loans on to the GPU stages of all engines (network.Loans). A loan is GPU memory of
// the program that is part of the symmetric heap for a while.
type lender interface {
	BeginLoan(gpustage.Loan)
	EndLoan(gpustage.Loan) error // ends the registrations of the loan, too
}

// FindChunks finds the driver's memory allocations, or chunks, that contain n bytes of the program
// at an address on this PE's GPU, and returns them and the unit of their sizes. The caller then
// calls Lend or Forget.
func (g *GPU) FindChunks(at unsafe.Pointer, n uint64) (*devmem.Loan, uint64, error) {
	l, err := g.device.FindChunks(gpu.Address(uintptr(at)), n)
	if err != nil {
		return nil, 0, err
	}
	g.loan = l
	return l, g.device.Granule(), nil
}

// Forget releases the chunks of the program's memory that FindChunks has found, if they do not
// become part of the symmetric heap.
func (g *GPU) Forget() error {
	l := g.loan
	if l == nil {
		return nil
	}
	g.loan = nil
	return g.device.Return(l)
}

// Lend makes the chunks that FindChunks has found part of the heap: it reserves a block of the
// heap's address space that has no memory yet, maps the chunks into the block, from an offset on,
// and registers them with the NICs that reach the heap. It returns the block's offset. The chunks'
// handles are released in any case.
//
// The other PEs of the node map their chunks at the same time; if one of them cannot, all fail, and
// the heaps are as before. A NIC that refuses the chunks is an error only if SHMEM_GPU_NET names a
// path (otherwise their bytes are staged), and it is an error of this PE alone. So the PEs of the
// job agree after the call, and if one has failed, the others call TakeBack
// (capi/front/buffer_register.c).
func (g *GPU) Lend(h *heap.Heap, loans lender, size, offset uint64) (libshmem.Offset, error) {
	l := g.loan
	if l == nil {
		return 0, shmerr.Causef(shmerr.ErrInternal, "nothing was found to be lent")
	}
	g.loan = nil
	g.lastLoan = g.lastLoan.Next() // also after an error, so that all PEs have the same numbers
	loans.BeginLoan(g.lastLoan)
	// Also without a block this PE takes part in device.Lend, where all PEs of the node wait: the
	// call passes noRoom on, and fails on all of them.
	off, noRoom := h.AllocUpper(size, g.device.Granule(), g.device.Committed())
	block := devmem.Extent{Offset: uint64(off), Size: size}
	if err := g.device.Lend(l, block, block.Offset+offset, noRoom); err != nil { // it has released l
		err = errors.Join(err, loans.EndLoan(g.lastLoan))
		if noRoom == nil {
			err = errors.Join(err, h.FreeUpper(off))
		}
		return 0, err
	}
	g.loans[off] = g.lastLoan
	if g.NICs != nil {
		if err := g.NICs.Lend(g.lastLoan, g.device.Lent(block)); err != nil {
			return 0, errors.Join(err, g.TakeBack(h, loans, off))
		}
	}
	return off, nil
}

// TakeBack ends the loan whose block contains an offset, and frees the block. Neither this PE nor
// another one uses the block any more.
func (g *GPU) TakeBack(h *heap.Heap, loans lender, off libshmem.Offset) error {
	start, size, ok := h.Block(off)
	if !ok {
		return shmerr.Causef(shmerr.ErrInternal, "nothing is lent at heap offset %#x", uint64(off))
	}
	err := loans.EndLoan(g.loans[start])
	delete(g.loans, start)
	return errors.Join(err, g.device.TakeBack(devmem.Extent{Offset: uint64(start), Size: size}), h.FreeUpper(start))
}
