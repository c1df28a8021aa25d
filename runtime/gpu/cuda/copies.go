package cuda

/*
#include "copies.h"
*/
import "C"

import (
	"unsafe"

	"libshmem/runtime/gpu"
)

// Fewer copies than fewestBatched are not made by one batched call. On an H200 64 copies of 7 KiB
// from the GPU take 2.6 us each with a call for each, and 1.2 us each in a batched call (decision
// 0058); a batched call for a few copies was not measured.
const fewestBatched = 8

// Copies starts copies on a stream, with the effect of one after the other. It may change copies.
// It joins copies of equal size and distance into one driver call, and makes what is left by one
// batched call if that is possible (batches) and the order of the copies has no effect. For all
// other calls it pushes the context once: to push it and to restore the thread's own takes 0.5 us
// of the 3.5 us of a copy.
func (v *Device) Copies(s gpu.Stream, copies []gpu.Copy, d gpu.Direction) error {
	const op = "copy memory on"
	in := d == gpu.CopyIn
	// In the library's own context small copies in are made as two rows (SHMEMI_CUDA_FEW_ROWS).
	ownContext := in && v.context != v.primary.context
	copies, anyOrder := gpu.Join(copies, d)
	if anyOrder && v.batches(d, ownContext) {
		var err error
		if copies, err = v.batch(s, copies, in); err != nil {
			return err
		}
	}
	for len(copies) > 0 {
		n := 0
		for n < len(copies) && v.whole(&copies[n]) && (!ownContext || C.SHMEMI_CUDA_FEW_ROWS <= copies[n].N || copies[n].N%2 == 0 || copies[n].Rows > 1) {
			n++
		}
		if n == 0 { // the copy must be split at a joint, or its bytes do not make two equal rows
			if err := v.rowByRow(s, &copies[0], in); err != nil {
				return err
			}
			copies = copies[1:]
			continue
		}
		if err := v.enter(op); err != nil {
			return err
		}
		var done C.unsigned
		out := C.shmemi_cuda_in_copies(v.driver.table, v.context, (*C.struct_shmemi_cuda_copy)(unsafe.Pointer(&copies[0])), C.unsigned(n), C.bool(ownContext), handle(s), &done)
		call, failed := "cuMemcpyAsync", int(done)
		if failed < n && copies[failed].Rows > 1 {
			call = "cuMemcpy2DAsync_v2"
			if out.push|out.pop == 0 && out.call == C.SHMEMI_CUDA_INVALID_VALUE {
				// Rows of several allocations: the driver may refuse them together.
				out.call = 0
				if err := v.leave(op, call, out); err != nil {
					return err
				}
				if err := v.rowByRow(s, &copies[failed], in); err != nil {
					return err
				}
				copies = copies[failed+1:]
				continue
			}
		}
		if err := v.leave(op, call, out); err != nil {
			return err
		}
		copies = copies[n:]
	}
	return nil
}

// batches reports whether copies of a direction are made by batched calls. Copies in, in the
// library's own context, are not, unless contexts share the GPU by MPS: the driver leaves some
// copies of a batch to the engine that runs kernels, although the batch asks for copy engines, and
// there they wait for a time slice (SHMEMI_CUDA_FEW_ROWS). 64 scattered puts of 7 KiB then took
// 2,460 us on two H200, and 448 us with a call of two rows for each (decision 0058).
func (v *Device) batches(d gpu.Direction, ownContext bool) bool {
	switch d {
	case gpu.CopyOut:
		return true
	case gpu.CopyIn:
		return !ownContext || v.facts.MPS
	}
	return false
}

// batch starts, by one call of the driver, the copies that have no gaps between rows or at most two
// rows, and returns the others. It returns all copies if the driver has no such call, or if there
// are too few. A copy of more rows gets a call of its own, which takes the time of two or three
// copies of a batch. A driver that refuses the batch has started none of it, and is not asked
// again. in: the copies are from main memory, and ask for copy engines.
func (v *Device) batch(s gpu.Stream, copies []gpu.Copy, in bool) (rest []gpu.Copy, err error) {
	const op, call = "copy memory on", "cuMemcpyBatchAsync_v2"
	if v.driver.table.copy_batch == nil || v.batchRefused.Load() {
		return copies, nil
	}
	n, rows := 0, uint64(0)
	for i := range copies {
		c := copies[i]
		parts := c.Rows
		if c.Packed() {
			parts = 1
		}
		if parts <= 2 && rows+parts <= C.SHMEMI_CUDA_BATCH && v.whole(&c) {
			copies[i], copies[n] = copies[n], c
			n++
			rows += parts
		}
	}
	if rows < fewestBatched {
		return copies, nil
	}
	if err := v.enter(op); err != nil {
		return nil, err
	}
	out := C.shmemi_cuda_in_batch(v.driver.table, v.context, (*C.struct_shmemi_cuda_copy)(unsafe.Pointer(&copies[0])), C.unsigned(n), C.bool(in), handle(s))
	refused := out.push|out.pop == 0 && (out.call == C.SHMEMI_CUDA_INVALID_VALUE || out.call == C.SHMEMI_CUDA_NOT_SUPPORTED)
	if refused {
		v.batchRefused.Store(true)
		out.call = 0
	}
	if err := v.leave(op, call, out); err != nil {
		return nil, err
	}
	if refused {
		return copies, nil
	}
	return copies[n:], nil
}

// whole reports whether the driver can make the copy in one call: no joint, the border between two
// registrations of main memory, lies within its source or destination.
func (v *Device) whole(c *gpu.Copy) bool {
	to, from := c.Span()
	return v.joints.untilJoint(c.To, to) == to && v.joints.untilJoint(c.From, from) == from
}

// rowByRow starts each row of a copy as a copy of its own. in: the source is main memory.
func (v *Device) rowByRow(s gpu.Stream, c *gpu.Copy, in bool) error {
	for i := range c.Rows {
		row := c.Row(i)
		f := v.CopyAsync
		if in {
			f = v.CopyInAsync
		}
		if err := f(s, row.To, row.From, row.N); err != nil {
			return err
		}
	}
	return nil
}
