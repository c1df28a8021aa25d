package ofi

/*
#cgo nocallback shmemi_ofi_send_with
#cgo nocallback shmemi_ofi_write_with
#cgo nocallback shmemi_ofi_read_with
#cgo nocallback shmemi_ofi_atomic
#include "endpoint.h"
*/
import "C"

import (
	"slices"
	"strings"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// withExtras returns info, or in its place an info of the same provider with more of the
// capabilities that cfg wants, and then frees info. It requests them one by one: a provider without
// one of them would refuse all.
func (l Library) withExtras(info *C.struct_fi_info, provider string, cfg *fabric.Config) *C.struct_fi_info {
	for _, w := range []struct {
		want       bool
		capability C.uint64_t
	}{
		{cfg.Data && hasData(provider, info), C.FI_SOURCE},
		{cfg.Fence, C.FI_FENCE},
		{cfg.Atomics && !layered(provider, atomicless), C.FI_ATOMIC},
	} {
		if !w.want || uint64(info.caps)&uint64(w.capability) != 0 {
			continue
		}
		if more := C.shmemi_ofi_with(l.api, info, w.capability); more != nil {
			C.fi_freeinfo(info)
			info = more
		}
	}
	return info
}

// sourceless lists layers that grant FI_SOURCE and do not fill it in for a write with data: in
// libfabric 1.17 all such completions name the first peer. atomicless lists layers that crash in
// 1.17 when several peers post atomic operations on one endpoint.
var (
	sourceless = []string{";ofi_rxm", ";ofi_rxd"}
	atomicless = []string{";ofi_rxd"}
)

// layered reports whether a provider's name ends with one of the layers.
func layered(provider string, layers []string) bool {
	return slices.ContainsFunc(layers, func(layer string) bool { return strings.HasSuffix(provider, layer) })
}

// immediateBytes is the number of bytes of fabric.RMA.Data.
const immediateBytes = 4

// dataless lists providers that offer immediate data and accept it only with messages: in 1.22 and
// 2.3 cxi refuses a write with data by EBADFLAGS.
var dataless = []string{"cxi"}

// hasData reports whether a write of a provider can carry 4 bytes of immediate data. Some providers
// (dataless) offer immediate data, and refuse it in writes.
func hasData(provider string, info *C.struct_fi_info) bool {
	return info.domain_attr.cq_data_size >= immediateBytes && !slices.Contains(dataless, provider)
}

// extras records in e.caps which of the features that cfg wants are granted, and returns their
// WITH_ bits for shmemi_ofi_open.
func (e *endpoint) extras(info *C.struct_fi_info, cfg *fabric.Config) C.unsigned {
	var with C.unsigned
	e.caps.Fence = cfg.Fence && info.caps&C.FI_FENCE != 0
	if cfg.Data && hasData(e.caps.Provider, info) {
		with |= C.WITH_DATA
		e.caps.Data = int(info.domain_attr.cq_data_size)
		e.caps.Source = uint64(info.caps)&C.FI_SOURCE != 0 && !layered(e.caps.Provider, sourceless)
	}
	if _, linked := connects(e.caps.Provider); linked {
		e.caps.Source = e.caps.Data > immediateBytes // the rest of the data names the PE
	} else if e.caps.Source {
		with |= C.WITH_SOURCE
	}
	return with
}

// openAtomics finds out which atomic operations the NIC of the open endpoint has, if the caller
// wants any, and prepares the endpoint for them. It returns 0, or libfabric's error.
func (e *endpoint) openAtomics(cfg *fabric.Config) C.int {
	if !cfg.Atomics || e.c.info.caps&C.FI_ATOMIC == 0 {
		return 0
	}
	for _, width := range []int{4, 8} {
		for op := fabric.OpSet; op <= fabric.OpFetchXor; op++ {
			if C.shmemi_ofi_has_atomic(e.c, C.int(op), C.int(width)) != 0 {
				e.caps.Atomics = e.caps.Atomics.With(op, width)
			}
		}
	}
	if e.caps.Atomics == 0 {
		return 0
	}
	return C.shmemi_ofi_open_atomics(e.c)
}

// fence returns libfabric's flag FI_FENCE for an operation with a fence, else 0.
func fence(wanted bool) C.uint64_t {
	if wanted {
		return C.FI_FENCE
	}
	return 0
}

// fenceError returns the error of an operation with a fence: of any on a network without fences,
// and of an injected one on every network.
func (e *endpoint) fenceError(op string, pe libshmem.PE) error {
	return &shmerr.Error{
		Op: op, Object: e.caps.Provider, Cause: shmerr.Causef(shmerr.ErrArgument, "a fence before an operation on PE %d, which was not granted", pe),
	}
}

// sendWith posts a message that needs more than fi_send: a fence, or a completion that says that
// the message has arrived.
func (e *endpoint) sendWith(s *fabric.Send) error {
	if s.Fence && (s.Inject || !e.caps.Fence) {
		return e.fenceError("send", s.To)
	}
	ret := C.shmemi_ofi_send_with(e.c, C.uint32_t(s.To), s.Buf, C.size_t(s.Len), C.uintptr_t(s.Desc), C.uint32_t(s.Token), fence(s.Fence))
	if ret == 0 {
		return nil
	}
	return e.refusal("send to", s.To, s.Token, ret)
}

// writeWith posts a Write with immediate data, a fence, or both.
func (e *endpoint) writeWith(r *fabric.RMA) error {
	if r.Fence && (r.Inject || !e.caps.Fence) {
		return e.fenceError("write", r.PE)
	}
	flags := fence(r.Fence)
	if r.Notify {
		if e.caps.Data < immediateBytes {
			return &shmerr.Error{Op: "write", Object: e.caps.Provider, Cause: &shmerr.UnsupportedError{
				Feature: "immediate data", Needs: "another provider, or Config.Data",
			}}
		}
		flags |= C.FI_REMOTE_CQ_DATA
	}
	if r.Inject {
		flags |= C.FI_INJECT
	}
	ret := C.shmemi_ofi_write_with(e.c, C.uint32_t(r.PE), r.Local, C.size_t(r.Len), C.uintptr_t(r.Desc),
		C.uint64_t(r.Remote), C.uint64_t(r.Key), C.uint32_t(r.Token), C.uint32_t(r.Data), flags)
	if ret == 0 {
		return nil
	}
	return e.refusal("write to", r.PE, r.Token, ret)
}

// readWith posts a Read with a fence.
func (e *endpoint) readWith(r *fabric.RMA) error {
	if !e.caps.Fence {
		return e.fenceError("read", r.PE)
	}
	ret := C.shmemi_ofi_read_with(e.c, C.uint32_t(r.PE), r.Local, C.size_t(r.Len), C.uintptr_t(r.Desc),
		C.uint64_t(r.Remote), C.uint64_t(r.Key), C.uint32_t(r.Token), fence(r.Fence))
	if ret == 0 {
		return nil
	}
	return e.refusal("read from", r.PE, r.Token, ret)
}

// Atomic implements fabric.Provider: it posts an atomic operation.
func (e *endpoint) Atomic(a *fabric.AMO) error {
	switch {
	case !e.caps.Atomics.Has(a.Op, a.Width):
		return &shmerr.Error{Op: "atomic", Object: e.caps.Provider, Cause: shmerr.Causef(shmerr.ErrUnsupported, "operation %d on %d bytes", a.Op, a.Width)}
	case a.Fence && !e.caps.Fence:
		return e.fenceError("atomic", a.PE)
	}
	ret := C.shmemi_ofi_atomic(e.c, C.uint32_t(a.PE), C.int(a.Op), C.int(a.Width), C.uint64_t(a.Operand), C.uint64_t(a.Compare),
		a.Result, C.uintptr_t(a.Desc), C.uint64_t(a.Remote), C.uint64_t(a.Key), C.uint32_t(a.Token), fence(a.Fence))
	if ret == 0 {
		return nil
	}
	return e.refusal("atomic operation on", a.PE, a.Token, ret)
}
