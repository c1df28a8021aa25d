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

// Device is one GPU with its primary context.
type Device struct {
	driver  *Driver
	handle  C.int
	name    string
	facts   gpu.Facts
	context unsafe.Pointer
	stream  unsafe.Pointer

	// mu is held for reading by each operation and for writing by Close.
	mu     sync.RWMutex
	closed bool
}

var _ gpu.Device = (*Device)(nil)

// Device makes the GPU with this number, from 0, ready for use: its primary
// context is there until Close, whoever else has or releases it.
func (d *Driver) Device(number int) (*Device, error) {
	object := fmt.Sprintf("GPU %d", number)
	if number < 0 || number >= d.Count {
		return nil, &shmerr.Error{
			Op: "open", Object: object, Cause: shmerr.Causef(shmerr.ErrArgument, "there are %d", d.Count),
			Remedy: "count from 0, and see CUDA_VISIBLE_DEVICES",
		}
	}
	v := &Device{driver: d}
	if err := d.fail("open", object, "cuDeviceGet", C.shmemi_cuda_device(d.table, &v.handle, C.int(number))); err != nil {
		return nil, err
	}
	if err := v.describe(number); err != nil {
		return nil, err
	}
	if err := v.fail("open", "cuDevicePrimaryCtxRetain", C.shmemi_cuda_context_retain(d.table, &v.context, v.handle)); err != nil {
		return nil, err
	}
	if err := v.do("open", func() (string, C.int) {
		return "cuStreamCreate", C.shmemi_cuda_stream_create(d.table, &v.stream, C.SHMEMI_CUDA_STREAM_NON_BLOCKING)
	}); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// describe asks for the name and the facts of the device.
func (v *Device) describe(number int) error {
	d, object := v.driver, fmt.Sprintf("GPU %d", number)
	var text [256]C.char
	if err := d.fail("open", object, "cuDeviceGetName", C.shmemi_cuda_device_name(d.table, &text[0], C.int(len(text)), v.handle)); err != nil {
		return err
	}
	v.name = fmt.Sprintf("%s %s", object, C.GoString(&text[0]))
	if err := v.fail("open", "cuDeviceGetPCIBusId", C.shmemi_cuda_device_pci(d.table, &text[0], C.int(len(text)), v.handle)); err != nil {
		return err
	}
	has := func(attribute C.int) bool {
		var value C.int
		// A driver answers an error for attributes that are newer than it is.
		return C.shmemi_cuda_device_attribute(d.table, &value, attribute, v.handle) == 0 && value != 0
	}
	v.facts = gpu.Facts{
		Driver:       d.Version.String(),
		PCI:          C.GoString(&text[0]),
		MapHost:      has(C.SHMEMI_CUDA_CAN_MAP_HOST_MEMORY),
		RegisterHost: has(C.SHMEMI_CUDA_HOST_REGISTER_SUPPORTED),
		Managed:      has(C.SHMEMI_CUDA_MANAGED_MEMORY),
		Concurrent:   has(C.SHMEMI_CUDA_CONCURRENT_MANAGED_ACCESS),
		DMABuf:       d.table.export != nil && has(C.SHMEMI_CUDA_DMA_BUF_SUPPORTED),
		DMABufMap:    has(C.SHMEMI_CUDA_DMA_BUF_MMAP_SUPPORTED),
	}
	return nil
}

// Name is the number and the name: "GPU 0 NVIDIA H200".
func (v *Device) Name() string { return v.name }

// Facts are what the driver said when the device was opened.
func (v *Device) Facts() gpu.Facts { return v.facts }

// Close gives the primary context back. What was allocated and is not freed
// ends with the context, which the program may be keeping. Further calls do
// nothing, and every other operation then fails.
func (v *Device) Close() error {
	const op = "close"
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	v.closed = true
	var err error
	if v.stream != nil {
		err = v.withLocked(op, func() error {
			return v.fail(op, "cuStreamDestroy_v2", C.shmemi_cuda_stream_destroy(v.driver.table, v.stream))
		})
	}
	return errors.Join(err, v.fail(op, "cuDevicePrimaryCtxRelease_v2", C.shmemi_cuda_context_release(v.driver.table, v.handle)))
}

func (v *Device) fail(op, call string, code C.int) error {
	return v.driver.fail(op, v.name, call, code)
}

// with runs f on one thread with the device's context current, and puts the
// thread's own context back.
func (v *Device) with(op string, f func() error) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.closed {
		return &shmerr.Error{Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrArgument, "%w", errClosed)}
	}
	return v.withLocked(op, f)
}

// withLocked is with for a caller that has mu.
func (v *Device) withLocked(op string, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	table := v.driver.table
	if err := v.fail(op, "cuCtxPushCurrent_v2", C.shmemi_cuda_context_push(table, v.context)); err != nil {
		return err
	}
	err := f()
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
