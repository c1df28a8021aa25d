package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// Device is one GPU with a CUDA context on it, for one caller in the library. For and OwnContext
// make Devices for other callers.
type Device struct {
	*opened
	context unsafe.Pointer
	stream  unsafe.Pointer // for copies and fills that are complete when the call returns
	driver  *Driver        // whose table marks the calls of this caller, see marks.h
}

// opened is the state of an opened GPU, which the Devices of all callers share.
type opened struct {
	number  int
	handle  C.int // the CUdevice
	name    string
	facts   gpu.Facts
	primary *Device    // in the primary context
	own     ownContext // of the library; made when it is needed
	joints  joints     // where copies must be split
	hosts   hosts      // blocks of HostAlloc
	callers callers    // whose driver calls are recorded
	resets  resets     // detects resets of the GPU by the program

	batchRefused atomic.Bool // the driver has refused a batched call of copies

	// Each operation locks mu for reading, and Close for writing, so that Close waits for them.
	mu     sync.RWMutex
	closed bool
}

var _ gpu.Device = (*Device)(nil)

// Device opens the GPU with this number, counted from 0. It retains the primary context until
// Close, so that the context stays alive when other code releases it.
func (d *Driver) Device(number int) (*Device, error) {
	object := fmt.Sprintf("GPU %d", number)
	if number < 0 || number >= d.Count {
		return nil, &shmerr.Error{
			Op: "open", Object: object, Cause: shmerr.Causef(shmerr.ErrArgument, "there are %d", d.Count),
			Remedy: "count from 0, and see CUDA_VISIBLE_DEVICES",
		}
	}
	v := &Device{opened: new(opened), driver: d}
	if err := d.fail("open", object, "cuDeviceGet", C.shmemi_cuda_device(d.table, &v.handle, C.int(number))); err != nil {
		return nil, err
	}
	if err := v.describe(number); err != nil {
		return nil, err
	}
	if err := v.fail("open", "cuDevicePrimaryCtxRetain", C.shmemi_cuda_context_retain(d.table, &v.context, v.handle)); err != nil {
		return nil, err
	}
	v.resets.birth = v.born(v.context)
	v = v.For("")
	v.primary = v
	if err := v.createStream("open"); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// createStream creates the stream of this Device, for copies that are complete when their call
// returns. op is for the error.
func (v *Device) createStream(op string) error {
	return v.do(op, func() (string, C.int) {
		return "cuStreamCreate", C.shmemi_cuda_stream_create(v.driver.table, &v.stream, C.SHMEMI_CUDA_STREAM_NON_BLOCKING)
	})
}

// destroyStream destroys the stream of this Device, unless a reset of the GPU has destroyed it. The
// caller holds mu. op is for the error.
func (v *Device) destroyStream(op string) error {
	if v.stream == nil {
		return nil
	}
	if v.gone() {
		return nil
	}
	return v.withLocked(op, func() error {
		return v.fail(op, "cuStreamDestroy_v2", C.shmemi_cuda_stream_destroy(v.driver.table, v.stream))
	})
}

// Number returns the number by which the GPU was opened: its index for the CUDA driver.
func (v *Device) Number() int { return v.number }

// For returns a Device for the same GPU whose driver calls are recorded under the name caller,
// which Calls reports. Close of any of these Devices closes all.
func (v *Device) For(caller string) *Device {
	driver := *v.driver
	if table := v.callers.add(caller, driver.table); table != nil {
		// A reset of the GPU ends the primary context only, so birth is 0 in another.
		if table.birth = 0; v.context == v.resets.birth.context {
			table.birth = v.resets.birth.id
		}
		driver.table = table
	}
	return &Device{v.opened, v.context, v.stream, &driver}
}

// Context returns the CUcontext in which this Device works.
func (v *Device) Context() unsafe.Pointer { return v.context }

// Name returns the GPU's number and the name of its model: "GPU 0 NVIDIA H200".
func (v *Device) Name() string { return v.name }

// Facts returns what the driver reported about the GPU when it was opened.
func (v *Device) Facts() gpu.Facts { return v.facts }

// Close releases the primary context and destroys that of OwnContext. Memory that was not freed
// ends with its context; the primary context stays if the program retains it. Further calls of
// Close do nothing, and every other operation then fails.
func (v *Device) Close() error {
	const op = "close"
	v.own.mu.Lock()
	defer v.own.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	v.closed = true
	err := errors.Join(v.endOwnContext(op), v.primary.destroyStream(op))
	err = errors.Join(err, v.fail(op, "cuDevicePrimaryCtxRelease_v2", C.shmemi_cuda_context_release(v.driver.table, v.handle)))
	v.callers.close()
	return err
}

// with runs f on one thread on which the device's context is current, and then restores the
// thread's own context and capture mode. It fails after Close, and after the program has reset the
// GPU.
func (v *Device) with(op string, f func() error) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.closed {
		return v.closedError(op)
	}
	if v.gone() {
		return v.resetError(op)
	}
	return v.withLocked(op, f)
}

