package core

/*
#include "core.h"
*/
import "C"

import (
	"unsafe"

	"libshmem/runtime/job"
	"libshmem/runtime/job/meet"
)

// staticsOf returns what the front has found out about the program's globals and statics: their
// size and a text that PEs with symmetric statics have in common, or why they cannot be symmetric.
func staticsOf(args *C.struct_shmemi_init_args) meet.Statics {
	if args.statics_cause != nil {
		return meet.Statics{Cause: C.GoString(args.statics_cause), Remedy: C.GoString(args.statics_remedy)}
	}
	return meet.Statics{Size: uint64(args.statics_size), Like: C.GoString(args.statics_like)}
}

// fillFile publishes to the front the descriptor of the memory file that contains this PE's heap,
// and the heap's offset in it; -1 if the heap is in GPU memory.
func fillFile(s *State, j *job.Job) {
	s.heapFD = -1
	if fd, place, ok := j.Heaps.File(); ok {
		s.heapFD, s.heapPlace = int32(fd), uint64(place)
	}
}

// fillStatics publishes to the front the offset of the program's statics in the memory file, or why
// they are not symmetric.
func fillStatics(s *State, j *job.Job) {
	found, place, ok := j.Statics()
	s.staticsFD = -1
	if ok {
		s.staticsFD, s.staticsPlace, s.staticsOffset = int32(place.File), uint64(place.At), int64(place.Offset)
		return
	}
	// staticsWhy gets the cause and the remedy, each with a NUL byte at its end. A long cause is
	// cut off, so that `remedy` bytes are left for the remedy.
	all := unsafe.Slice((*C.char)(unsafe.Pointer(&s.staticsWhy)), len(s.staticsWhy))
	const remedy = 96
	copyText(all[:len(all)-remedy], found.Cause)
	end := 0
	for all[end] != 0 {
		end++
	}
	copyText(all[end+1:], found.Remedy)
}
