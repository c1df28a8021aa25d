package ofi

/*
#include "endpoint.h"
*/
import "C"

import (
	"fmt"
	"slices"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

var _ fabric.Joiner = (*endpoint)(nil)

// Join implements fabric.Joiner: it adds a PE, by its address, to those that operations of this
// endpoint may reach.
func (e *endpoint) Join(pe libshmem.PE, addr []byte) error {
	object := fmt.Sprintf("PE %d to %s", pe, e.caps.Provider)
	if !pe.In(int(e.c.npeers)) {
		return &shmerr.Error{Op: "add", Object: object, Cause: shmerr.Causef(shmerr.ErrPE, "the endpoint is open for %d PEs", e.c.npeers)}
	}
	if len(addr) == 0 {
		return &shmerr.Error{Op: "add", Object: object, Cause: shmerr.Causef(shmerr.ErrArgument, "it has no address")}
	}
	if e.links != nil {
		e.links.addrs[pe] = slices.Clone(addr)
	}
	if err := e.connectOne(pe, addr); err != nil {
		return &shmerr.Error{Op: "add", Object: object, Cause: err, Remedy: "open every member with the same provider, on one network"}
	}
	if ret := C.shmemi_ofi_learn_sources(e.c); ret != 0 {
		return &shmerr.Error{Op: "add", Object: object, Cause: fault(ret)}
	}
	return nil
}

// Remove implements fabric.Joiner: it ends the connection with a PE, if the endpoint has
// connections, and makes operations on the PE fail.
func (e *endpoint) Remove(pe libshmem.PE) {
	if e.links != nil {
		C.shmemi_ofi_unreachable(e.c, C.uint32_t(pe))
		e.links.m.Remove(pe)
	}
}
