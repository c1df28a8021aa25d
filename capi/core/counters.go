package main

/*
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"sync"
	"unsafe"

	"libshmem/runtime/live"
	"libshmem/runtime/stats"
)

// counterNames are C's copies, which callers keep.
var counterNames = sync.OnceValue(func() []*C.char {
	var names []*C.char
	for i := range stats.Counters {
		name := stats.Counters[i].Name
		n := len(name) + 1
		names = append(names, text(unsafe.Slice((*C.char)(C.calloc(1, C.size_t(n))), n), name))
	}
	return names
})

//export shmemgoCounterName
func shmemgoCounterName(id C.int) *C.char {
	names := counterNames()
	if id < 0 || int(id) >= len(names) {
		return nil
	}
	return names[id]
}

//export shmemgoCounter
func shmemgoCounter(id, pe C.int, value *C.uint64_t) C.int {
	v, ok := job.Counter(int(id), int(pe))
	if !ok {
		return -1
	}
	*value = C.uint64_t(v)
	return 0
}

//export shmemgoCounterNIC
func shmemgoCounterNIC(id, nic C.int, value *C.uint64_t) C.int {
	nics := job.NICs()
	if nic < 0 || int(nic) >= len(nics) {
		return -1
	}
	v, ok := stats.OfNIC(int(id), &nics[nic])
	if !ok {
		return -1
	}
	*value = C.uint64_t(v)
	return 0
}

// nicName is that of the last call, for its caller to read.
var nicName [64]C.char

//export shmemgoNICName
func shmemgoNICName(nic C.int) *C.char {
	nics := job.NICs()
	if nic < 0 || int(nic) >= len(nics) {
		return nil
	}
	return text(nicName[:], nics[nic].NIC)
}

// C writes a part of the page.
var (
	_ = [1]byte{}[live.PESize-C.sizeof_struct_shmemi_live]
	_ = [1]byte{}[live.WaitSize-C.sizeof_struct_shmemi_live_wait]
)
