package mrcache

import "unsafe"

// pointer is an address of memory that is not Go's.
func pointer(at uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }
