package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// ChunkAt returns a handle of the chunk that is mapped at an address of this process, whether this
// library or other code has mapped it. The caller releases the handle by ReleaseChunk; until then
// the driver returns the same handle for each address of the chunk. ok is false if there is no
// chunk: the driver has handles only for memory mapped by cuMemMap, not for memory of cuMemAlloc,
// which is cudaMalloc, nor of cuMemAllocAsync (H200, driver of CUDA 13.0:
// CUDA_ERROR_INVALID_VALUE).
func (v *Device) ChunkAt(a gpu.Address) (c gpu.Chunk, ok bool, err error) {
	op := fmt.Sprintf("name the memory at %#x on", uint64(a))
	if v.driver.table.retain == nil || v.driver.table.properties == nil {
		return 0, false, &shmerr.Error{Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrUnsupported, "the driver, of CUDA %s, has no call for it", v.facts.Driver)}
	}
	var memory C.uint64_t
	none := false
	err = v.create(op, func() (string, C.int) {
		code := C.shmemi_cuda_retain(v.driver.table, &memory, *(*unsafe.Pointer)(unsafe.Pointer(&a)))
		if none = code == C.SHMEMI_CUDA_INVALID_VALUE; none {
			code = 0
		}
		return "cuMemRetainAllocationHandle", code
	}, func() error {
		if none {
			return nil
		}
		return v.ReleaseChunk(gpu.Chunk(memory))
	})
	return gpu.Chunk(memory), err == nil && !none, err
}

// Lendable returns which GPU the memory of a chunk is on, and whether other processes can share it.
// Both were decided when the chunk was allocated.
func (v *Device) Lendable(c gpu.Chunk) (gpu.Lendable, error) {
	var w C.struct_shmemi_cuda_wanted
	err := v.do("ask for properties of memory on", func() (string, C.int) {
		return "cuMemGetAllocationPropertiesFromHandle", C.shmemi_cuda_properties(v.driver.table, &w, C.uint64_t(c))
	})
	l := gpu.Lendable{Device: -1, Shared: w.handles&C.SHMEMI_CUDA_HANDLE_POSIX != 0}
	if w.location._type == C.SHMEMI_CUDA_LOCATION_DEVICE {
		l.Device = int(w.location.id)
	}
	return l, err
}
