package main

/*
#include "core.h"
*/
import "C"

import (
	"unsafe"

	"libshmem/runtime/pe"
)

// statics is what the front has found of the program's globals.
func statics(args *C.struct_shmemi_init_args) pe.Statics {
	if args.statics_cause != nil {
		return pe.Statics{Cause: C.GoString(args.statics_cause), Remedy: C.GoString(args.statics_remedy)}
	}
	return pe.Statics{Size: uint64(args.statics_size), Like: C.GoString(args.statics_like)}
}

// fillFile tells the front which memory file its heap is a part of.
func fillFile(s *C.struct_shmemi_state, j *pe.Job) {
	s.heap_fd = -1
	if fd, place, ok := j.HeapFile(); ok {
		s.heap_fd, s.heap_place = C.int32_t(fd), C.uint64_t(place)
	}
}

// fillStatics tells the front where they go, or why they stay.
func fillStatics(s *C.struct_shmemi_state, j *pe.Job) {
	which, place, ok := j.Statics()
	s.statics_fd = -1
	if ok {
		s.statics_fd, s.statics_place, s.statics_offset = C.int32_t(place.File), C.uint64_t(place.At), C.int64_t(place.Offset)
		return
	}
	all := unsafe.Slice(&s.statics_why[0], len(s.statics_why))
	// The remedy has its place also behind a long cause.
	const remedy = 96
	text(all[:len(all)-remedy], which.Cause)
	end := 0
	for all[end] != 0 {
		end++
	}
	text(all[end+1:], which.Remedy)
}
