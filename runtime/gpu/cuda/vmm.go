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

// wanted describes memory of this GPU that can be given to other processes and,
// where the GPU can, to NICs.
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

// Granularity is the unit of the sizes and addresses of Reserve to Map.
func (v *Device) Granularity() (uint64, error) {
	var n C.size_t
	w := v.wanted()
	err := v.do("ask for the granularity of memory on", func() (string, C.int) {
		return "cuMemGetAllocationGranularity", C.shmemi_cuda_granularity(v.driver.table, &n, &w, C.SHMEMI_CUDA_GRANULARITY_MINIMUM)
	})
	return uint64(n), err
}

// Reserve takes addresses, and no memory. The first is a multiple of align, a
// power of two.
func (v *Device) Reserve(n, align uint64) (gpu.Address, error) {
	var at C.uint64_t
	err := v.take(amount("reserve", n, "of addresses on"), func() (string, C.int) {
		return "cuMemAddressReserve", C.shmemi_cuda_reserve(v.driver.table, &at, C.size_t(n), C.size_t(align), 0, 0)
	}, func() error { return v.Unreserve(gpu.Address(at), n) })
	return gpu.Address(at), err
}

// Unreserve gives back the addresses of Reserve, all of them.
func (v *Device) Unreserve(a gpu.Address, n uint64) error {
	return v.giveBackApart("give back addresses on", func() (string, C.int) {
		return "cuMemAddressFree", C.shmemi_cuda_unreserve(v.driver.table, C.uint64_t(a), C.size_t(n))
	})
}

// CreateChunk allocates memory of the GPU without an address.
func (v *Device) CreateChunk(n uint64) (gpu.Chunk, error) {
	var memory C.uint64_t
	w := v.wanted()
	err := v.take(amount("allocate", n, "on"), func() (string, C.int) {
		return "cuMemCreate", C.shmemi_cuda_create(v.driver.table, &memory, C.size_t(n), &w, 0)
	}, func() error { return v.ReleaseChunk(gpu.Chunk(memory)) })
	return gpu.Chunk(memory), err
}

// ReleaseChunk gives up the name of a chunk. Its memory is freed when it is
// mapped nowhere, in no process, and no descriptor of it is open.
func (v *Device) ReleaseChunk(c gpu.Chunk) error {
	return v.giveBackApart("release memory on", func() (string, C.int) {
		return "cuMemRelease", C.shmemi_cuda_release(v.driver.table, C.uint64_t(c))
	})
}

// ShareChunk makes a descriptor of the chunk, which another process can take.
// The caller closes it.
func (v *Device) ShareChunk(c gpu.Chunk) (int, error) {
	fd := C.int(-1)
	err := v.take("share memory on", func() (string, C.int) {
		return "cuMemExportToShareableHandle", C.shmemi_cuda_share(v.driver.table, unsafe.Pointer(&fd), C.uint64_t(c), C.SHMEMI_CUDA_HANDLE_POSIX, 0)
	}, func() error { return unix.Close(int(fd)) })
	return int(fd), err
}

// TakeChunk makes a chunk of another process's descriptor, which stays open.
func (v *Device) TakeChunk(fd int) (gpu.Chunk, error) {
	var memory C.uint64_t
	err := v.take("take another process's memory on", func() (string, C.int) {
		// The descriptor itself is passed as the pointer.
		handle := uintptr(fd)
		return "cuMemImportFromShareableHandle", C.shmemi_cuda_take(v.driver.table, &memory, *(*unsafe.Pointer)(unsafe.Pointer(&handle)), C.SHMEMI_CUDA_HANDLE_POSIX)
	}, func() error { return v.ReleaseChunk(gpu.Chunk(memory)) })
	return gpu.Chunk(memory), err
}

// MapChunk puts the whole chunk at an address within a reserved range, for
// loads and stores of this GPU.
func (v *Device) MapChunk(a gpu.Address, n uint64, c gpu.Chunk) error {
	op := fmt.Sprintf("map %d bytes at %#x on", n, uint64(a))
	unmap := func() error { return v.UnmapChunk(a, n) }
	if err := v.take(op, func() (string, C.int) {
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

// UnmapChunk undoes MapChunk.
func (v *Device) UnmapChunk(a gpu.Address, n uint64) error {
	return v.giveBackApart("unmap memory on", func() (string, C.int) {
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
