package core

/*
#include "core.h"
*/
import "C"

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/guard"
	"libshmem/runtime/job"
)

// result converts an error to what the core's functions return to C: SHMEMI_DONE for nil, else
// SHMEMI_FAILED, after which shmemgoError returns the text.
func result(err error) C.int {
	if err != nil {
		failure.Store(&err)
		return C.SHMEMI_FAILED
	}
	return C.SHMEMI_DONE
}

// cBool returns 1 for true and 0 for false, as C reads it.
func cBool(yes bool) C.int {
	if yes {
		return 1
	}
	return 0
}

// shmemgoGPUMove copies n bytes from or to the memory of a GPU, and returns when the copy is
// complete or has failed.
//
//export shmemgoGPUMove
func shmemgoGPUMove(to, from unsafe.Pointer, n C.size_t) C.int {
	defer guard.Catch("gpu_move")
	return result(current.GPU.Move(to, from, uint64(n)))
}

// shmemgoGPUSettle waits until all copies that C has begun are complete.
//
//export shmemgoGPUSettle
func shmemgoGPUSettle() C.int {
	defer guard.Catch("gpu_settle")
	return result(current.GPU.Settle())
}

// This line does not compile unless C and package cuda have the same size for the marks (records of
// driver calls under way). Using the package also makes go build compile this one again when
// driver.h or marks.h changes.
var _ = [1]byte{}[cuda.MarksSize-C.sizeof_struct_shmemi_cuda_marks]

// setDriver lets C copy from and to GPU memory without Go: it passes C the functions of the GPU
// driver, the context and the stream for copies. Without a GPU it removes them.
func setDriver(j *job.Job) {
	n, stream := j.GPU.Mover()
	if n.Driver == nil {
		C.shmemi_core_set_driver(nil)
		return
	}
	C.shmemi_core_set_driver(&C.struct_shmemi_core_gpu{
		context: n.Context, stream: stream, driver: *(*C.struct_shmemi_cuda)(n.Driver),
	})
}

// shmemgoGPUClear sets n bytes of GPU memory to 0.
//
//export shmemgoGPUClear
func shmemgoGPUClear(at unsafe.Pointer, n C.size_t) C.int {
	defer guard.Catch("gpu_clear")
	return result(current.GPU.Clear(at, uint64(n)))
}

// shmemgoGPUAMO performs an atomic operation on a word in GPU memory, and stores its old value in
// *fetched. op is a fabric.Op, width the bytes of the word; compare is for a compare-and-swap only.
//
//export shmemgoGPUAMO
func shmemgoGPUAMO(at unsafe.Pointer, op, width C.int, operand, compare C.uint64_t, fetched *C.uint64_t) C.int {
	defer guard.Catch("gpu_amo")
	old, err := current.GPU.Atomic(at, fabric.Op(op), int(width), uint64(operand), uint64(compare))
	*fetched = C.uint64_t(old)
	return result(err)
}

// shmemgoGPUHolds reports whether an address is in the memory of a GPU.
//
//export shmemgoGPUHolds
func shmemgoGPUHolds(at unsafe.Pointer) C.int {
	defer guard.Catch("gpu_holds")
	return cBool(current.GPU.Holds(at))
}

// shmemgoGPUReset reports whether the program has reset this PE's GPU during the job.
//
//export shmemgoGPUReset
func shmemgoGPUReset() C.int {
	defer guard.Catch("gpu_was_reset")
	return cBool(current.GPUReset())
}

// shmemgoGPUChosen reports whether the thread that called init had chosen a GPU.
//
//export shmemgoGPUChosen
func shmemgoGPUChosen() C.int {
	defer guard.Catch("gpu_chosen")
	return cBool(current.GPU.Chosen())
}

// shmemgoGPUMoved reports whether the calling thread uses another GPU than this PE's.
//
//export shmemgoGPUMoved
func shmemgoGPUMoved() C.int {
	defer guard.Catch("gpu_moved")
	return cBool(current.GPU.Moved())
}

