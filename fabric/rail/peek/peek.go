// Package peek looks at the completion queues of several NICs from C. It knows no
// token and no message: what it finds is kept for fabric/rail. A thread that waits in C
// would otherwise come into Go to find nothing, every microsecond, which keeps the
// scheduler's monitor awake that takes the processor away from it.
//
// Its caller serialises everything but the C functions of Wait and Wake, as of any
// fabric.Provider.
package peek

// #cgo CFLAGS: -I${SRCDIR}/../../../capi/abi
// #cgo noescape shmemi_peek_poll
// #cgo nocallback shmemi_peek_poll
// #cgo nocallback shmemi_peek_arm
// #include <stdlib.h>
// #include "peek.h"
import "C"

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
)

// Peek is several queues.
type Peek struct {
	c    *C.struct_shmemi_peek
	nics []C.struct_shmemi_peek_nic
}

// New makes a Peek of endpoints with C functions and descriptors to wait for; nil: one
// of them lacks these.
func New(ends []fabric.Provider) *Peek {
	for _, e := range ends {
		s, ok := e.(fabric.Sleeper)
		if n := e.Native(); !ok || s.WaitFD() < 0 || n.Poll == nil || n.Arm == nil || n.Wait == nil || n.Wake == nil {
			return nil
		}
	}
	p := &Peek{c: (*C.struct_shmemi_peek)(C.calloc(1, C.sizeof_struct_shmemi_peek))}
	p.c.n = C.uint32_t(len(ends))
	p.c.nics = (*C.struct_shmemi_peek_nic)(C.calloc(C.size_t(len(ends)), C.sizeof_struct_shmemi_peek_nic))
	p.nics = unsafe.Slice(p.c.nics, len(ends))
	for i, e := range ends {
		n := e.Native()
		p.nics[i] = C.struct_shmemi_peek_nic{
			self: n.Self, poll: (*[0]byte)(n.Poll), arm: (*[0]byte)(n.Arm), wait: (*[0]byte)(n.Wait), wake: (*[0]byte)(n.Wake),
			fd: C.int(e.(fabric.Sleeper).WaitFD()),
		}
	}
	return p
}

// Native is the C functions. Poll answers with completions in Go.
func (p *Peek) Native() fabric.Native {
	return fabric.Native{
		Self: unsafe.Pointer(p.c), Poll: C.shmemi_peek_poll, Arm: C.shmemi_peek_arm, Wait: C.shmemi_peek_wait, Wake: C.shmemi_peek_wake,
	}
}

// Look is Native's Poll, and tells whether something has come.
func (p *Peek) Look() bool { return C.shmemi_peek_poll(unsafe.Pointer(p.c), nil, 0) != 0 }

// Work says whether Go has something for its caller.
func (p *Peek) Work(yes bool) {
	p.c.work = 0
	if yes {
		p.c.work = 1
	}
}

// Take moves what was found of a NIC to c, and answers how much that is, and an error
// of libfabric that was found in its place.
func (p *Peek) Take(nic int, c []fabric.Completion) (n int, errno int) {
	q := &p.nics[nic]
	if q.error != 0 {
		errno = int(-q.error)
		q.error = 0
		return 0, errno
	}
	if q.count == 0 {
		return 0, 0
	}
	came := unsafe.Slice((*fabric.Completion)(unsafe.Pointer(&q.came)), int(q.count))
	n = copy(c, came)
	copy(came, came[n:])
	q.count -= C.int(n)
	return n, 0
}

// Arm is part of fabric.Provider.
func (p *Peek) Arm() bool { return C.shmemi_peek_arm(unsafe.Pointer(p.c)) != 0 }

// Wait is part of fabric.Provider.
func (p *Peek) Wait(d time.Duration) (bool, error) {
	ret := C.shmemi_peek_wait(unsafe.Pointer(p.c), C.int64_t(d))
	if ret < 0 {
		return false, unix.Errno(-ret)
	}
	return ret > 0, nil
}

// Wake is part of fabric.Provider.
func (p *Peek) Wake() { C.shmemi_peek_wake(unsafe.Pointer(p.c)) }

// Close comes when nobody calls the C functions any more.
func (p *Peek) Close() {
	C.free(unsafe.Pointer(p.c.nics))
	C.free(unsafe.Pointer(p.c))
	p.c, p.nics = nil, nil
}
