package cuda

/*
#include "driver.h"
*/
import "C"

import "libshmem/runtime/gpu"

// Share returns a CUDA IPC handle of memory of Alloc, by which other processes open it. The memory
// must not be freed while one of them has it open.
func (v *Device) Share(a gpu.Address) (gpu.Shared, error) {
	var handle C.struct_shmemi_cuda_ipc
	err := v.do("share memory on", func() (string, C.int) {
		return "cuIpcGetMemHandle", C.shmemi_cuda_ipc_share(v.driver.table, &handle, C.uint64_t(a))
	})
	var s gpu.Shared
	for i, c := range handle.data {
		s[i] = byte(c)
	}
	return s, err
}

// OpenShared maps memory that another process has allocated on a GPU, given its CUDA IPC handle,
// for loads and stores of this GPU.
func (v *Device) OpenShared(s gpu.Shared) (gpu.Address, error) {
	var handle C.struct_shmemi_cuda_ipc
	for i, b := range s {
		handle.data[i] = C.uchar(b)
	}
	var at C.uint64_t
	err := v.create("map another process's memory on", func() (string, C.int) {
		return "cuIpcOpenMemHandle_v2", C.shmemi_cuda_ipc_open(v.driver.table, &at, handle, C.SHMEMI_CUDA_IPC_LAZY_PEER_ACCESS)
	}, func() error { return v.CloseShared(gpu.Address(at)) })
	return gpu.Address(at), err
}

// CloseShared unmaps memory that OpenShared has mapped.
func (v *Device) CloseShared(a gpu.Address) error {
	return v.freeObject("unmap another process's memory on", func() (string, C.int) {
		return "cuIpcCloseMemHandle", C.shmemi_cuda_ipc_close(v.driver.table, C.uint64_t(a))
	})
}
