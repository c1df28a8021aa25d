package mrcache

import "unsafe"

// pointer converts an address of memory that is not Go's to a pointer.
func pointer(at uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }
