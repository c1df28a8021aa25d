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

// The front calls the functions of this file with the network lock locked, except shmemgoReaches
// and shmemgoError.

// shmemgoPost posts an operation that the fast path in C does not serve. It returns a proxy.Status,
// as the other functions of this file that return C.int unless their comment says otherwise.
//
//export shmemgoPost
func shmemgoPost(o *C.struct_shmemi_host_operation) C.int {
	defer guard.Catch("post")
	return C.int(current.Engine.Context(uint32(o.context)).Post((*proxy.Operation)(unsafe.Pointer(o))))
}

// shmemgoRelease sends all open batches (messages that wait for more operations) at once, because
// the calling thread may wait for a reply to one.
//
//export shmemgoRelease
func shmemgoRelease() {
	defer guard.Catch("poll")
	current.Engine.Release()
}

// shmemgoFence orders later operations of a context after those posted so far, for each PE. It
// waits for nothing.
//
//export shmemgoFence
func shmemgoFence(context C.uint32_t) C.int {
	defer guard.Catch("fence")
	return C.int(current.Engine.Context(uint32(context)).Fence())
}

// shmemgoQuiet begins a quiet of a context if *ticket is 0, and sets *ticket to its number. It
// returns Done, Failed, or, while the operations before the quiet are under way, Pending.
//
//export shmemgoQuiet
func shmemgoQuiet(context C.uint32_t, ticket *C.uint64_t) C.int {
	defer guard.Catch("quiet")
	e := current.Engine.Context(uint32(context))
	if *ticket == 0 {
		*ticket = C.uint64_t(e.QuietBegin())
	}
	return C.int(e.QuietDone(proxy.Ticket(*ticket)))
}

// shmemgoReaches reports whether NICs can access n bytes of a PE's heap in GPU memory.
//
//export shmemgoReaches
func shmemgoReaches(pe C.int, offset C.int64_t, n C.size_t) C.int {
	defer guard.Catch("reaches")
	if current.Network.Reaches(libshmem.PE(pe), libshmem.Offset(offset), uint64(n)) {
		return 1
	}
	return 0
}

// shmemgoContextOpen opens a context of the engine, and returns the number under which the engine
// has it: 0 if the engine has only the default context.
//
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

// failure is the error of the last call that failed, unless it was an error of the engine, which
// keeps its own (Engine.Err). shmemgoError returns it once.
var failure atomic.Pointer[error]

// shmemgoError returns the error of the last call that failed.
//
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
	return copyText(C.shmemi_core_text[:], reason)
}
