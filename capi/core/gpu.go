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

// answer is the answer of a call that was done, or was not and why.
func answer(err error) C.int {
	if err != nil {
		failure.Store(&err)
		return C.SHMEMI_FAILED
	}
	return C.SHMEMI_DONE
}

func flag(yes bool) C.int {
	if yes {
		return 1
	}
	return 0
}

//export shmemgoGPUMove
func shmemgoGPUMove(to, from unsafe.Pointer, n C.size_t) C.int {
	defer guard.Catch("gpu_move")
	return answer(current.GPU.Move(to, from, uint64(n)))
}

//export shmemgoGPUSettle
func shmemgoGPUSettle() C.int {
	defer guard.Catch("gpu_settle")
	return answer(current.GPU.Settle())
}

// Because of the import this package is compiled anew when driver.h or marks.h changes.
var _ = [1]byte{}[cuda.MarksSize-C.sizeof_struct_shmemi_cuda_marks]

// moveBy lets C copy where this PE has a GPU.
func moveBy(j *job.Job) {
	n, stream := j.GPU.Mover()
	if n.Driver == nil {
		C.shmemi_core_move_by(nil)
		return
	}
	C.shmemi_core_move_by(&C.struct_shmemi_core_gpu{
		context: n.Context, stream: stream, driver: *(*C.struct_shmemi_cuda)(n.Driver),
	})
}

//export shmemgoGPUClear
func shmemgoGPUClear(at unsafe.Pointer, n C.size_t) C.int {
	defer guard.Catch("gpu_clear")
	return answer(current.GPU.Clear(at, uint64(n)))
}

//export shmemgoGPUAMO
func shmemgoGPUAMO(at unsafe.Pointer, op, width C.int, operand, compare C.uint64_t, fetched *C.uint64_t) C.int {
	defer guard.Catch("gpu_amo")
	old, err := current.GPU.Atomic(at, fabric.Op(op), int(width), uint64(operand), uint64(compare))
	*fetched = C.uint64_t(old)
	return answer(err)
}

//export shmemgoGPUHolds
func shmemgoGPUHolds(at unsafe.Pointer) C.int {
	defer guard.Catch("gpu_holds")
	return flag(current.GPU.Holds(at))
}

//export shmemgoGPUReset
func shmemgoGPUReset() C.int {
	defer guard.Catch("gpu_reset")
	return flag(current.GPUReset())
}

//export shmemgoGPUChosen
func shmemgoGPUChosen() C.int {
	defer guard.Catch("gpu_chosen")
	return flag(current.GPU.Chosen())
}

//export shmemgoGPUMoved
func shmemgoGPUMoved() C.int {
	defer guard.Catch("gpu_moved")
	return flag(current.GPU.Moved())
}

//export shmemgoGPUFindChunks
func shmemgoGPUFindChunks(at unsafe.Pointer, n C.size_t, granule, before, size *C.size_t) C.int {
	defer guard.Catch("gpu_find_chunks")
	l, unit, err := current.GPU.FindChunks(at, uint64(n))
	if err == nil {
		*granule, *before, *size = C.size_t(unit), C.size_t(l.Before), C.size_t(l.Size)
	}
	return answer(err)
}

//export shmemgoGPUForget
func shmemgoGPUForget() {
	defer guard.Catch("gpu_forget")
	if err := current.GPU.Forget(); err != nil {
		current.Explain(err)
	}
}

//export shmemgoGPULend
func shmemgoGPULend(size, offset C.size_t) C.int64_t {
	defer guard.Catch("gpu_lend")
	off, err := current.Lend(uint64(size), uint64(offset))
	if answer(err) != C.SHMEMI_DONE {
		return -1
	}
	return C.int64_t(off)
}

//export shmemgoGPUTakeBack
func shmemgoGPUTakeBack(offset C.int64_t) C.int {
	defer guard.Catch("gpu_take_back")
	return answer(current.TakeBack(libshmem.Offset(offset)))
}

//export shmemgoQuietRings
func shmemgoQuietRings(ticket *C.uint64_t) C.int {
	defer guard.Catch("quiet_rings")
	return C.int(current.Producers.Quiet((*uint64)(ticket)))
}

//export shmemgoKernels
func shmemgoKernels(image *unsafe.Pointer, at *C.uint64_t) C.int {
	defer guard.Catch("kernels")
	k, err := current.Producers.Kernels()
	if k != nil {
		*image, *at = unsafe.Pointer(k.State), C.uint64_t(k.At)
		if k.HasRings() {
			state.kernelRings = 1
		}
		if k.State.NotifyCount == 0 {
			state.uncounted = 1
		}
	}
	return answer(err)
}

//export shmemgoTeamShow
func shmemgoTeamShow(slot C.int, t *C.struct_shmemi_device_team, pes *C.int32_t) C.int {
	defer guard.Catch("team_show")
	if t == nil {
		return answer(current.Producers.Teams.Hide(int(slot)))
	}
	entry := *(*queue.Team)(unsafe.Pointer(t))
	var list []int32
	if pes != nil {
		list = unsafe.Slice((*int32)(unsafe.Pointer(pes)), entry.NPEs)
	}
	return answer(current.Producers.Teams.Show(int(slot), entry, list))
}

//export shmemgoTeamRenew
func shmemgoTeamRenew(slot C.int) C.int {
	defer guard.Catch("team_renew")
	return answer(current.Producers.Teams.Renew(int(slot)))
}
