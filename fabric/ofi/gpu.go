package ofi

/*
#include "endpoint.h"
*/
import "C"

import (
	"fmt"
	"slices"

	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// software lists providers whose bytes the CPU moves. Some claim to accept GPU memory, and copy it
// with the GPU's driver in calls that wait. What they do with an address that only a GPU can access
// depends on how they were built.
var software = []string{"tcp", "net", "sockets", "udp", "shm", "sm2"}

// withDMABuf is the first version of libfabric's interface in which dma-bufs can be registered.
const withDMABuf = 1<<16 | 20

// usesCPU reports whether the provider of an offer (a NIC and provider that libfabric has found)
// moves bytes with the CPU and not with a NIC. GPU memory is never registered with such a provider:
// see software.
func (o *offer) usesCPU() bool {
	return slices.Contains(software, fabric.Base(o.Provider))
}

// registersDMABuf reports whether a provider registers dma-bufs. cxi ignores the flag, reads the
// description of the file as an address and a length, and registers nothing; it finds GPU memory by
// its address.
func registersDMABuf(provider string) bool {
	base := fabric.Base(provider)
	return base == "efa" || base == "verbs"
}

// withGPU returns libfabric's info for the same NIC, opened for the registration of GPU memory
// (FI_HMEM), or the reason why that is not possible.
func (l Library) withGPU(o *offer) (*C.struct_fi_info, error) {
	if o.usesCPU() {
		return nil, shmerr.Causef(shmerr.ErrUnsupported, "provider %s does not use a NIC directly: the CPU moves its bytes", o.Provider)
	}
	var ret C.int
	info := C.shmemi_ofi_with_gpu(l.api, o.info, &ret)
	if info == nil {
		return nil, l.addObstacles(shmerr.Causef(shmerr.ErrUnsupported, "fi_getinfo with FI_HMEM for provider %s on %s: %w", o.Provider, o.NIC, fault(ret)))
	}
	return info, nil
}

// RegisterGPU registers memory of a GPU, by the descriptor of a dma-buf if the caller has one
// (m.File), and tests that the NIC reaches it: a provider may register memory that it does not
// reach.
func (e *endpoint) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	object := fmt.Sprintf("%d bytes at %p of GPU %d with %s", m.Len, m.Base, m.Device, e.caps.Provider)
	switch {
	case e.noGPU != nil:
		return fabric.Region{}, &shmerr.Error{Op: "register", Object: object, Cause: e.noGPU}
	case m.File >= 0 && !e.caps.DMABuf:
		return fabric.Region{}, &shmerr.Error{
			Op: "register", Object: object, Cause: shmerr.Causef(shmerr.ErrUnsupported, "provider %s of libfabric %s takes no dma-bufs", e.caps.Provider, e.version),
			Remedy: "install libfabric 1.20 or later for efa and verbs; others reach GPU memory by its address",
		}
	}
	var mr *C.struct_fid_mr
	ret := C.shmemi_ofi_register_gpu(e.c, m.Base, C.size_t(m.Len), C.int(m.Device), C.int(m.File), C.uint64_t(m.Offset), &mr)
	if ret != 0 {
		return fabric.Region{}, &shmerr.Error{Op: "register", Object: object, Cause: fmt.Errorf("%s: %w", C.GoString(e.c.failed), fault(ret))}
	}
	if err := e.testRegion(mr, &m, object); err != nil {
		return fabric.Region{}, err
	}
	return e.addRegion(mr, m.Base, m.Len, object)
}

// testRegion tests that the NIC reaches the memory of a registration, and ends the registration if
// not. Memory that others may change meanwhile (m.Live) is only read.
func (e *endpoint) testRegion(mr *C.struct_fid_mr, m *fabric.GPUMemory, object string) error {
	ret := C.shmemi_ofi_test_region(e.c, mr, m.Base, C.size_t(m.Len), number(!m.Live))
	if ret == 0 {
		return nil
	}
	err := &shmerr.Error{
		Op: "register", Object: object, Cause: fmt.Errorf("%s: %w", C.GoString(e.c.failed), fault(ret)),
		Remedy: "set SHMEM_GPU_NET=stage to go without the NIC's access",
	}
	C.shmemi_ofi_unregister(mr)
	return err
}

// learnPeerToPeer removes GPU memory from the endpoint's Caps if efa has reported that its NIC does
// not reach it. The provider would still register such memory, with a key that no NIC knows, and
// copy it with CUDA.
func (e *endpoint) learnPeerToPeer() {
	if ret := e.c.cuda_option; e.noGPU == nil && ret == -C.FI_EOPNOTSUPP {
		e.noGPU = shmerr.Causef(shmerr.ErrUnsupported, "provider %s on %s has no peer-to-peer access to GPUs: FI_OPT_CUDA_API_PERMITTED: %w",
			e.caps.Provider, e.caps.Domain, fault(ret))
		e.caps.GPU, e.caps.DMABuf = false, false
	}
}

// noteOptions adds the options that were set for the provider efa (efa.c), and those that it
// refused, to the notes.
func (e *endpoint) noteOptions() {
	if e.caps.Provider != "efa" {
		return
	}
	for _, option := range []struct {
		name string
		ret  C.int
	}{{"CUDA_API_PERMITTED", e.c.cuda_option}, {"SHARED_MEMORY_PERMITTED", e.c.shm_option}} {
		if option.ret == 0 {
			e.note("%s off", option.name)
		} else {
			e.note("%s off is refused: %v", option.name, fault(option.ret))
		}
	}
}
