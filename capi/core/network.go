package main

/*
#include "core.h"
*/
import "C"

import (
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy"
)

// The front calls these with the endpoint's lock held.

//export shmemgoPut
func shmemgoPut(pe C.int, offset C.int64_t, source unsafe.Pointer, n C.size_t, r *C.struct_shmemi_request) C.int {
	return C.int(job.Engine.Put(fabric.PE(pe), int64(offset), source, uint64(n), request(r)))
}

//export shmemgoPutSignal
func shmemgoPutSignal(pe C.int, offset C.int64_t, source unsafe.Pointer, n C.size_t,
	signalOffset C.int64_t, signal C.uint64_t, op C.int, r *C.struct_shmemi_request,
) C.int {
	return C.int(job.Engine.PutSignal(fabric.PE(pe), int64(offset), source, uint64(n),
		int64(signalOffset), uint64(signal), proxy.Op(op), request(r)))
}

//export shmemgoGetRemote
func shmemgoGetRemote(pe C.int, offset C.int64_t, dest unsafe.Pointer, n C.size_t, r *C.struct_shmemi_request) C.int {
	return C.int(job.Engine.Get(fabric.PE(pe), int64(offset), dest, uint64(n), request(r)))
}

//export shmemgoAMO
func shmemgoAMO(pe C.int, offset C.int64_t, op, width C.int, operand, compare C.uint64_t,
	fetch unsafe.Pointer, r *C.struct_shmemi_request,
) C.int {
	return C.int(job.Engine.AMO(fabric.PE(pe), int64(offset), proxy.Op(op), uint8(width),
		uint64(operand), uint64(compare), fetch, request(r)))
}

//export shmemgoRelease
func shmemgoRelease() { job.Engine.Release() }

//export shmemgoFence
func shmemgoFence() C.int { return C.int(job.Engine.Fence()) }

//export shmemgoQuiet
func shmemgoQuiet(ticket *C.uint64_t) C.int {
	if *ticket == 0 {
		*ticket = C.uint64_t(job.Engine.QuietBegin())
	}
	return C.int(job.Engine.QuietDone(proxy.Ticket(*ticket)))
}

// failure is why the last call failed that was not the engine's.
var failure atomic.Pointer[error]

//export shmemgoError
func shmemgoError() *C.char {
	reason := "no reason given"
	if err := failure.Swap(nil); err != nil {
		reason = (*err).Error()
	} else if job != nil && job.Engine != nil {
		if err := job.Engine.Err(); err != nil {
			reason = err.Error()
		}
	}
	return text(C.shmemi_core_text[:], reason)
}

func request(r *C.struct_shmemi_request) *proxy.Request {
	return (*proxy.Request)(unsafe.Pointer(r))
}
