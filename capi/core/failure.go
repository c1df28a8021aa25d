package core

/*
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/guard"
	"libshmem/runtime/job"
	"libshmem/runtime/job/area"
	"libshmem/runtime/proxy"
)

// fillLost allocates the tables in which the front finds the lost PEs, which are empty at init.
// Under SHMEM_ON_FAILURE=return the fast path, the inline loads and stores of the front, gets its
// own table of heap addresses (fastBase), from which reportLost removes lost PEs.
func fillLost(s *State, j *job.Job) {
	s.nLost = 0
	s.lost = (*uint8)(C.calloc(C.size_t(j.NPEs), 1))
	s.losses = (*int32)(C.calloc(C.size_t(j.NPEs), 4))
	if j.Settings.OnFailure == config.ReturnOnFailure {
		s.survives = 1
		if s.fastBase == s.nearBase { // reportLost changes fastBase only
			s.fastBase = basesInC(j, j.Nodes.Peers(j.Me), j.Heaps.Near)
		}
	}
}

// emptyLost frees the tables of lost PEs, and resets the members that fillLost may have set.
func emptyLost(s *State) {
	s.nLost, s.survives = 0, 0
	C.free(unsafe.Pointer(s.lost))
	C.free(unsafe.Pointer(s.losses))
	s.lost, s.losses = nil, nil
}

// reportLost reports a lost PE to the front: it adds the PE to State.lost and State.losses, in the
// order that State.lost requires, closes the fast path to it, and wakes threads of this PE that
// sleep in waits. One goroutine calls it, once for each lost PE.
func reportLost(lost libshmem.PE) {
	s := state
	unsafe.Slice(s.lost, s.nPEs)[lost] = 1
	atomic.StorePointer(&unsafe.Slice(s.fastBase, s.nPEs)[lost], nil)
	unsafe.Slice(s.losses, s.nPEs)[s.nLost] = int32(lost)
	atomic.AddUint32(&s.nLost, 1)
	// Other PEs may read whether this PE knows of the loss, in words of 8 bytes, one for each PE, at
	// an offset from the user heap. That word is stored last.
	known := unsafe.Add(unsafe.Pointer(current.Heaps.Of(current.Me)), int(current.Layout.KnownLosses())+8*int(lost))
	atomic.StoreUint64((*uint64)(known), 1)
	C.shmemi_core_wake(s.c())
}

// shmemgoErrorPE writes the error of the engine, and returns the PE whose loss has caused it, or -1
// if it has another cause. The front calls it right after a failed call. The engine keeps one error
// for all threads: if two calls fail at once, both may report the same error.
//
//export shmemgoErrorPE
func shmemgoErrorPE(to *C.char, size C.size_t) C.int {
	defer guard.Catch("error_pe")
	reason := errors.New("no reason given")
	if current.Engine != nil {
		current.Engine.WithLock(func() {
			if err := current.Engine.Err(); err != nil {
				reason = err
			}
		})
	}
	copyText(unsafe.Slice(to, int(size)), reason.Error())
	var lost *proxy.LostError
	if errors.As(reason, &lost) {
		return C.int(lost.PE)
	}
	return -1
}

// shmemgoFate writes what has happened to a lost PE, as a predicate: "was killed by signal 9".
//
//export shmemgoFate
func shmemgoFate(of C.int, to *C.char, size C.size_t) {
	defer guard.Catch("fate")
	copyText(unsafe.Slice(to, int(size)), current.Watch.Reason(libshmem.PE(of)))
}

// shmemgoAcknowledge records that the program knows of all losses, so that they do not end later
// waits of kernels. It returns how many losses there are.
//
//export shmemgoAcknowledge
func shmemgoAcknowledge() C.int {
	defer guard.Catch("acknowledge")
	return C.int(current.Producers.Stopper.Acknowledge())
}

// shmemgoGiveUp declares a PE lost at this PE, because another PE has reported the loss. It may
// return before reportLost is called for the PE.
//
//export shmemgoGiveUp
func shmemgoGiveUp(of C.int) {
	defer guard.Catch("give_up")
	current.Watch.GiveUp(libshmem.PE(of))
}

// shmemgoExplain writes what is known about n late PEs, for the report of a wait that waits for
// `all` late PEs. It returns the first of the n that has exited with status 0 during the job, or
// -1.
//
//export shmemgoExplain
func shmemgoExplain(pes *C.int32_t, n, all C.int, to *C.char, size C.size_t) C.int {
	defer guard.Catch("explain")
	late := listOf(pes, n)
	copyText(unsafe.Slice(to, int(size)), current.Watch.Explanation(late, int(all)))
	if pe, found := current.Watch.Absent(late); found {
		return C.int(pe)
	}
	return -1
}

// shmemgoLate writes what n late PEs, of `all` for which a wait waits, are doing. It does not need
// the network lock.
//
//export shmemgoLate
func shmemgoLate(pes *C.int32_t, n, all C.int, to *C.char, size C.size_t) {
	defer guard.Catch("late")
	copyText(unsafe.Slice(to, int(size)), current.Watch.Late(listOf(pes, n), int(all)))
}

// listOf copies a list of n PE numbers from C to a Go slice.
func listOf(pes *C.int32_t, n C.int) (all []libshmem.PE) {
	for _, pe := range unsafe.Slice(pes, int(n)) {
		all = append(all, libshmem.PE(pe))
	}
	return all
}

// activity returns what a PE of this node is doing, as the predicate of a sentence, or "". The
// front writes the text from the PE's control page; how says which facts it contains. What does not
// fit in 640 bytes is cut off.
func activity(of libshmem.PE, how area.How) string {
	var to [640]C.char
	C.shmemi_core_doing(C.int(of), C.uint(how), &to[0], C.size_t(len(to)))
	return C.GoString(&to[0])
}

// shmemgoReport writes one line about this PE to the log.
//
//export shmemgoReport
func shmemgoReport(line *C.char) {
	defer guard.Catch("report")
	if j := current; j != nil {
		j.Report(C.GoString(line))
	}
}

// shmemgoReportWait writes the report of a wait to the log, with the last events of the network.
// `of` is the PE for which the call waits, or -1 if it waits for several.
//
//export shmemgoReportWait
func shmemgoReportWait(of C.int, line *C.char) {
	defer guard.Catch("report_wait")
	if j := current; j != nil {
		j.ReportWait(int(of), C.GoString(line))
	}
}

// shmemgoProbe asks those of n PEs that are on other nodes, by messages, what they are doing, and
// the launcher how the n PEs have ended. If n is 0, it asks PEs of other nodes for a sign of life
// (watch.Probe). A later shmemgoExplain or shmemgoLate reports the replies.
//
//export shmemgoProbe
func shmemgoProbe(pes *C.int32_t, n C.int) {
	defer guard.Catch("probe")
	current.Watch.Probe(listOf(pes, n))
}
