package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"fmt"

	"libshmem/runtime/shmerr"
)

// CallError is the error of a driver call.
type CallError struct {
	Call string // "cuMemAlloc_v2"
	Code int
	Name string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text string // "out of memory"
}

// Error returns the call, and the driver's name and text for the code.
func (e *CallError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s: error %d, which the driver has no name for", e.Call, e.Code)
	}
	return fmt.Sprintf("%s: %s, %s", e.Call, e.Name, e.Text)
}

// Unwrap returns the kind of the error (shmerr): no memory, unsupported, or any other of the
// system.
func (e *CallError) Unwrap() error {
	switch e.Code {
	case C.SHMEMI_CUDA_OUT_OF_MEMORY:
		return shmerr.ErrNoMemory
	case C.SHMEMI_CUDA_NO_DEVICE, C.SHMEMI_CUDA_NOT_SUPPORTED, C.SHMEMI_CUDA_STUB_LIBRARY,
		C.SHMEMI_CUDA_NO_BINARY, C.SHMEMI_CUDA_PEER_UNSUPPORTED, C.SHMEMI_CUDA_NO_COMPILER, C.SHMEMI_CUDA_NEWER_PTX:
		return shmerr.ErrUnsupported
	}
	return shmerr.ErrSystem
}

// remedy returns what a user can do about the error; "" if nothing is known.
func (e *CallError) remedy() string {
	switch e.Code {
	case C.SHMEMI_CUDA_NO_BINARY:
		return "compile the code for this GPU too, or as PTX"
	case C.SHMEMI_CUDA_NO_COMPILER, C.SHMEMI_CUDA_NEWER_PTX:
		return "install a newer driver, or compile the code for this GPU"
	case C.SHMEMI_CUDA_ILLEGAL_ADDRESS, C.SHMEMI_CUDA_ASSERT, C.SHMEMI_CUDA_LAUNCH_FAILED:
		return kernelFailed
	case C.SHMEMI_CUDA_OUT_OF_MEMORY:
		return "free memory, or allocate less"
	case C.SHMEMI_CUDA_STUB_LIBRARY:
		return "take CUDA's stubs folder out of the loader's path"
	case C.SHMEMI_CUDA_NO_DEVICE:
		return "nvidia-smi must list a GPU; CUDA_VISIBLE_DEVICES may hide it, or a container be started without it"
	case C.SHMEMI_CUDA_SYSTEM_NOT_READY:
		return "start nvidia-fabricmanager"
	case C.SHMEMI_CUDA_DRIVER_MISMATCH:
		return "load the kernel modules of the version of libcuda.so.1, for example by a restart of the machine"
	}
	// From HARDWARE_STACK to LAUNCH_FAILED all codes are faults of a kernel.
	if e.Code >= C.SHMEMI_CUDA_HARDWARE_STACK && e.Code < C.SHMEMI_CUDA_LAUNCH_FAILED {
		return kernelFailed
	}
	return ""
}

// kernelFailed is the remedy for the codes that the driver returns from every call after a kernel
// has failed.
const kernelFailed = "a kernel failed earlier, and no call works after that: run the program under compute-sanitizer"

// check returns nil for code 0, and otherwise the error of the call with the driver's name and
// text.
func (d *Driver) check(call string, code C.int) *CallError {
	if code == 0 {
		return nil
	}
	e := &CallError{Call: call, Code: int(code)}
	var name, text *C.char
	if C.shmemi_cuda_error_name(d.table, code, &name) == 0 && name != nil {
		e.Name = C.GoString(name)
	}
	if C.shmemi_cuda_error_text(d.table, code, &text) == 0 && text != nil {
		e.Text = C.GoString(text)
	}
	return e
}

// fail returns the error of an operation (op) on an object whose driver call returned code, with a
// remedy if one is known; nil for code 0.
func (d *Driver) fail(op, object, call string, code C.int) error {
	e := d.check(call, code)
	if e == nil {
		return nil
	}
	return &shmerr.Error{Op: op, Object: object, Cause: e, Remedy: e.remedy()}
}

// fail returns the error of an operation on the device whose driver call returned code, or nil for
// 0. If the program has reset the GPU, the error says so. The caller holds mu, or is opening the
// device.
func (v *Device) fail(op, call string, code C.int) error {
	if code == 0 || !v.wasReset() {
		return v.driver.fail(op, v.name, call, code)
	}
	cause := fmt.Errorf("%w: %s", v.driver.check(call, code), v.resetCause())
	return &shmerr.Error{Op: op, Object: v.name, Cause: cause, Remedy: resetRemedy}
}
