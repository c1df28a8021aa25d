package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"runtime"
	"unsafe"

	"libshmem/runtime/gpu"
)

// Pointer finds the kind of memory at an address, and whether a CUDA context owns it: then the
// driver may delay copies of it while that context is blocked. An address that the driver does not
// know is no error: it is Pageable.
func (v *Device) Pointer(a gpu.Address) (gpu.Pointer, error) {
	var (
		place, managed C.int
		device, legacy C.int
		host           C.uint64_t
		buffer         C.uint64_t
		start          C.uint64_t
		size           C.size_t
	)
	queries := []struct {
		attribute C.int
		result    unsafe.Pointer
	}{
		{C.SHMEMI_CUDA_POINTER_TYPE, unsafe.Pointer(&place)},
		{C.SHMEMI_CUDA_POINTER_MANAGED, unsafe.Pointer(&managed)},
		{C.SHMEMI_CUDA_POINTER_DEVICE, unsafe.Pointer(&device)},
		{C.SHMEMI_CUDA_POINTER_LEGACY_IPC, unsafe.Pointer(&legacy)},
		{C.SHMEMI_CUDA_POINTER_HOST, unsafe.Pointer(&host)},
		{C.SHMEMI_CUDA_POINTER_BUFFER, unsafe.Pointer(&buffer)},
		{C.SHMEMI_CUDA_POINTER_START, unsafe.Pointer(&start)},
		{C.SHMEMI_CUDA_POINTER_SIZE, unsafe.Pointer(&size)},
	}
	var attributes [8]C.int
	var results [8]unsafe.Pointer
	var pinner runtime.Pinner // C gets a list of pointers to Go's memory
	defer pinner.Unpin()
	for i, q := range queries {
		pinner.Pin(q.result)
		attributes[i], results[i] = q.attribute, q.result
	}
	err := v.do("ask for a pointer of", func() (string, C.int) {
		return "cuPointerGetAttributes", C.shmemi_cuda_pointer(v.driver.table, C.uint(len(queries)), &attributes[0], &results[0], C.uint64_t(a))
	})
	if err != nil {
		return gpu.Pointer{}, err
	}
	p := gpu.Pointer{Host: gpu.Address(host), Base: gpu.Address(start), Size: uint64(size), Buffer: uint64(buffer)}
	switch {
	case managed != 0:
		p.Place, p.Device, p.OwnedByContext = gpu.ManagedMemory, int(device), true
	case place == C.SHMEMI_CUDA_TYPE_DEVICE:
		// A context owns memory of cudaMalloc, and only that has handles for cuIpcGetMemHandle.
		p.Place, p.Device, p.OwnedByContext = gpu.OnDevice, int(device), legacy != 0
	case place == C.SHMEMI_CUDA_TYPE_HOST:
		p.Place = gpu.PinnedHost
	default:
		return gpu.Pointer{}, nil
	}
	return p, nil
}

// SyncMemops makes CUDA's synchronous copies and fills truly synchronous for the allocation at an
// address. By default some return before their bytes are in memory, and a NIC would read old bytes
// there. A driver may support this only for memory of Alloc, and not of MapChunk.
func (v *Device) SyncMemops(a gpu.Address) error {
	yes := C.uint(1)
	return v.do("make copies synchronous for memory of", func() (string, C.int) {
		return "cuPointerSetAttribute", C.shmemi_cuda_pointer_set(v.driver.table, unsafe.Pointer(&yes), C.SHMEMI_CUDA_POINTER_SYNC_MEMOPS, C.uint64_t(a))
	})
}
