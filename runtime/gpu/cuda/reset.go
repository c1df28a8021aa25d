package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"libshmem/runtime/shmerr"
)

// cudaDeviceReset ends the primary context, even while it is held: its streams, modules and memory,
// and memory that the driver has allocated for the CPU. Contexts of Apart and memory of CreateChunk
// stay, and so does memory that HostAlloc has registered, for the CPU.
//
// Holders of the context still hold it, and its handle stays; it is made anew when it is retained
// next. Then the driver crashes when it is given a stream of before, and an address of before may
// be that of new memory of the program (H100, driver 580.159). So each call asks first whether the
// context is the old one, and after a reset nothing of it is given back.

// birth identifies a primary context.
type birth struct {
	context unsafe.Pointer
	id      C.ulonglong // 0: the driver has no numbers for contexts, which came with CUDA 12.0
}

// resets finds out whether the primary context is still the one that the device was opened with.
type resets struct {
	birth birth
	seen  atomic.Bool // it is not; this does not change back
}

// born asks for the number of a context.
func (v *Device) born(context unsafe.Pointer) birth {
	b := birth{context: context}
	if t := v.driver.table; t.context_id == nil || C.shmemi_cuda_context_id(t, context, &b.id) != 0 {
		b.id = 0
	}
	return b
}

// WasReset asks whether the program has reset the GPU (cudaDeviceReset) since the device was
// opened. A driver before CUDA 12.0 does not report it if the program has used the GPU again.
func (v *Device) WasReset() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.lost()
}

// lost is WasReset for a caller that has mu.
func (v *Device) lost() bool {
	r := &v.resets
	if r.seen.Load() || v.closed || r.birth.context == nil {
		return r.seen.Load()
	}
	lost := false
	if t := v.driver.table; r.birth.id != 0 {
		var now C.ulonglong
		code := C.shmemi_cuda_context_id(t, r.birth.context, &now)
		lost = code == C.SHMEMI_CUDA_CONTEXT_IS_DESTROYED || code == 0 && now != r.birth.id
	} else {
		var flags C.uint
		var active C.int
		lost = C.shmemi_cuda_context_state(t, v.handle, &flags, &active) == 0 && active == 0
	}
	if lost {
		r.seen.Store(true)
	}
	return lost
}

// gone reports whether the context of this Device is known to have ended by a reset.
func (v *Device) gone() bool {
	return v.resets.seen.Load() && v.context == v.resets.birth.context
}

const resetRemedy = "call it before shmem_init or after shmem_finalize"

func (v *Device) resetCause() string {
	return fmt.Sprintf("the program has reset GPU %d (cudaDeviceReset) while the job used it", v.number)
}

// ResetText is the cause and the remedy, for a device that WasReset.
func (v *Device) ResetText() string { return v.resetCause() + " (" + resetRemedy + ")" }

// resetError is the error of an operation that needs the context that a reset has ended.
func (v *Device) resetError(op string) error {
	return &shmerr.Error{Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrSystem, "%s", v.resetCause()), Remedy: resetRemedy}
}

// giveBack is do for a call that needs not be made after a reset: it ends or frees something of the
// context, or waits for that purpose.
func (v *Device) giveBack(op string, f func() (string, C.int)) error {
	if err := v.do(op, f); err != nil && !v.gone() {
		return err
	}
	return nil
}

// giveBackApart calls f to free an object that needs no context. After a reset there is no context
// to make current, and the driver frees the object or has lost it.
func (v *Device) giveBackApart(op string, f func() (string, C.int)) error {
	if v.gone() {
		f()
		return nil
	}
	return v.do(op, f)
}
