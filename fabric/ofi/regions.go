package ofi

/*
#include "endpoint.h"
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// Register implements fabric.Provider: it registers main memory, for operations of this PE and of
// peers.
func (e *endpoint) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	var mr *C.struct_fid_mr
	object := fmt.Sprintf("%d bytes at %p with %s", n, base, e.caps.Provider)
	if ret := C.shmemi_ofi_register(e.c, base, C.size_t(n), &mr); ret != 0 {
		err := &shmerr.Error{Op: "register", Object: object, Cause: fmt.Errorf("%s: %w", C.GoString(e.c.failed), fault(ret))}
		if ret == -C.FI_ENOMEM {
			err.Remedy = "raise the limit of locked memory (ulimit -l), or lower SHMEM_SYMMETRIC_SIZE"
		}
		return fabric.Region{}, err
	}
	return e.addRegion(mr, base, n, object)
}

// addRegion adds a registration to e.regions, and returns its Region.
func (e *endpoint) addRegion(mr *C.struct_fid_mr, base unsafe.Pointer, n uint64, object string) (fabric.Region, error) {
	key := uint64(C.shmemi_ofi_key(mr))
	if key == math.MaxUint64 { // FI_KEY_NOTAVAIL, which cgo takes for -1 with clang
		C.shmemi_ofi_unregister(mr)
		return fabric.Region{}, &shmerr.Error{
			Op: "register", Object: object,
			Cause: &shmerr.UnsupportedError{Feature: "a key longer than 64 bits", Needs: "another provider"},
		}
	}
	id := slices.Index(e.regions, nil)
	if id < 0 {
		id = len(e.regions)
		e.regions = append(e.regions, nil)
	}
	e.regions[id] = mr
	return fabric.Region{Base: base, Len: n, Key: key, Desc: uintptr(C.shmemi_ofi_desc(mr)), ID: id}, nil
}

// Unregister implements fabric.Provider. The registration is gone even if libfabric returns an
// error.
func (e *endpoint) Unregister(r fabric.Region) error {
	if r.ID < 0 || r.ID >= len(e.regions) || e.regions[r.ID] == nil {
		return &shmerr.Error{Op: "unregister", Object: fmt.Sprintf("region %d", r.ID), Cause: shmerr.Causef(shmerr.ErrArgument, "there is no such region")}
	}
	ret := C.shmemi_ofi_unregister(e.regions[r.ID])
	e.regions[r.ID] = nil
	if ret != 0 {
		return &shmerr.Error{Op: "unregister", Object: fmt.Sprintf("%d bytes at %p", r.Len, r.Base), Cause: fault(ret)}
	}
	return nil
}
