package core

/*
#include "core.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"libshmem/fabric/chaos"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/config"
	"libshmem/runtime/guard"
	"libshmem/runtime/job/place"
	"libshmem/runtime/mesh"
	"libshmem/runtime/rma"
)

// groupMemory is memory that the ranks of a group have registered together.
type groupMemory struct {
	*rma.Memory
	group   *rma.Group
	remotes []uint64 // handles
}

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
			*to = C.uint64_t(hold(listenerHandle, nil, root))
		}
	}
	return meshStatus(err, failure)
}

//export shmemgoRMACloseListener
func shmemgoRMACloseListener(n C.uint64_t, used C.int, failure *C.char) C.int {
	defer guard.Catch("rma_close_listener")
	root, _, err := held[*uid.Root](listenerHandle, n)
	if err == nil {
		letGo(uint64(n))
		if used == 0 {
			root.Close()
		}
	}
	return meshStatus(err, failure)
}

//export shmemgoRMAConnect
func shmemgoRMAConnect(o *C.struct_shmemi_rma_options, group, mesh_ *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_connect")
	quietCollector()
	cfg, _, err := config.Parse(environ((**C.char)(unsafe.Pointer(o.environ_))))
	if err != nil {
		return meshStatus(err, failure)
	}
	options := rma.Options{
		ID: *(*uid.ID)(o.id), Rank: int(o.rank), Size: int(o.size), Timeout: cfg.BootstrapTimeout,
		Provider: cfg.Provider, NICs: strings.Join(cfg.NICs, ","), Library: cfg.Libfabric, Log: logOf(o.log, o.log_arg),
	}
	if options.Chaos, err = chaos.Read(cfg.Chaos, options.Size); err != nil {
		return meshStatus(err, failure)
	}
	options.GPU, options.NoGPU = mesh.OpenGPU()
	g, err := rma.Connect(options)
	if err == nil {
		*group = C.uint64_t(hold(groupHandle, g.Mesh, g))
		*mesh_ = C.uint64_t(hold(meshHandle, g.Mesh, g.Mesh))
	}
	return meshStatus(err, failure)
}

//export shmemgoRMAClose
func shmemgoRMAClose(n C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_close")
	g, m, err := held[*rma.Group](groupHandle, n)
	if err == nil {
		err = g.Close()
		letGoAll(m)
	}
	return meshStatus(err, failure)
}

//export shmemgoRMARegister
func shmemgoRMARegister(n C.uint64_t, base unsafe.Pointer, size C.size_t, kind C.int, to, remotes *C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_register")
	g, m, err := held[*rma.Group](groupHandle, n)
	if err == nil {
		var x *rma.Memory
		if x, err = g.Register(base, uint64(size), rma.Kind{GPU: kind&C.SHMEMI_RMA_GPU != 0, Words: kind&C.SHMEMI_RMA_WORDS != 0}); err == nil {
			held := groupMemory{x, g, make([]uint64, len(x.Remotes))}
			for rank, r := range x.Remotes {
				if r != nil {
					held.remotes[rank] = hold(remoteHandle, m, r)
				}
				unsafe.Slice(remotes, len(x.Remotes))[rank] = C.uint64_t(held.remotes[rank])
			}
			*to = C.uint64_t(hold(memoryHandle, m, held))
		}
	}
	return meshStatus(err, failure)
}

//export shmemgoRMAUnregister
func shmemgoRMAUnregister(n C.uint64_t, failure *C.char) C.int {
	defer guard.Catch("rma_unregister")
	x, _, err := held[groupMemory](memoryHandle, n)
	if err == nil {
		for _, remote := range x.remotes {
			letGo(remote)
		}
		letGo(uint64(n))
		err = x.group.Unregister(x.Memory)
	}
	return meshStatus(err, failure)
}

//export shmemgoRMAContexts
func shmemgoRMAContexts(n C.uint64_t, count C.int, first *C.int, failure *C.char) C.int {
	defer guard.Catch("rma_contexts")
	_, m, err := held[*rma.Group](groupHandle, n)
	if err == nil {
		var number int
		if number, err = m.AddContexts(int(count)); err == nil {
			*first = C.int(number)
		}
	}
	return meshStatus(err, failure)
}