// withLocked runs f with the device's context current, like with. The caller holds mu.
//
// Meanwhile the thread is in the relaxed capture mode. In the other modes, while the program
// captures a graph on this thread or, as torch does, for all threads, the driver refuses
// allocations, and waits for and queries of any stream, and a refusal ends the program's capture.
// The library's calls belong to no graph.
func (v *Device) withLocked(op string, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	table := v.driver.table
	if err := v.fail(op, "cuCtxPushCurrent_v2", C.shmemi_cuda_context_push(table, v.context)); err != nil {
		return err
	}
	mode := C.shmemi_cuda_capture_as(table, C.SHMEMI_CUDA_CAPTURE_RELAXED)
	var err error
	if C.shmemi_cuda_gone(table, v.context) {
		err = v.fail(op, "cuCtxGetId", C.SHMEMI_CUDA_CONTEXT_IS_DESTROYED)
	} else {
		err = f()
	}
	C.shmemi_cuda_capture_as(table, mode)
	var old unsafe.Pointer
	return errors.Join(err, v.fail(op, "cuCtxPopCurrent_v2", C.shmemi_cuda_context_pop(table, &old)))
}

// do runs f, a single call of the driver, with the device's context current. f returns the call's
// name and its result, from which do makes the error.
func (v *Device) do(op string, f func() (string, C.int)) error {
	return v.with(op, func() error {
		call, code := f()
		return v.fail(op, call, code)
	})
}

// enter begins an operation that pushes the context, calls the driver and pops it in one crossing
// into C; leave ends it. Operations that run for each message use the two: they allocate nothing,
// and need a third of the crossings of do.
func (v *Device) enter(op string) error {
	v.mu.RLock()
	if v.closed {
		v.mu.RUnlock()
		return v.closedError(op)
	}
	if v.gone() {
		v.mu.RUnlock()
		return v.resetError(op)
	}
	return nil
}

// leave ends an operation that enter began, and returns the error of its outcome: the results of
// the push of the context, of the call and of the pop.
func (v *Device) leave(op, call string, out C.struct_shmemi_cuda_outcome) error {
	if out.push|out.call|out.pop == 0 {
		v.mu.RUnlock()
		return nil
	}
	defer v.mu.RUnlock()
	return errors.Join(v.fail(op, "cuCtxPushCurrent_v2", out.push), v.fail(op, call, out.call), v.fail(op, "cuCtxPopCurrent_v2", out.pop))
}

// leaveReady ends a query that enter began, and reports whether the queried work is done. The
// driver's status for work that is not done yet is not an error.
func (v *Device) leaveReady(op, call string, out C.struct_shmemi_cuda_outcome) (bool, error) {
	done := out.call != C.SHMEMI_CUDA_NOT_READY
	if !done {
		out.call = 0
	}
	err := v.leave(op, call, out)
	return done && err == nil, err
}

// closedError returns the error of a call after Close.
func (v *Device) closedError(op string) error {
	return &shmerr.Error{Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrArgument, "%w", errClosed)}
}

// create runs f, a call of the driver that makes an object, like do. If the call succeeds and the
// thread's context cannot be restored afterwards, create calls undo, so that the object is not
// lost.
func (v *Device) create(op string, f func() (string, C.int), undo func() error) error {
	made := false
	err := v.do(op, func() (string, C.int) {
		call, code := f()
		made = code == 0
		return call, code
	})
	if err != nil && made {
		return errors.Join(err, undo())
	}
	return err
}
