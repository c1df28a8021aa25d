package cuda

/*
#include <stdlib.h>
#include "driver.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// MarksSize is the size of one caller's marks, which show its driver calls under way (marks.h).
const MarksSize = C.sizeof_struct_shmemi_cuda_marks

// Call is a call of the driver that has not returned.
type Call struct {
	By   string // the name of the caller, as given to Device.For
	Name string // "cuMemcpyAsync"
	Slot int    // index of the call's mark among the marks of the caller
	Turn uint64 // differs between the calls that use the same mark
}

// callers are the parts of the library that call the driver for one GPU.
type callers struct {
	mu  sync.Mutex // never locked during a call of the driver
	all []caller
}

// caller is a part of the library with its own table of driver functions, whose calls are marked.
type caller struct {
	name  string
	table *C.struct_shmemi_cuda
}

// add makes a table of driver functions for a caller, a copy of `of` with its own marks: records of
// the calls that have not returned. It returns nil if there is no memory.
func (c *callers) add(name string, of *C.struct_shmemi_cuda) *C.struct_shmemi_cuda {
	marks := (*C.struct_shmemi_cuda_marks)(C.aligned_alloc(64, C.sizeof_struct_shmemi_cuda_marks))
	table := newTable()
	if marks == nil || table == nil {
		C.free(unsafe.Pointer(marks))
		freeTable(table)
		return nil
	}
	*marks = C.struct_shmemi_cuda_marks{}
	*table = *of
	table.marks = marks
	c.mu.Lock()
	c.all = append(c.all, caller{name, table})
	c.mu.Unlock()
	return table
}

// close frees the tables and marks. No thread may call the driver through them any more.
func (c *callers) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		C.free(unsafe.Pointer(one.table.marks))
		freeTable(one.table)
	}
	c.all = nil
}

// Calls appends to a list the driver calls of this GPU's callers that have not returned. It does
// not call the driver, so it returns even if the driver blocks all of them. After Close there are
// none.
func (v *Device) Calls(to []Call) []Call {
	v.callers.mu.Lock()
	defer v.callers.mu.Unlock()
	for _, caller := range v.callers.all {
		for i := range caller.table.marks.at {
			m := &caller.table.marks.at[i]
			// If turn is the same before and after the name is read, both are of one call.
			at := (*uint64)(&m.turn)
			turn := atomic.LoadUint64(at)
			name := (*byte)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&m.call))))
			if name != nil && turn&1 != 0 && atomic.LoadUint64(at) == turn {
				to = append(to, Call{caller.name, literal(name), i, turn})
			}
		}
	}
	return to
}

// literal returns a C string that is never freed, a name in the library's code, without copying it.
func literal(at *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
		n++
	}
	return unsafe.String(at, n)
}
