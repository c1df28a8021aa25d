package job

import (
	"errors"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/heap"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/shmerr"
)

// Look finds the driver's chunks that contain memory of the program on this PE's GPU, and the unit
// of such chunks. Lend or ForgetLoan comes next.
func (j *Job) Look(at unsafe.Pointer, n uint64) (*devmem.Loan, uint64, error) {
	l, err := j.gpu.device.Look(gpu.Address(uintptr(at)), n)
	if err != nil {
		return nil, 0, err
	}
	j.gpu.loan = l
	return l, j.gpu.device.Granule(), nil
}

// ForgetLoan gives up what Look has found.
func (j *Job) ForgetLoan() error {
	l := j.gpu.loan
	if l == nil {
		return nil
	}
	j.gpu.loan = nil
	return j.gpu.device.Return(l)
}

// Lend takes a block of the heap that has no memory behind it, and maps the chunks that Look has
// found into the block, from an offset on. The other PEs of the node do so at the same time; if one
// of them fails, all do. NICs that reach the heap are told of it.
func (j *Job) Lend(size, offset uint64) (heap.Offset, error) {
	g := j.gpu
	l := g.loan
	if l == nil {
		return 0, shmerr.Causef(shmerr.ErrInternal, "nothing was found to be lent")
	}
	g.loan = nil
	g.lastLoan = g.lastLoan.Next() // also after an error, so that all PEs have the same numbers
	for i, e := range j.Engines {
		e.Locked(func() { j.stages[i].BeginLoan(g.lastLoan) })
	}
	off, noRoom := j.Heap.AllocUpper(size, g.device.Granule(), g.device.Committed())
	block := devmem.Extent{Offset: uint64(off), Size: size}
	if err := g.device.Lend(l, block, block.Offset+offset, noRoom); err != nil {
		err = errors.Join(err, j.endLoan(g.lastLoan))
		if noRoom == nil {
			err = errors.Join(err, j.Heap.FreeUpper(off))
		}
		return 0, err
	}
	g.loans[off] = g.lastLoan
	if g.nics != nil {
		if err := g.nics.Lend(g.lastLoan, g.device.Lent(block)); err != nil {
			return 0, errors.Join(err, j.TakeBack(off))
		}
	}
	return off, nil
}

// TakeBack ends the loan of the block that contains an offset. Neither this PE nor another one uses
// the block any more.
func (j *Job) TakeBack(off heap.Offset) error {
	start, size, ok := j.Heap.Block(off)
	if !ok {
		return shmerr.Causef(shmerr.ErrInternal, "nothing is lent at heap offset %#x", uint64(off))
	}
	g := j.gpu
	err := j.endLoan(g.loans[start])
	delete(g.loans, start)
	return errors.Join(err, g.device.TakeBack(devmem.Extent{Offset: uint64(start), Size: size}), j.Heap.FreeUpper(start))
}

// endLoan makes NICs release a loan.
func (j *Job) endLoan(loan gpustage.Loan) (err error) {
	for i, e := range j.Engines {
		e.Locked(func() { err = errors.Join(err, j.stages[i].EndLoan(loan)) })
	}
	return err
}
