package core

/*
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"sync"
	"unsafe"

	"libshmem"
	"libshmem/runtime/guard"
	"libshmem/runtime/stats"
)

// counterNames is one block of C memory with the counters' names, nameSize bytes for each; callers
// of shmemgoCounterName store pointers into it. A package variable points to it, because leak
// checkers search global variables but not Go's heap.
var (
	counterNames unsafe.Pointer
	nameSize     int
)

// nameCounters fills counterNames.
var nameCounters = sync.OnceFunc(func() {
	for i := range stats.Counters {
		nameSize = max(nameSize, len(stats.Counters[i].Name)+1)
	}
	counterNames = C.calloc(C.size_t(len(stats.Counters)), C.size_t(nameSize))
	for i := range stats.Counters {
		copyText(nameOf(i), stats.Counters[i].Name)
	}
})

// nameOf returns the memory of the i-th name in counterNames, nameSize bytes.
func nameOf(i int) []C.char {
	return unsafe.Slice((*C.char)(unsafe.Add(counterNames, i*nameSize)), nameSize)
}

// shmemgoCounterName returns the name of a counter by its number, or nil if there is none. The
// pointer stays valid.
//
//export shmemgoCounterName
func shmemgoCounterName(id C.int) *C.char {
	defer guard.Catch("counter_name")
	nameCounters()
	if id < 0 || int(id) >= len(stats.Counters) {
		return nil
	}
	return &nameOf(int(id))[0]
}

// shmemgoCounter stores the value of a counter of this PE, for operations to a PE or, with -1, to
// all. It returns 0, or -1 if there is no such counter.
//
//export shmemgoCounter
func shmemgoCounter(id, pe C.int, value *C.uint64_t) C.int {
	defer guard.Catch("counter")
	v, ok := current.Counters.One(int(id), libshmem.PE(pe))
	if !ok {
		return -1
	}
	*value = C.uint64_t(v)
	return 0
}

// shmemgoCounterNIC stores the value of a counter for one NIC. It returns 0, or -1 if the counter
// is not counted for each NIC, or there is no such NIC.
//
//export shmemgoCounterNIC
func shmemgoCounterNIC(id, nic C.int, value *C.uint64_t) C.int {
	defer guard.Catch("counter_nic")
	nics := current.Counters.NICs()
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

// nicName is the name that the last call of shmemgoNICName has returned.
var nicName [64]C.char

// shmemgoNICName returns the name of a NIC by its number, or nil if there is none. The text is
// valid until the next call.
//
//export shmemgoNICName
func shmemgoNICName(nic C.int) *C.char {
	defer guard.Catch("nic_name")
	nics := current.Counters.NICs()
	if nic < 0 || int(nic) >= len(nics) {
		return nil
	}
	return copyText(nicName[:], nics[nic].NIC)
}
