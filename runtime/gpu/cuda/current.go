package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"libshmem/runtime/shmerr"
)

// Current returns the number of the GPU whose context is current in the calling thread of the
// operating system; ok is false if none is. To find the GPU of a program's thread, the caller must
// run on that thread: a Go function that C has called does, but goroutines that it starts do not.
func (d *Driver) Current() (number int, ok bool, err error) {
	const op, object = "ask for", "the GPU of this thread"
	var context unsafe.Pointer
	if err := d.fail(op, object, "cuCtxGetCurrent", C.shmemi_cuda_context_current(d.table, &context)); err != nil {
		return 0, false, err
	}
	if context == nil {
		return 0, false, nil
	}
	var device C.int
	if err := d.fail(op, object, "cuCtxGetDevice", C.shmemi_cuda_context_device(d.table, &device)); err != nil {
		return 0, false, err
	}
	// The driver does not promise that a CUdevice is the number of the GPU, though it is so far.
	for n := range d.Count {
		var one C.int
		if err := d.fail(op, object, "cuDeviceGet", C.shmemi_cuda_device(d.table, &one, C.int(n))); err != nil {
			return 0, false, err
		}
		if one == device {
			return n, true, nil
		}
	}
	return 0, false, &shmerr.Error{Op: op, Object: object, Cause: shmerr.Causef(shmerr.ErrSystem, "cuCtxGetDevice: %d is none of the %d GPUs", int(device), d.Count)}
}

// Maps reports whether all GPUs support virtual memory management: memory that is allocated without
// an address and mapped later. It needs no context.
func (d *Driver) Maps() bool {
	for n := range d.Count {
		var device, value C.int
		if C.shmemi_cuda_device(d.table, &device, C.int(n)) != 0 ||
			C.shmemi_cuda_device_attribute(d.table, &value, C.SHMEMI_CUDA_VIRTUAL_MEMORY, device) != 0 || value == 0 {
			return false
		}
	}
	return true
}

// Choose returns the number of the GPU for a PE: the calling thread's current GPU, or, if there is
// none, one by the PE's rank on its node, so that the PEs spread evenly over the GPUs. current
// reports which of the two it is.
func (d *Driver) Choose(rank int) (number int, current bool, err error) {
	if rank < 0 {
		return 0, false, &shmerr.Error{Op: "choose", Object: "a GPU", Cause: shmerr.Causef(shmerr.ErrArgument, "the rank on the node is %d", rank)}
	}
	number, current, err = d.Current()
	if err != nil {
		return 0, false, fmt.Errorf("choose a GPU: %w", err)
	}
	if !current {
		number = rank % d.Count
	}
	return number, current, nil
}
