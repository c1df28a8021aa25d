// Package express is the proxy's inner loop in C, entered once for some
// milliseconds: it takes operations out of rings, posts them, and reaps. It
// owns how the simple case is done in C, and nothing else: rings, tables,
// order, credits and errors are those of runtime/proxy, which does everything
// that this leaves. It knows words and functions, not engines or providers.
//
// # What is simple
//
// Elements, atomic operations without an answer, puts and puts with a signal
// that the provider injects, fences of a PE's only consumer. Neighbouring puts
// are merged while the whole is simple. An operation that is not, makes no sense
// or finds no room stays in its ring and ends Run, so that Go meets it next.
// Messages are applied, and flushes asked for and answered. Any other completion
// ends Run with the lock held, for Go to take it in its turn.
//
// Go calls Run only while no operation waits for room. Run ends by itself when
// the engine has something to retry, a request was finished or a quiet came to
// its end, when somebody asks for attention, and after the time it is given.
//
// # Threads
//
// One thread at a time calls Run, the engine's own. The lock is held in each
// turn and not between two, so that callers in C get in. What Run shares with
// Go (Express, positions, areas) belongs to whoever runs, Run or its caller; the
// rings' memory is ordered as package queue says.
//
// express.h serves capi/core too: there it is the way of callers in C.
package express

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror -fno-strict-aliasing
#cgo CFLAGS: -I${SRCDIR}/../../../abi -I${SRCDIR}/../../../device
#include <stdlib.h>
#include "lane.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// Ring is where one ring is, in memory that Go does not move.
type Ring struct {
	Slots, Line, Replies, Cells unsafe.Pointer
	Log2Slots                   uint32
}

// Config is what a lane works on. The pointers are as those of fabric.Native
// and of the engine's Wakers.
type Config struct {
	Express                      unsafe.Pointer
	Self, Poll, Recv, Inject     unsafe.Pointer
	Lock, Wanted, Sleepers, Wake *uint32
	Rings                        []Ring
	Batch                        int // operations of one ring between two looks at the others
}

// Lane is one loop. Its memory is C's.
type Lane struct {
	// Positions are those of the rings' next operations.
	Positions []uint64

	c     *C.struct_shmemi_lane
	areas int
}

// New makes a lane.
func New(c Config) *Lane {
	n := max(len(c.Rings), 1)
	l := (*C.struct_shmemi_lane)(C.calloc(1, C.sizeof_struct_shmemi_lane))
	l.express = (*C.struct_shmemi_express)(c.Express)
	l.native.self = c.Self
	l.native.poll, l.native.recv, l.native.inject = (*[0]byte)(c.Poll), (*[0]byte)(c.Recv), (*[0]byte)(c.Inject)
	l.lock, l.wanted = (*C.uint32_t)(c.Lock), (*C.uint32_t)(c.Wanted)
	l.sleepers, l.wakes = (*C.uint32_t)(c.Sleepers), (*C.uint32_t)(c.Wake)
	l.rings = (*C.struct_shmemi_lane_ring)(C.calloc(C.size_t(n), C.sizeof_struct_shmemi_lane_ring))
	l.positions = (*C.uint64_t)(C.calloc(C.size_t(n), 8))
	l.ring_count, l.batch = C.uint32_t(len(c.Rings)), C.uint32_t(c.Batch)
	rings := unsafe.Slice(l.rings, n)
	for i, r := range c.Rings {
		rings[i].slots = (*C.uint64_t)(r.Slots)
		rings[i].line = (*C.struct_shmemi_ring_line)(r.Line)
		rings[i].replies = (*C.struct_shmemi_reply)(r.Replies)
		rings[i].cells = C.uint64_t(uintptr(r.Cells))
		rings[i].log2_slots = C.uint32_t(r.Log2Slots)
	}
	return &Lane{c: l, Positions: unsafe.Slice((*uint64)(unsafe.Pointer(l.positions)), n)[:len(c.Rings)]}
}

// Close frees the memory.
func (l *Lane) Close() {
	C.free(unsafe.Pointer(l.c.rings))
	C.free(unsafe.Pointer(l.c.positions))
	C.free(unsafe.Pointer(l.c))
}

// Alone says whether the PE has no other consumer.
func (l *Lane) Alone(alone bool) { l.c.alone = number(alone) }

// Yields says whether the loop gives way when nothing comes.
func (l *Lane) Yields(yields bool) { l.c.yields = number(yields) }

func number(b bool) C.uint32_t {
	if b {
		return 1
	}
	return 0
}

// Reason is why Run returned.
type Reason int

// The reasons.
const (
	Idle       Reason = C.SHMEMI_LANE_IDLE       // nothing came for as long as spin says
	Time       Reason = C.SHMEMI_LANE_TIME       // the limit has passed
	Attention  Reason = C.SHMEMI_LANE_ATTENTION  // somebody asked for it
	Busy       Reason = C.SHMEMI_LANE_BUSY       // the lock is held for long
	Operation  Reason = C.SHMEMI_LANE_OPERATION  // the next operation of a ring is Go's
	State      Reason = C.SHMEMI_LANE_STATE      // the engine has something to do
	Completion Reason = C.SHMEMI_LANE_COMPLETION // Completions are Go's, and the lock is held
	Error      Reason = C.SHMEMI_LANE_ERROR      // the provider cannot be polled
)

// Run runs for limit at most, and while something came within spin; 0: until a
// turn finds nothing. finished is the engine's Finished as its caller knows it,
// ticket the quiet that it waits for, or 0.
func (l *Lane) Run(limit, spin time.Duration, finished, ticket uint64) Reason {
	c := l.c
	c.limit, c.spin = C.int64_t(limit), C.int64_t(spin)
	c.finished, c.ticket = C.uint64_t(finished), C.uint64_t(ticket)
	return Reason(C.shmemi_lane_run(c))
}

// Account is what the last Run did.
type Account struct {
	Taken     int           // operations
	Completed int           // completions, those that are left to Go included
	Ran       time.Duration // in all
	Idle      time.Duration // since it found work last, or since it began
	Gap       time.Duration // the longest time that it may not have been running
	Failure   int           // the provider's, after Error
	Left      bool          // the next operation of some ring is Go's
}

// Account tells about the last Run.
func (l *Lane) Account() Account {
	c := l.c
	return Account{
		Taken: int(c.taken), Completed: int(c.completed),
		Ran: time.Duration(c.ran), Idle: time.Duration(c.idle), Gap: time.Duration(c.gap),
		Failure: int(c.error), Left: c.left != 0,
	}
}

// Completions are those that the last Run left to Go, n of them, valid until the
// next.
func (l *Lane) Completions() (first unsafe.Pointer, n int) {
	return unsafe.Pointer(&l.c.completions[l.c.first]), int(l.c.count - l.c.first)
}

// Local names memory outside the segment that operations may read. The latest
// few are known.
func (l *Lane) Local(begin, end uint64) {
	for _, a := range l.c.areas {
		if uint64(a.begin) == begin && uint64(a.end) == end {
			return
		}
	}
	a := &l.c.areas[l.areas%len(l.c.areas)]
	a.begin, a.end = C.uint64_t(begin), C.uint64_t(end)
	l.areas++
}

// Forget forgets what Local named.
func (l *Lane) Forget() {
	clear(l.c.areas[:])
	l.areas = 0
}
