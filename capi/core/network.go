package core

/*
#include "core.h"
*/
import "C"

import (
	"sync/atomic"
	"unsafe"

	"libshmem"
	"libshmem/runtime/guard"
	"libshmem/runtime/proxy"
)

// The front calls these with the endpoint's lock held.

//export shmemgoPost
func shmemgoPost(o *C.struct_shmemi_host_operation) C.int {
	defer guard.Catch("post")
	return C.int(current.Engine.Context(uint32(o.context)).Post((*proxy.Operation)(unsafe.Pointer(o))))
}

//export shmemgoRelease
func shmemgoRelease() {
	defer guard.Catch("poll")
	current.Engine.Release()
}

//export shmemgoFence
func shmemgoFence(context C.uint32_t) C.int {
	defer guard.Catch("fence")
	return C.int(current.Engine.Context(uint32(context)).Fence())
}

//export shmemgoQuiet
func shmemgoQuiet(context C.uint32_t, ticket *C.uint64_t) C.int {
	defer guard.Catch("quiet")
	e := current.Engine.Context(uint32(context))
	if *ticket == 0 {
		*ticket = C.uint64_t(e.QuietBegin())
	}
	return C.int(e.QuietDone(proxy.Ticket(*ticket)))
}

//export shmemgoReaches
func shmemgoReaches(pe C.int, offset C.int64_t, n C.size_t) C.int {
	defer guard.Catch("reaches")
	if current.Network.Reaches(libshmem.PE(pe), libshmem.Offset(offset), uint64(n)) {
		return 1
	}
	return 0
}

//export shmemgoContextOpen
func shmemgoContextOpen(context C.uint32_t) C.int {
	defer guard.Catch("context_open")
	n, err := current.Engine.OpenContext(uint32(context))
	if err != nil {
		failure.Store(&err)
		return C.int(proxy.Failed)
	}
	return C.int(n)
}

// failure is why the last call failed that was not the engine's.
var failure atomic.Pointer[error]

//export shmemgoError
func shmemgoError() *C.char {
	defer guard.Catch("error")
	reason := "no reason given"
	if err := failure.Swap(nil); err != nil {
		reason = (*err).Error()
	} else if current != nil && current.Engine != nil {
		if err := current.Engine.Err(); err != nil {
			reason = err.Error()
		}
	}
	return text(C.shmemi_core_text[:], reason)
}
