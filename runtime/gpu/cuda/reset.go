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

// cudaDeviceReset ends the primary context even while the library retains it: its streams, modules
// and memory, and main memory that the driver has allocated. Contexts of OwnContext and memory of
// CreateChunk stay, and so does, for the CPU, main memory that HostAlloc has registered.
//
// The next retain makes a new context that has the handle of the old one. If the driver then gets a
// stream of the old context, it crashes, and an old address may belong to new memory of the program
// (H100, driver 580.159). So each call first checks whether the context is still the old one
// (shmemi_cuda_gone), and after a reset the library releases nothing of the old context.

// birth identifies a primary context, also among those that get the same handle after a reset.
type birth struct {
	context unsafe.Pointer
	id      C.ulonglong // 0: the driver has no ids of contexts; CUDA 12.0 introduced them
}

// resets is the state by which a Device finds out whether a reset has replaced the primary context
// that it was opened with.
type resets struct {
	birth birth
	seen  atomic.Bool // a reset has ended that context; never becomes false again
}

// born reads the driver's id of a context, which tells whether the context is still the same one
// after a reset; 0 if the driver has no such call.
func (v *Device) born(context unsafe.Pointer) birth {
	b := birth{context: context}
	if t := v.driver.table; t.context_id == nil || C.shmemi_cuda_context_id(t, context, &b.id) != 0 {
		b.id = 0
	}
	return b
}

// WasReset reports whether the program has reset the GPU (cudaDeviceReset) since the device was
// opened. With a driver before CUDA 12.0 it misses a reset after which the program has used the GPU
// again.
func (v *Device) WasReset() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.wasReset()
}

// wasReset reports whether the program has reset the GPU (cudaDeviceReset), which destroys the
// primary context: the context's id has changed, or with an old driver the context is not active.
// It calls the driver. The caller holds mu.
func (v *Device) wasReset() bool {
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

// gone reports whether an earlier check has found that a reset ended the context of this Device. It
// does not call the driver.
func (v *Device) gone() bool {
	return v.resets.seen.Load() && v.context == v.resets.birth.context
}

// resetRemedy is the remedy after the program has reset its GPU during the job.
const resetRemedy = "call it before shmem_init or after shmem_finalize"

// resetCause returns the cause of errors after the program has reset the GPU.
func (v *Device) resetCause() string {
	return fmt.Sprintf("the program has reset GPU %d (cudaDeviceReset) while the job used it", v.number)
}

// ResetText returns the text that reports the reset of this GPU, with the remedy.
func (v *Device) ResetText() string { return v.resetCause() + " (" + resetRemedy + ")" }

// resetError returns the error of an operation whose context a reset has ended.
func (v *Device) resetError(op string) error {
	return &shmerr.Error{Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrSystem, "%s", v.resetCause()), Remedy: resetRemedy}
}

// freeObject runs f, a call of the driver that frees an object of the context or flushes a NIC's
// writes, like do. After a reset the object no longer exists, so freeObject then succeeds.
func (v *Device) freeObject(op string, f func() (string, C.int)) error {
	if err := v.do(op, f); err != nil && !v.gone() {
		return err
	}
	return nil
}

// freeWithoutContext calls f to free an object that belongs to no context. After a reset it calls f
// without a current context and ignores the result.
func (v *Device) freeWithoutContext(op string, f func() (string, C.int)) error {
	if v.gone() {
		f()
		return nil
	}
	return v.do(op, f)
}
