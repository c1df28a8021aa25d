package main

/*
#include "core.h"
*/
import "C"

import "libshmem/runtime/heap"

// The allocator's answers depend on the calls alone, so they are the same on
// every PE. Whether there is memory behind them is not, which is why the
// front lets the PEs vote after each of these.

//export shmemgoHeapAlloc
func shmemgoHeapAlloc(size, align C.size_t, hints C.long) C.int64_t {
	if err := heap.Hints(hints).Check(); err != nil {
		return C.SHMEMI_NO_MEMORY
	}
	off, err := job.Heap.Alloc(uint64(size), uint64(align))
	if err != nil {
		job.Explain(err)
		return C.SHMEMI_NO_MEMORY
	}
	if err := job.Commit(); err != nil {
		job.Explain(err)
		shmemgoHeapFree(C.int64_t(off))
		return C.SHMEMI_NO_MEMORY
	}
	return C.int64_t(off)
}

//export shmemgoHeapFree
func shmemgoHeapFree(offset C.int64_t) C.int {
	if err := job.Heap.Free(heap.Offset(offset)); err != nil {
		job.Explain(err)
		return C.SHMEMI_NO_BLOCK
	}
	return C.SHMEMI_DONE
}

//export shmemgoHeapRealloc
func shmemgoHeapRealloc(offset C.int64_t, size C.size_t, oldSize *C.size_t) C.int64_t {
	start, old, ok := job.Heap.Block(heap.Offset(offset))
	if !ok || start != heap.Offset(offset) {
		return C.SHMEMI_NO_BLOCK
	}
	*oldSize = C.size_t(old)
	r, err := job.Heap.Realloc(start, uint64(size))
	if err != nil {
		job.Explain(err)
		return C.SHMEMI_NO_MEMORY
	}
	if err := job.Commit(); err != nil {
		job.Explain(err)
		if r.Moved {
			shmemgoHeapFree(C.int64_t(r.Offset))
		} else if _, err := job.Heap.Realloc(start, old); err != nil {
			// Shrinking back to what it was a moment ago needs no room.
			fatal(err)
		}
		return C.SHMEMI_NO_MEMORY
	}
	return C.int64_t(r.Offset)
}

//export shmemgoHeapRoom
func shmemgoHeapRoom(offset C.int64_t) C.size_t {
	start, size, ok := job.Heap.Block(heap.Offset(offset))
	if !ok {
		return 0
	}
	return C.size_t(uint64(start) + size - uint64(offset))
}
