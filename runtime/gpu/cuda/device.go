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
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// Device is one GPU with a context of it, for one caller: see For and Apart.
type Device struct {
	*opened
	context unsafe.Pointer
	stream  unsafe.Pointer // for calls that wait
	driver  *Driver        // with the marks of the caller
}

// opened is the state that all callers share.
type opened struct {
	number  int
	handle  C.int
	name    string
	facts   gpu.Facts
	primary *Device
	apart   apart
	joints  joints
	hosts   hosts
	callers callers
	resets  resets

	// mu is held for reading by each operation and for writing by Close.
	mu     sync.RWMutex
	closed bool
}

var _ gpu.Device = (*Device)(nil)

// Device makes the GPU with this number, from 0, ready for use: its primary context is there until
// Close, even if other code holds or releases it.
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
	if err := v.begin("open"); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// begin makes the stream of a context.
func (v *Device) begin(op string) error {
	return v.do(op, func() (string, C.int) {
		return "cuStreamCreate", C.shmemi_cuda_stream_create(v.driver.table, &v.stream, C.SHMEMI_CUDA_STREAM_NON_BLOCKING)
	})
}

// end is for a caller that holds mu.
func (v *Device) end(op string) error {
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

// Number is that which it was opened by.
func (v *Device) Number() int { return v.number }

// For is the same GPU for another caller, whose name Calls gives. It ends with Close
// of any of them.
func (v *Device) For(caller string) *Device {
	own := *v.driver
	if table := v.callers.add(caller, own.table); table != nil {
		if table.birth = 0; v.context == v.resets.birth.context {
			table.birth = v.resets.birth.id
		}
		own.table = table
	}
	return &Device{v.opened, v.context, v.stream, &own}
}

// Context is the context, a CUcontext.
func (v *Device) Context() unsafe.Pointer { return v.context }

// Name is the number and the name: "GPU 0 NVIDIA H200".
func (v *Device) Name() string { return v.name }

// Facts are the driver's facts from the opening of the device.
func (v *Device) Facts() gpu.Facts { return v.facts }

// Close gives the primary context back and ends the one of Apart. Memory that was allocated and is
// not freed ends with its context; the program may be keeping the primary one. Further calls do
// nothing, and every other operation then fails.
func (v *Device) Close() error {
	const op = "close"
	v.apart.mu.Lock()
	defer v.apart.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	v.closed = true
	err := errors.Join(v.endApart(op), v.primary.end(op))
	err = errors.Join(err, v.fail(op, "cuDevicePrimaryCtxRelease_v2", C.shmemi_cuda_context_release(v.driver.table, v.handle)))
	v.callers.close()
	return err
}

// with runs f on one thread with the device's context current, and puts the
// thread's own context and mode back.
func (v *Device) with(op string, f func() error) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.closed {
		return v.isClosed(op)
	}
	if v.gone() {
		return v.resetError(op)
	}
	return v.withLocked(op, f)
}

// withLocked is with for a caller that holds mu.
//
// The thread is relaxed meanwhile, for calls that the driver else refuses while the program
// captures a graph, in this thread or in any (so torch does): to wait or to ask for streams, though
// the library's own are part of no graph, and to allocate. A refusal would end the capture, too.
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

// do is with for a single call of the driver, which f names.
func (v *Device) do(op string, f func() (string, C.int)) error {
	return v.with(op, func() error {
		call, code := f()
		return v.fail(op, call, code)
	})
}

// enter begins an operation that is one crossing into C, which leave ends: operations for each
// message go this way, without allocations and in a third of the crossings of do.
func (v *Device) enter(op string) error {
	v.mu.RLock()
	if v.closed {
		v.mu.RUnlock()
		return v.isClosed(op)
	}
	if v.gone() {
		v.mu.RUnlock()
		return v.resetError(op)
	}
	return nil
}

func (v *Device) leave(op, call string, out C.struct_shmemi_cuda_outcome) error {
	if out.push|out.call|out.pop == 0 {
		v.mu.RUnlock()
		return nil
	}
	defer v.mu.RUnlock()
	return errors.Join(v.fail(op, "cuCtxPushCurrent_v2", out.push), v.fail(op, call, out.call), v.fail(op, "cuCtxPopCurrent_v2", out.pop))
}

// leaveReady is leave for a call that may answer that something is not done yet.
func (v *Device) leaveReady(op, call string, out C.struct_shmemi_cuda_outcome) (bool, error) {
	done := out.call != C.SHMEMI_CUDA_NOT_READY
	if !done {
		out.call = 0
	}
	err := v.leave(op, call, out)
	return done && err == nil, err
}

func (v *Device) isClosed(op string) error {
	return &shmerr.Error{Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrArgument, "%w", errClosed)}
}

// take is do for a call that undo reverses when the operation fails after it: the context has to be
// put back, too.
func (v *Device) take(op string, f func() (string, C.int), undo func() error) error {
	taken := false
	err := v.do(op, func() (string, C.int) {
		call, code := f()
		taken = code == 0
		return call, code
	})
	if err != nil && taken {
		return errors.Join(err, undo())
	}
	return err
}
