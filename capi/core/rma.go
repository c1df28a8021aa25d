package core

/*
#include "core.h"
*/
import "C"

import (
	"unsafe"

	"libshmem/fabric/chaos"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu/gpudirect"
	"libshmem/runtime/guard"
	"libshmem/runtime/job/place"
	"libshmem/runtime/mesh"
	"libshmem/runtime/rma"
)

// groupMemory is memory that the ranks of a group have registered together.
type groupMemory struct {
	*rma.Memory
	group *rma.Group
}

// shmemgoRMAListen makes a unique id, and listens for the ranks that connect by it. It stores the
// id at id, 128 bytes, and sets *to to a handle of the listener.
//
//export shmemgoRMAListen
func shmemgoRMAListen(environment **C.char, id unsafe.Pointer, to *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_listen")
	quietCollector()
	cfg, _, err := config.Parse(environ(environment))
	if err == nil {
		var root *uid.Root
		var made uid.ID
		if root, made, err = uid.NewRoot(place.Filter(cfg)); err == nil {
			*(*uid.ID)(id) = made
			*to = C.uint64_t(newHandle(listenerHandle, nil, root))
		}
	}
	return meshStatus(err, failure)
}

// shmemgoRMACloseListener makes a listener's handle invalid. If ranks have connected by the
// listener (used is not 0), the listener itself goes on until all ranks have left; else it is
// closed.
//
//export shmemgoRMACloseListener
func shmemgoRMACloseListener(n C.uint64_t, used C.int, failure *C.char) C.int {
	defer guard.Catch("rma_close_listener")
	root, _, err := objectOf[*uid.Root](listenerHandle, n)
	if err == nil {
		endHandle(uint64(n))
		if used == 0 {
			root.Close()
		}
	}
	return meshStatus(err, failure)
}

// shmemgoRMAConnect connects this rank with the others of a group, and sets the handle of the
// group. If the calling thread uses a GPU, the group can register memory of it.
//
//export shmemgoRMAConnect
func shmemgoRMAConnect(o *C.struct_shmemi_rma_options, group *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_connect")
	quietCollector()
	cfg, _, err := config.Parse(environ((**C.char)(unsafe.Pointer(o.environ_))))
	if err != nil {
		return meshStatus(err, failure)
	}
	nics, err := place.ReadSettings(cfg)
	if err != nil {
		return meshStatus(err, failure)
	}
	options := rma.Options{
		ID: *(*uid.ID)(o.id), Rank: int(o.rank), Size: int(o.size), Timeout: cfg.BootstrapTimeout,
		Provider: cfg.Provider, NICs: nics.Hints(cfg).NICs, Library: cfg.Libfabric, Log: logOf(o.log, o.log_arg),
		Queue: (*rma.Queue)(unsafe.Pointer(o.queue)),
	}
	if options.Chaos, err = chaos.Read(cfg.Chaos, options.Size); err != nil {
		return meshStatus(err, failure)
	}
	options.GPU, options.NoGPU = mesh.OpenGPU()
	// SHMEM_GPU_NET selects how NICs get access to GPU memory; without a path they get none.
	if gpu := options.GPU; gpu != nil && cfg.GPUNet != config.GPUNetAuto {
		if gpu.Paths = gpudirect.Paths(cfg.GPUNet); gpu.Paths == nil {
			gpu.NICs = nil
		}
	}
	options.Pick = place.Alone(place.Machine, &nics, options.GPU.Address())
	g, err := rma.Connect(options)
	if err == nil {
		*group = C.uint64_t(newHandle(groupHandle, g.Mesh, g))
	}
	return meshStatus(err, failure)
}

// shmemgoRMAClose ends this rank's part of a group, and all handles of the group and its mesh.
//
//export shmemgoRMAClose
func shmemgoRMAClose(n C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_close")
	g, m, err := objectOf[*rma.Group](groupHandle, n)
	if err == nil {
		err = g.Close()
		endHandles(m)
	}
	return meshStatus(err, failure)
}

// shmemgoRMARegister registers memory together with all other ranks, and sets *to to its handle and
// *number to the number by which operations name it. kind is a set of SHMEMI_RMA_ bits.
//
//export shmemgoRMARegister
func shmemgoRMARegister(n C.uint64_t, base unsafe.Pointer, size C.size_t, kind C.int, to, number *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_register")
	g, m, err := objectOf[*rma.Group](groupHandle, n)
	if err == nil {
		var memory *rma.Memory
		if memory, err = g.Register(base, uint64(size), rma.Kind{GPU: kind&C.SHMEMI_RMA_GPU != 0, Words: kind&C.SHMEMI_RMA_WORDS != 0}); err == nil {
			*to, *number = C.uint64_t(newHandle(memoryHandle, m, groupMemory{memory, g})), C.uint64_t(memory.Number)
		}
	}
	return meshStatus(err, failure)
}

// shmemgoRMAUnregister makes the handle of memory that the ranks have registered together invalid,
// and begins to close this rank's region.
//
//export shmemgoRMAUnregister
func shmemgoRMAUnregister(n C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_unregister")
	memory, _, err := objectOf[groupMemory](memoryHandle, n)
	if err == nil {
		endHandle(uint64(n))
		err = memory.group.Unregister(memory.Memory)
	}
	return meshStatus(err, failure)
}

// shmemgoRMAContexts opens `count` more contexts of the group's mesh, and sets *first to the number
// of the first.
//
//export shmemgoRMAContexts
func shmemgoRMAContexts(n C.uint64_t, count C.int, first *C.int, failure *C.char) C.int {
	defer guard.Catch("rma_contexts")
	_, m, err := objectOf[*rma.Group](groupHandle, n)
	if err == nil {
		var number int
		if number, err = m.AddContexts(int(count)); err == nil {
			*first = C.int(number)
		}
	}
	return meshStatus(err, failure)
}

// shmemgoRMAWake wakes the proxy of a group, after an operation was submitted while it slept.
//
//export shmemgoRMAWake
func shmemgoRMAWake(n C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_wake")
	g, _, err := objectOf[*rma.Group](groupHandle, n)
	if err == nil {
		g.Wake()
	}
	return meshStatus(err, failure)
}

// shmemgoRMAFailure returns the status of the first failed operation of a group, and writes its
// text to failure; 0 if none has failed.
//
//export shmemgoRMAFailure
func shmemgoRMAFailure(n C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_failure")
	g, _, err := objectOf[*rma.Group](groupHandle, n)
	if err == nil {
		err = g.Failure()
	}
	return meshStatus(err, failure)
}
