package core

/*
#include "core.h"
#include "zz_stream.h"
*/
import "C"

import (
	"unsafe"

	"libshmem/queue"
	"libshmem/queue/channel"
	"libshmem/runtime/guard"
	"libshmem/runtime/onstream"
)

// shmemgoStreamOpen loads the library's kernels from a file, and allows C to queue simple puts and
// gets itself. The front calls it once in a job, before the first shmemgoStreamCall.
//
//export shmemgoStreamOpen
func shmemgoStreamOpen(file *C.char) C.int {
	defer guard.Catch("stream_open")
	if err := current.Producers.OpenStreams(C.GoString(file)); err != nil {
		return result(err)
	}
	direct, user := current.Producers.Streams.Direct()
	C.shmemi_core_streams((*C.uint64_t)(unsafe.SliceData(direct)), C.size_t(len(direct)), C.uint64_t(user))
	return result(nil)
}

// shmemgoStreamCall queues a call on a CUDA stream of the program, if C has not queued it itself.
// what is a SHMEMI_STREAM_ number.
//
//export shmemgoStreamCall
func shmemgoStreamCall(what C.int, c *C.struct_shmemi_stream_call, stream unsafe.Pointer) C.int {
	defer guard.Catch("stream_call")
	return result(current.Producers.Streams.Queue(onstream.What(what), (*queue.StreamCall)(unsafe.Pointer(c)), uintptr(stream)))
}

// shmemgoModuleVariable finds a variable of a loaded library (a CUlibrary, if what is
// SHMEMI_LIBRARY) or module (a CUmodule), and sets its address and its size in bytes.
//
//export shmemgoModuleVariable
func shmemgoModuleVariable(what C.int, handle unsafe.Pointer, name *C.char, at *unsafe.Pointer, size *C.size_t) C.int {
	defer guard.Catch("module_variable")
	where, n, err := current.GPU.Variable(what == C.SHMEMI_LIBRARY, handle, C.GoString(name))
	*at, *size = where, C.size_t(n)
	return result(err)
}

// shmemgoKernelExit returns the address, for kernels, of the words by which they end the job.
//
//export shmemgoKernelExit
func shmemgoKernelExit() C.uint64_t {
	defer guard.Catch("kernel_exit")
	return C.uint64_t(current.Producers.ExitWords())
}

// shmemgoKernelChannel sets *parts to the addresses, for kernels, of the parts of the proxy channel
// for device code of NVIDIA's archive, through which its operations go to the proxy. If parts is
// NULL, kernels may use the channel from now on.
//
//export shmemgoKernelChannel
func shmemgoKernelChannel(parts *C.struct_shmemi_channel) C.int {
	defer guard.Catch("kernel_channel")
	if parts == nil {
		current.Producers.BeginChannel()
		return C.SHMEMI_DONE
	}
	found, err := current.Producers.Channel()
	*(*channel.Addresses)(unsafe.Pointer(parts)) = found
	return result(err)
}
