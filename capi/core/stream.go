package main

/*
#include "core.h"
#include "stream_abi.h"
*/
import "C"

import (
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/onstream"
)

//export shmemgoStreamOpen
func shmemgoStreamOpen(file *C.char) C.int { return answer(job.OpenStreams(C.GoString(file))) }

//export shmemgoStreamCall
func shmemgoStreamCall(what C.int, c *C.struct_shmemi_stream_call, stream unsafe.Pointer) C.int {
	return answer(job.Stream(onstream.What(what), (*queue.StreamCall)(unsafe.Pointer(c)), uintptr(stream)))
}

//export shmemgoModuleJob
func shmemgoModuleJob(what C.int, handle unsafe.Pointer, at *unsafe.Pointer, size *C.size_t) C.int {
	where, n, err := job.Module(what == C.SHMEMI_LIBRARY, handle)
	*at, *size = where, C.size_t(n)
	return answer(err)
}

// What a stream is to do has the same number on both sides.
var (
	_ = [1]byte{}[onstream.Put-C.SHMEMI_STREAM_PUT]
	_ = [1]byte{}[onstream.Signal-C.SHMEMI_STREAM_SIGNAL]
	_ = [1]byte{}[onstream.Count-C.SHMEMI_STREAM_COUNT]
	_ = [1]byte{}[onstream.Barrier-C.SHMEMI_STREAM_BARRIER]
	_ = [1]byte{}[onstream.Alltoall-C.SHMEMI_STREAM_ALLTOALL]
	_ = [1]byte{}[onstream.Drain-C.SHMEMI_STREAM_DRAIN]
)
