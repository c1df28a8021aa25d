package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"libshmem/runtime/gpu"
)

// ManagedAlloc allocates managed memory and advises the driver to keep it in
// main memory, where the CPU polls it, and mapped by this GPU, so that its stores
// go there without a page fault.
func (v *Device) ManagedAlloc(n uint64) (unsafe.Pointer, gpu.Address, error) {
	var address C.uint64_t
	op, t := amount("allocate", n, "of managed memory on"), v.driver.table
	err := v.do(op, func() (string, C.int) {
		return "cuMemAllocManaged", C.shmemi_cuda_managed_alloc(t, &address, C.size_t(n), C.SHMEMI_CUDA_ATTACH_GLOBAL)
	})
	for _, advice := range []struct{ what, where C.int }{
		{C.SHMEMI_CUDA_PREFER_LOCATION, C.SHMEMI_CUDA_CPU}, {C.SHMEMI_CUDA_ACCESSED_BY, v.handle},
	} {
		if err == nil {
			err = v.do(op, func() (string, C.int) {
				return "cuMemAdvise", C.shmemi_cuda_advise(t, address, C.size_t(n), advice.what, advice.where)
			})
		}
	}
	if err != nil {
		return nil, 0, v.abandon(address, err)
	}
	return pointer(address), gpu.Address(address), nil
}

// abandon frees memory that was allocated before err occurred (none if address is 0), and returns
// err joined with the error of freeing it.
func (v *Device) abandon(address C.uint64_t, err error) error {
	if address == 0 {
		return err
	}
	return errors.Join(err, v.Free(gpu.Address(address)))
}

// pointer converts an address outside Go's memory, which the driver returns as a
// number. It copies the bits, because Go's rules allow no conversion of a number.
func pointer(address C.uint64_t) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// Alloc allocates n bytes of GPU memory. Their contents are undefined.
func (v *Device) Alloc(n uint64) (gpu.Address, error) {
	var address C.uint64_t
	err := v.do(amount("allocate", n, "on"), func() (string, C.int) {
		return "cuMemAlloc_v2", C.shmemi_cuda_alloc(v.driver.table, &address, C.size_t(n))
	})
	if err != nil {
		return 0, v.abandon(address, err)
	}
	return gpu.Address(address), nil
}

// Free frees memory of Alloc or ManagedAlloc.
func (v *Device) Free(a gpu.Address) error {
	return v.freeObject("free memory on", func() (string, C.int) {
		return "cuMemFree_v2", C.shmemi_cuda_free(v.driver.table, C.uint64_t(a))
	})
}

// Zero clears n bytes and waits until they are cleared. Like all functions here that use run, it
// splits the work where two registrations of main memory meet, because the driver refuses a call
// that crosses such a boundary.
func (v *Device) Zero(a gpu.Address, n uint64) error {
	return v.run("clear memory on", n, func(done, left uint64) (uint64, string, C.int) {
		at := a + gpu.Address(done)
		left = v.joints.untilJoint(at, left)
		return left, "cuMemsetD8Async", C.shmemi_cuda_fill8(v.driver.table, C.uint64_t(at), 0, C.size_t(left), v.stream)
	})
}

// Fill stores value into n words of 4 bytes and waits until they are stored. It splits the work at
// boundaries of registrations, like Zero.
func (v *Device) Fill(a gpu.Address, value uint32, n uint64) error {
	return v.run("fill memory on", 4*n, func(done, left uint64) (uint64, string, C.int) {
		at := a + gpu.Address(done)
		left = v.joints.untilJoint(at, left)
		return left, "cuMemsetD32Async", C.shmemi_cuda_fill32(v.driver.table, C.uint64_t(at), C.uint(value), C.size_t(left/4), v.stream)
	})
}

// Copy copies n bytes between addresses that the GPU reaches, and waits for the copy. It splits the
// copy where two registrations of main memory meet, at either address.
func (v *Device) Copy(to, from gpu.Address, n uint64) error {
	return v.run("copy memory on", n, func(done, left uint64) (uint64, string, C.int) {
		to, from := to+gpu.Address(done), from+gpu.Address(done)
		left = v.joints.untilJoint(from, v.joints.untilJoint(to, left))
		return left, "cuMemcpyDtoDAsync_v2", C.shmemi_cuda_copy(v.driver.table, C.uint64_t(to), C.uint64_t(from), C.size_t(left), v.stream)
	})
}

// CopyIn copies Go's memory to an address that the GPU reaches, and waits for the copy. It splits
// the copy where two registrations of main memory meet, because the driver refuses a copy that
// crosses such a boundary.
func (v *Device) CopyIn(to gpu.Address, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	var pinner runtime.Pinner // the driver may read until run has waited for the stream
	pinner.Pin(&from[0])
	defer pinner.Unpin()
	return v.run("copy memory to", uint64(len(from)), func(done, left uint64) (uint64, string, C.int) {
		to := to + gpu.Address(done)
		left = v.joints.untilJoint(to, left)
		return left, "cuMemcpyHtoDAsync_v2", C.shmemi_cuda_copy_in(v.driver.table, C.uint64_t(to), unsafe.Pointer(&from[done]), C.size_t(left), v.stream)
	})
}

// CopyOut copies from an address that the GPU reaches to Go's memory, and waits for the copy. It
// splits the copy where two registrations of main memory meet, because the driver refuses a copy
// that crosses such a boundary.
func (v *Device) CopyOut(to []byte, from gpu.Address) error {
	if len(to) == 0 {
		return nil
	}
	var pinner runtime.Pinner // the driver may write until run has waited for the stream
	pinner.Pin(&to[0])
	defer pinner.Unpin()
	return v.run("copy memory from", uint64(len(to)), func(done, left uint64) (uint64, string, C.int) {
		from := from + gpu.Address(done)
		left = v.joints.untilJoint(from, left)
		return left, "cuMemcpyDtoHAsync_v2", C.shmemi_cuda_copy_out(v.driver.table, unsafe.Pointer(&to[done]), C.uint64_t(from), C.size_t(left), v.stream)
	})
}

// run starts work on n bytes on the device's stream, piece by piece, and waits for all of it. start
// starts one piece: it gets how many bytes have been started and how many are left, and returns the
// size of the piece, the driver call and its result.
func (v *Device) run(op string, n uint64, start func(done, left uint64) (uint64, string, C.int)) error {
	return v.with(op, func() error {
		for done := uint64(0); ; {
			started, call, code := start(done, n-done)
			if err := v.fail(op, call, code); err != nil {
				// Work that was started may still use the memory.
				return errors.Join(err, v.finish(op, done > 0))
			}
			if done += started; done >= n {
				return v.finish(op, true)
			}
		}
	})
}

// finish waits for the device's stream, if work was started there: even after an error, because
// that work uses the caller's memory.
func (v *Device) finish(op string, started bool) error {
	if !started {
		return nil
	}
	return v.fail(op, "cuStreamSynchronize", C.shmemi_cuda_stream_wait(v.driver.table, v.stream))
}

// amount returns the text of an operation on n bytes, for errors.
func amount(verb string, n uint64, of string) string {
	return fmt.Sprintf("%s %d bytes %s", verb, n, of)
}
