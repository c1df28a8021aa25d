package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/gpu"
)

// wanted returns the driver's description of memory of this GPU that other processes can map and,
// if the GPU supports it, NICs can reach.
func (v *Device) wanted() C.struct_shmemi_cuda_wanted {
	w := C.struct_shmemi_cuda_wanted{
		_type: C.SHMEMI_CUDA_ALLOCATION_PINNED, handles: C.SHMEMI_CUDA_HANDLE_POSIX,
		location: C.struct_shmemi_cuda_location{_type: C.SHMEMI_CUDA_LOCATION_DEVICE, id: v.handle},
	}
	if v.facts.RDMAVMM {
		w.flags.rdma = 1
	}
	return w
}

// Granularity returns the unit of sizes and addresses for Reserve, CreateChunk and MapChunk.
func (v *Device) Granularity() (uint64, error) {
	var n C.size_t
	w := v.wanted()
	err := v.do("ask for the granularity of memory on", func() (string, C.int) {
		return "cuMemGetAllocationGranularity", C.shmemi_cuda_granularity(v.driver.table, &n, &w, C.SHMEMI_CUDA_GRANULARITY_MINIMUM)
	})
	return uint64(n), err
}

// Reserve reserves n bytes of addresses without memory. The first is a multiple of
// align, a power of two.
func (v *Device) Reserve(n, align uint64) (gpu.Address, error) {
	var at C.uint64_t
	err := v.create(amount("reserve", n, "of addresses on"), func() (string, C.int) {
		return "cuMemAddressReserve", C.shmemi_cuda_reserve(v.driver.table, &at, C.size_t(n), C.size_t(align), 0, 0)
	}, func() error { return v.Unreserve(gpu.Address(at), n) })
	return gpu.Address(at), err
}

// Unreserve releases the n bytes of addresses that Reserve has reserved at a.
func (v *Device) Unreserve(a gpu.Address, n uint64) error {
	return v.freeWithoutContext("give back addresses on", func() (string, C.int) {
		return "cuMemAddressFree", C.shmemi_cuda_unreserve(v.driver.table, C.uint64_t(a), C.size_t(n))
	})
}

// CreateChunk allocates n bytes of GPU memory without an address, and returns its handle.
func (v *Device) CreateChunk(n uint64) (gpu.Chunk, error) {
	var memory C.uint64_t
	w := v.wanted()
	err := v.create(amount("allocate", n, "on"), func() (string, C.int) {
		return "cuMemCreate", C.shmemi_cuda_create(v.driver.table, &memory, C.size_t(n), &w, 0)
	}, func() error { return v.ReleaseChunk(gpu.Chunk(memory)) })
	return gpu.Chunk(memory), err
}

// ReleaseChunk releases a handle of a chunk. The memory is freed when no process has
// it mapped and no descriptor of it is open.
func (v *Device) ReleaseChunk(c gpu.Chunk) error {
	return v.freeWithoutContext("release memory on", func() (string, C.int) {
		return "cuMemRelease", C.shmemi_cuda_release(v.driver.table, C.uint64_t(c))
	})
}

// ShareChunk makes a descriptor of the chunk, from which another process gets a handle by
// ImportChunk. The caller closes the descriptor.
func (v *Device) ShareChunk(c gpu.Chunk) (int, error) {
	fd := C.int(-1)
	err := v.create("share memory on", func() (string, C.int) {
		return "cuMemExportToShareableHandle", C.shmemi_cuda_share(v.driver.table, unsafe.Pointer(&fd), C.uint64_t(c), C.SHMEMI_CUDA_HANDLE_POSIX, 0)
	}, func() error { return unix.Close(int(fd)) })
	return int(fd), err
}

// ImportChunk returns a handle of the chunk of a descriptor that another process has made. It does
// not close the descriptor.
func (v *Device) ImportChunk(fd int) (gpu.Chunk, error) {
	var memory C.uint64_t
	err := v.create("take another process's memory on", func() (string, C.int) {
		// cuda.h: for this type of handle the pointer argument is the descriptor itself.
		handle := uintptr(fd)
		return "cuMemImportFromShareableHandle", C.shmemi_cuda_take(v.driver.table, &memory, *(*unsafe.Pointer)(unsafe.Pointer(&handle)), C.SHMEMI_CUDA_HANDLE_POSIX)
	}, func() error { return v.ReleaseChunk(gpu.Chunk(memory)) })
	return gpu.Chunk(memory), err
}

// MapChunk maps the whole chunk, of n bytes, at an address within a reserved range, for loads and
// stores of this GPU. After an error nothing is mapped.
func (v *Device) MapChunk(a gpu.Address, n uint64, c gpu.Chunk) error {
	op := fmt.Sprintf("map %d bytes at %#x on", n, uint64(a))
	unmap := func() error { return v.UnmapChunk(a, n) }
	if err := v.create(op, func() (string, C.int) {
		return "cuMemMap", C.shmemi_cuda_map(v.driver.table, C.uint64_t(a), C.size_t(n), 0, C.uint64_t(c), 0)
	}, unmap); err != nil {
		return err
	}
	access := C.struct_shmemi_cuda_access{
		location: C.struct_shmemi_cuda_location{_type: C.SHMEMI_CUDA_LOCATION_DEVICE, id: v.handle},
		flags:    C.SHMEMI_CUDA_ACCESS_READ_WRITE,
	}
	if err := v.do(op, func() (string, C.int) {
		return "cuMemSetAccess", C.shmemi_cuda_set_access(v.driver.table, C.uint64_t(a), C.size_t(n), &access, 1)
	}); err != nil {
		return errors.Join(err, unmap())
	}
	return nil
}

// UnmapChunk unmaps a chunk that MapChunk has mapped.
func (v *Device) UnmapChunk(a gpu.Address, n uint64) error {
	return v.freeWithoutContext("unmap memory on", func() (string, C.int) {
		return "cuMemUnmap", C.shmemi_cuda_unmap(v.driver.table, C.uint64_t(a), C.size_t(n))
	})
}

// FreeMemory returns the free and the total memory of the GPU.
func (v *Device) FreeMemory() (free, total uint64, err error) {
	var f, t C.size_t
	err = v.do("ask for free memory of", func() (string, C.int) {
		return "cuMemGetInfo_v2", C.shmemi_cuda_memory_info(v.driver.table, &f, &t)
	})
	return uint64(f), uint64(t), err
}
