package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"fmt"

	"libshmem/runtime/gpu"
)

// describe reads the name and the facts of the GPU from the driver.
func (v *Device) describe(number int) error {
	d, object := v.driver, fmt.Sprintf("GPU %d", number)
	var text [256]C.char
	if err := d.fail("open", object, "cuDeviceGetName", C.shmemi_cuda_device_name(d.table, &text[0], C.int(len(text)), v.handle)); err != nil {
		return err
	}
	v.number, v.name = number, fmt.Sprintf("%s %s", object, C.GoString(&text[0]))
	if err := v.fail("open", "cuDeviceGetPCIBusId", C.shmemi_cuda_device_pci(d.table, &text[0], C.int(len(text)), v.handle)); err != nil {
		return err
	}
	uuid, err := d.uuid("open", v.name, v.handle)
	if err != nil {
		return err
	}
	var memory C.size_t
	if err := v.fail("open", "cuDeviceTotalMem_v2", C.shmemi_cuda_device_memory(d.table, &memory, v.handle)); err != nil {
		return err
	}
	valueOf := func(attribute C.int) int {
		var value C.int
		// A driver returns an error for attributes that are newer than it is.
		if C.shmemi_cuda_device_attribute(d.table, &value, attribute, v.handle) != 0 {
			return 0
		}
		return int(value)
	}
	var loading C.int
	if d.table.loading == nil || C.shmemi_cuda_loading(d.table, &loading) != 0 {
		loading = 0
	}
	has := func(attribute C.int) bool { return valueOf(attribute) != 0 }
	v.facts = gpu.Facts{
		Driver:         d.Version.String(),
		PCI:            C.GoString(&text[0]),
		UUID:           uuid,
		Major:          valueOf(C.SHMEMI_CUDA_CAPABILITY_MAJOR),
		Minor:          valueOf(C.SHMEMI_CUDA_CAPABILITY_MINOR),
		SMs:            valueOf(C.SHMEMI_CUDA_MULTIPROCESSORS),
		Memory:         uint64(memory),
		MapHost:        has(C.SHMEMI_CUDA_CAN_MAP_HOST_MEMORY),
		RegisterHost:   has(C.SHMEMI_CUDA_HOST_REGISTER_SUPPORTED),
		Managed:        has(C.SHMEMI_CUDA_MANAGED_MEMORY),
		Concurrent:     has(C.SHMEMI_CUDA_CONCURRENT_MANAGED_ACCESS),
		DMABuf:         d.table.export != nil && has(C.SHMEMI_CUDA_DMA_BUF_SUPPORTED),
		DMABufMap:      d.Version >= 13030 && has(C.SHMEMI_CUDA_DMA_BUF_MMAP_SUPPORTED), // compute-sanitizer reports an error if an older driver gets this query
		Unified:        has(C.SHMEMI_CUDA_UNIFIED_ADDRESSING),
		HostPointers:   has(C.SHMEMI_CUDA_HOST_POINTER_FOR_REGISTERED),
		HostAtomics:    has(C.SHMEMI_CUDA_HOST_ATOMICS),
		VMM:            has(C.SHMEMI_CUDA_VIRTUAL_MEMORY),
		PosixFD:        has(C.SHMEMI_CUDA_POSIX_DESCRIPTORS),
		RDMA:           has(C.SHMEMI_CUDA_RDMA),
		RDMAVMM:        has(C.SHMEMI_CUDA_RDMA_WITH_VIRTUAL_MEMORY),
		StreamOps:      d.table.stream_write != nil && d.table.stream_write32 != nil && d.table.stream_batch != nil && d.table.stream_watch != nil && has(C.SHMEMI_CUDA_STREAM_OPS_64),
		StreamChange:   d.table.stream_batch != nil && d.Version >= 13010 && has(C.SHMEMI_CUDA_STREAM_CHANGE),
		MPS:            has(C.SHMEMI_CUDA_MPS),
		FlushWrites:    valueOf(C.SHMEMI_CUDA_RDMA_FLUSH_OPTIONS),
		WritesOrdering: valueOf(C.SHMEMI_CUDA_RDMA_WRITES_ORDERING),
		Lazy:           loading == C.SHMEMI_CUDA_LAZY_LOADING,
		Eager:          loading == C.SHMEMI_CUDA_EAGER_LOADING,
	}
	return nil
}

// uuid returns a GPU's UUID as nvidia-smi prints it.
func (d *Driver) uuid(op, object string, device C.int) (string, error) {
	var u C.struct_shmemi_cuda_uuid
	if err := d.fail(op, object, "cuDeviceGetUuid", C.shmemi_cuda_device_uuid(d.table, &u, device)); err != nil {
		return "", err
	}
	var b [16]byte
	for i, c := range u.bytes {
		b[i] = byte(c)
	}
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}

// Reaches reports whether loads and stores of this GPU reach memory of the GPU with that UUID. If
// CUDA_VISIBLE_DEVICES hides that GPU from this process, the driver does not know it: known is then
// false, and only an attempt to map its memory shows.
func (v *Device) Reaches(uuid string) (yes, known bool, err error) {
	const op = "ask for peers of"
	if uuid == v.facts.UUID {
		return true, true, nil
	}
	d := v.driver
	for n := range d.Count {
		var peer, can C.int
		if err := v.fail(op, "cuDeviceGet", C.shmemi_cuda_device(d.table, &peer, C.int(n))); err != nil {
			return false, false, err
		}
		name, err := d.uuid(op, v.name, peer)
		if err != nil {
			return false, false, err
		}
		if name != uuid {
			continue
		}
		if err := v.fail(op, "cuDeviceCanAccessPeer", C.shmemi_cuda_can_access(d.table, &can, v.handle, peer)); err != nil {
			return false, false, err
		}
		return can != 0, true, nil
	}
	return false, false, nil
}
