package core

/*
#include "core.h"
*/
import "C"

import (
	"sync/atomic"

	"libshmem"
	"libshmem/runtime/guard"
	"libshmem/runtime/heap"
	"libshmem/runtime/job"
)

// The allocator's offsets depend only on the calls, so they are the same on every PE. Whether a PE
// has memory for a block may differ, so after each of these calls the front compares the results of
// all PEs.

// reportedIn is the last job in which a failed allocation was printed.
var reportedIn *job.Job

// noMemory returns the result of a failed allocation, from which the front knows whether this PE
// prints the error. alone: this PE lacks the memory, and others may not, so it prints that itself.
// Otherwise the heap has no free offsets, which fails at all PEs in the same call, so only PE 0
// prints it. A PE prints the first failure of a job, and logs the others.
func noMemory(err error, alone bool) C.int64_t {
	atomic.AddUint64(&current.Live.Heap.Failed, 1)
	failure.Store(&err)
	if reportedIn != current && (alone || current.Me == 0) {
		reportedIn = current
		return resultReportMemory
	}
	current.Explain(err)
	return resultNoMemory
}

// showHeap writes the heap's size and use, in bytes, and its number of blocks to the PE's status
// page, for shmem-info and the Python package.
func showHeap() {
	s, to := current.Heap.Stats(), &current.Live.Heap
	atomic.StoreUint64(&to.Size, s.Size)
	atomic.StoreUint64(&to.Used, s.Used)
	atomic.StoreUint64(&to.Peak, s.Peak)
	atomic.StoreUint64(&to.Largest, s.LargestFree)
	atomic.StoreUint64(&to.Blocks, uint64(s.Live))
}

// shmemgoHeapAlloc allocates a block of the symmetric heap, with its memory. If align is 0, the
// heap chooses. The front passes no hints that Check refuses. It returns the block's offset from
// the beginning of the user heap, or a negative result of noMemory.
//
//export shmemgoHeapAlloc
func shmemgoHeapAlloc(size, align C.size_t, hints C.long) C.int64_t {
	defer guard.Catch("heap_alloc")
	defer showHeap()
	if err := heap.Hints(hints).Check(); err != nil {
		return resultNoMemory
	}
	off, err := current.Heap.Alloc(uint64(size), uint64(align))
	if err != nil {
		return noMemory(err, false)
	}
	if err := current.Commit(); err != nil {
		shmemgoHeapFree(C.int64_t(off))
		return noMemory(err, true)
	}
	return C.int64_t(off)
}

// shmemgoHeapFree frees the block that begins at an offset. It returns SHMEMI_DONE, or
// resultNoBlock if none begins there.
//
//export shmemgoHeapFree
func shmemgoHeapFree(offset C.int64_t) C.int {
	defer guard.Catch("heap_free")
	defer showHeap()
	if err := current.Heap.Free(libshmem.Offset(offset)); err != nil {
		current.Explain(err)
		return resultNoBlock
	}
	return C.SHMEMI_DONE
}

// shmemgoHeapRealloc resizes a block, and stores its old size. If the block stays at its offset, it
// returns that offset. Otherwise it returns the offset of a new block; the front then copies the
// contents and frees the old block. After a failure, a negative result, the old block is unchanged.
//
//export shmemgoHeapRealloc
func shmemgoHeapRealloc(offset C.int64_t, size C.size_t, oldSize *C.size_t) C.int64_t {
	defer guard.Catch("heap_realloc")
	start, old, ok := current.Heap.Block(libshmem.Offset(offset))
	if !ok || start != libshmem.Offset(offset) {
		return resultNoBlock
	}
	*oldSize = C.size_t(old)
	defer showHeap()
	r, err := current.Heap.Realloc(start, uint64(size))
	if err != nil {
		return noMemory(err, false)
	}
	if err := current.Commit(); err != nil {
		if r.Moved {
			shmemgoHeapFree(C.int64_t(r.Offset))
		} else if _, err := current.Heap.Realloc(start, old); err != nil {
			// The block had this size before, so this needs no more memory and cannot fail.
			fatal(err)
		}
		return noMemory(err, true)
	}
	return C.int64_t(r.Offset)
}

// shmemgoHeapBytesFrom returns the bytes from an offset to the end of the block it is in; 0 if no
// block is allocated there.
//
//export shmemgoHeapBytesFrom
func shmemgoHeapBytesFrom(offset C.int64_t) C.size_t {
	defer guard.Catch("heap_bytes_from")
	start, size, ok := current.Heap.Block(libshmem.Offset(offset))
	if !ok {
		return 0
	}
	return C.size_t(uint64(start) + size - uint64(offset))
}
