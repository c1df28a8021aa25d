package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"errors"
	"sync"
	"unsafe"

	"libshmem/runtime/gpu"
)

// ownContext is the library's own context on a GPU, which all callers of OwnContext share.
type ownContext struct {
	mu  sync.Mutex
	dev *Device // nil until the first call of OwnContext
}

// OwnContext returns a Device for the same GPU in a CUDA context of the library's own; caller names
// its driver calls in the list that Calls returns. All callers share one such context. The first
// call makes it, which takes 100 to 160 ms and 260 MiB of the GPU's memory.
//
// The library needs it because of lazy loading: while the program loads a kernel and another kernel
// runs, the driver accepts work for all streams of the program's context and executes none until
// the running kernel has ended. Copies, stores and events of another context continue (decision
// 0043). The context reaches memory of MapChunk, at the same address, and pinned memory. Memory of
// Alloc belongs to the program's context: copies of it wait while that context does.
func (v *Device) OwnContext(caller string) (*Device, error) {
	v.own.mu.Lock()
	defer v.own.mu.Unlock()
	if v.own.dev == nil {
		dev, err := v.newContext()
		if err != nil {
			return nil, err
		}
		v.own.dev = dev
	}
	return v.own.dev.For(caller), nil
}

// newContext makes a context on the GPU that takes as little memory as a context can.
func (v *Device) newContext() (*Device, error) {
	const op = "make a context on"
	var context unsafe.Pointer
	table := v.driver.table
	// The driver pushes a new context onto the thread's stack, above the one that with has pushed,
	// so newContext pops it.
	err := v.with(op, func() error {
		if err := v.fail(op, "cuCtxCreate_v2", C.shmemi_cuda_context_create(table, &context, 0, v.handle)); err != nil {
			return err
		}
		// A context takes 524 MiB with its default stack size, and 260 with 0; a kernel that needs
		// a stack still gets one. The other limits and all flags make no difference (H200).
		err := v.fail(op, "cuCtxSetLimit", C.shmemi_cuda_context_limit(table, C.SHMEMI_CUDA_STACK_SIZE, 0))
		var same unsafe.Pointer
		return errors.Join(err, v.fail(op, "cuCtxPopCurrent_v2", C.shmemi_cuda_context_pop(table, &same)))
	})
	dev := v.For("")
	// birth is 0, because a reset by the program does not end this context.
	dev.context, dev.stream, dev.driver.table.birth = context, nil, 0
	if err == nil {
		err = dev.createStream(op)
	}
	if err != nil {
		if dev.stream != nil {
			err = errors.Join(err, dev.CloseStream(gpu.Stream(uintptr(dev.stream))))
		}
		if context != nil {
			err = errors.Join(err, v.fail(op, "cuCtxDestroy_v2", C.shmemi_cuda_context_destroy(table, context)))
		}
		return nil, err
	}
	return dev, nil
}

// endOwnContext destroys the context that OwnContext made, if it was called. The caller holds
// own.mu and mu.
func (v *Device) endOwnContext(op string) error {
	dev := v.own.dev
	if dev == nil {
		return nil
	}
	v.own.dev = nil
	return errors.Join(dev.destroyStream(op), v.fail(op, "cuCtxDestroy_v2", C.shmemi_cuda_context_destroy(v.driver.table, dev.context)))
}
