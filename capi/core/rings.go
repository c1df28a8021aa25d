package core

/*
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"unsafe"

	"libshmem/runtime/guard"
	"libshmem/runtime/job/device"
	"libshmem/runtime/proxy"
)

// wakers has, for each engine, the function and arguments that wake its proxy. The entries are in C
// memory, because threads that submit to rings (queues of operations that a proxy serves) store
// pointers to them. The front calls shmemgoRings and shmemgoFinalize, which change it, in one
// thread at a time.
var wakers []*C.struct_shmemi_core_waker

// shmemgoRings returns the state by which threads of this process submit operations to rings, and
// makes the rings at the first call. If it returns nil, shmemgoError has the reason.
//
//export shmemgoRings
func shmemgoRings() unsafe.Pointer {
	defer guard.Catch("rings")
	state, err := current.Producers.Rings(waker)
	if err != nil {
		failure.Store(&err)
		return nil
	}
	return state
}

// waker returns the function by which threads that submit to a ring wake the proxy of e, which is
// engine i.
func waker(i int, e *proxy.Engine) device.Waker {
	for len(wakers) <= i {
		wakers = append(wakers, nil)
	}
	if wakers[i] == nil {
		w := (*C.struct_shmemi_core_waker)(C.calloc(1, C.sizeof_struct_shmemi_core_waker))
		n := e.Native()
		w.wake, w.self, w.napping = (*[0]byte)(n.Wake), n.Self, (*C.uint32_t)(e.Napping)
		w.engine = C.int(i)
		wakers[i] = w
	}
	return device.Waker{Function: unsafe.Pointer(C.shmemi_core_wake_proxy), Argument: unsafe.Pointer(wakers[i])}
}

// shmemgoWake ends the sleep of the proxy of engine i, whose network is in Go.
//
//export shmemgoWake
func shmemgoWake(i C.int) {
	defer guard.Catch("wake")
	current.Engines[i].Rouse()
}

// freeWakers frees the wakers when no thread can submit to a ring any more.
func freeWakers() {
	for _, w := range wakers {
		C.free(unsafe.Pointer(w))
	}
	wakers = nil
}
