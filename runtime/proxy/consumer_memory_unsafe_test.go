package proxy

import (
	"runtime"
	"testing"
	"unsafe"
)

// at returns the offset of a place in the user heap.
func at(offset int) uint64 { return uint64(internal + offset) }

// address returns the address of memory which something holds until the job ends.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

// holdMemory holds memory until the test ends. A ring has only its address, which keeps neither the
// collector from it nor a stack from moving, and an operation may read or write there when the test
// has no more use for it.
func holdMemory(t testing.TB, b []byte) { t.Cleanup(func() { runtime.KeepAlive(b) }) }

// address returns the address of memory which the test holds for the job.
func (j *ringJob) address(b []byte) uint64 {
	holdMemory(j.t, b)
	return address(b)
}