// shmemgoGPUFindChunks finds the driver's allocations (chunks) that contain n bytes of the
// program's GPU memory, which is to be registered. It sets *granule to the unit of their sizes,
// *before to their bytes before `at`, and *size to all their bytes. The caller must then call
// shmemgoGPULend or shmemgoGPUForget.
//
//export shmemgoGPUFindChunks
func shmemgoGPUFindChunks(at unsafe.Pointer, n C.size_t, granule, before, size *C.size_t) C.int {
	defer guard.Catch("gpu_find_chunks")
	found, unit, err := current.GPU.FindChunks(at, uint64(n))
	if err == nil {
		*granule, *before, *size = C.size_t(unit), C.size_t(found.Before), C.size_t(found.Size)
	}
	return result(err)
}

// shmemgoGPUForget discards the result of shmemgoGPUFindChunks. An error is only logged.
//
//export shmemgoGPUForget
func shmemgoGPUForget() {
	defer guard.Catch("gpu_forget")
	if err := current.GPU.Forget(); err != nil {
		current.Explain(err)
	}
}

// shmemgoGPULend maps the found chunks into a block of the heap. All PEs call it together. The
// block has size bytes, and the chunks begin at an offset within it. It returns the block's offset
// in the heap, or -1, perhaps on this PE alone (GPU.Lend).
//
//export shmemgoGPULend
func shmemgoGPULend(size, offset C.size_t) C.int64_t {
	defer guard.Catch("gpu_lend")
	off, err := current.Lend(uint64(size), uint64(offset))
	if result(err) != C.SHMEMI_DONE {
		return -1
	}
	return C.int64_t(off)
}

// shmemgoGPUTakeBack unmaps the chunks from the block of the heap that contains an offset.
//
//export shmemgoGPUTakeBack
func shmemgoGPUTakeBack(offset C.int64_t) C.int {
	defer guard.Catch("gpu_take_back")
	return result(current.TakeBack(libshmem.Offset(offset)))
}

// shmemgoQuietRings begins or continues a quiet for the operations that kernels have submitted. If
// *ticket is 0, it begins one and sets *ticket to its number. It returns SHMEMI_PENDING until they
// are complete, and then SHMEMI_DONE.
//
//export shmemgoQuietRings
func shmemgoQuietRings(ticket *C.uint64_t) C.int {
	defer guard.Catch("quiet_rings")
	return C.int(current.Producers.Quiet((*uint64)(ticket)))
}

// shmemgoKernels makes the image of the job's state for kernels, and sets *image to the address at
// which this process reads it, and *at to its address for kernels. *image stays as it is if this PE
// runs no kernels.
//
//export shmemgoKernels
func shmemgoKernels(image *unsafe.Pointer, at *C.uint64_t) C.int {
	defer guard.Catch("kernels")
	k, err := current.Producers.Kernels(state.archive != 0)
	if k != nil {
		*image, *at = unsafe.Pointer(k.State), C.uint64_t(k.At)
		if k.HasRings() { // quiets must wait for the kernels' operations, too
			state.kernelRings = 1
		}
		if k.State.NotifyCount == 0 { // kernels got no memory for notification counters
			state.uncounted = 1
		}
	}
	return result(err)
}

// shmemgoTeamShow publishes the team of a slot (an index of the kernels' table of teams) to
// kernels. pes has the team's PEs, or is nil if they are given by start and stride. If t is nil,
// the slot has no team any more.
//
//export shmemgoTeamShow
func shmemgoTeamShow(slot C.int, t *C.struct_shmemi_device_team, pes *C.int32_t) C.int {
	defer guard.Catch("team_show")
	if t == nil {
		return result(current.Producers.Teams.Hide(int(slot)))
	}
	entry := *(*queue.Team)(unsafe.Pointer(t))
	var list []int32
	if pes != nil {
		list = unsafe.Slice((*int32)(unsafe.Pointer(pes)), entry.NPEs)
	}
	return result(current.Producers.Teams.Show(int(slot), entry, list))
}

// shmemgoTeamRenew clears the words that kernels have left in a team slot in GPU memory, before the
// slot's next team is shown.
//
//export shmemgoTeamRenew
func shmemgoTeamRenew(slot C.int) C.int {
	defer guard.Catch("team_renew")
	return result(current.Producers.Teams.Renew(int(slot)))
}
