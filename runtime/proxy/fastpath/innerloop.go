// Package fastpath is the proxy's inner loop in C, which Go calls once every few milliseconds: it
// takes operations out of rings, posts them, and handles completions. It owns the simple case in C,
// and nothing else: rings, tables, order, credits and errors belong to runtime/proxy, which handles
// everything else. It knows words and functions, not engines or providers.
//
// # Simple operations
//
// These are simple: elements, atomic operations without a reply, puts and puts with a signal that
// the provider injects, and fences of a PE's only consumer. Neighbouring puts are merged while the
// whole is simple. An operation that is not simple, is invalid or cannot be posted now stays in its
// ring and ends Run, so that Go handles it next. The loop applies messages, sends flushes and
// replies to those of other PEs. Any other completion ends Run with the lock held, and Go handles
// it after the completions before it.
//
// Go calls Run only while no operation waits to be posted. Run ends by itself when the engine has
// something to retry, when a request or a quiet has completed, when a thread asks for attention
// (State.Attention), and after its time limit.
//
// # Threads
//
// One thread at a time calls Run, the engine's proxy thread. It holds the lock during each
// iteration and not between two, so that callers in C can lock the engine. The data that Run shares
// with Go (State, positions, areas) belongs to Run while it runs, otherwise to its caller; the
// rings' memory is ordered as package queue says.
//
// fastpath.h serves capi/core, too: there it is the fast path of callers in C.
package fastpath

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror -fno-strict-aliasing
#cgo CFLAGS: -I${SRCDIR}/../../../abi -I${SRCDIR}/../../../device
#include <stdlib.h>
#include "innerloop.h"
*/
import "C"

import (
	"time"
	"unsafe"

	"libshmem/fabric"
)

// Ring has the addresses of one ring, in memory that Go does not move.
type Ring struct {
	Slots, Line, Replies, Cells unsafe.Pointer
	Log2Slots                   uint32
}

// Config has the objects that a Loop uses. The pointers are those of fabric.Native and of the
// engine's wake.Words.
type Config struct {
	FastPath                     unsafe.Pointer
	Self, Poll, Recv, Inject     unsafe.Pointer
	Lock, Wanted, Sleepers, Wake *uint32
	Rings                        []Ring
	Batch                        int // operations taken from one ring before the others are polled
}

// Loop is one inner loop. Its memory is allocated in C.
type Loop struct {
	// Positions has the position of the next operation of each ring.
	Positions []uint64

	c     *loop
	areas int
}

// New makes a Loop. Its state and the array of rings are C memory, because C uses them without Go,
// and they contain pointers.
func New(c Config) *Loop {
	n := max(len(c.Rings), 1)
	l := (*loop)(C.calloc(1, C.size_t(unsafe.Sizeof(loop{}))))
	l.engine = c.FastPath
	l.native.self, l.native.poll, l.native.recv, l.native.inject = c.Self, c.Poll, c.Recv, c.Inject
	l.lock, l.wanted, l.sleepers, l.wakes = c.Lock, c.Wanted, c.Sleepers, c.Wake
	l.rings = (*loopRing)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(loopRing{}))))
	l.positions = (*uint64)(C.calloc(C.size_t(n), 8))
	l.ringCount, l.batch = uint32(len(c.Rings)), uint32(c.Batch)
	rings := unsafe.Slice(l.rings, n)
	for i, r := range c.Rings {
		to := &rings[i]
		to.slots, to.line, to.replies = r.Slots, r.Line, r.Replies
		to.cells, to.log2Slots = uint64(uintptr(r.Cells)), r.Log2Slots
	}
	return &Loop{c: l, Positions: unsafe.Slice(l.positions, n)[:len(c.Rings)]}
}

// Close frees the C memory of the loop.
func (l *Loop) Close() {
	C.free(unsafe.Pointer(l.c.rings))
	C.free(unsafe.Pointer(l.c.positions))
	C.free(unsafe.Pointer(l.c))
}

// SetServesAll sets whether this loop serves all rings of the PE: only then may C handle a fence.
func (l *Loop) SetServesAll(all bool) { l.c.servesAll = asNumber(all) }

// SetYields sets whether the loop yields its processor when it finds no work.
func (l *Loop) SetYields(yields bool) { l.c.yields = asNumber(yields) }

// asNumber returns 1 for true and 0 for false: the members of the C struct are numbers.
func asNumber(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// Run runs the loop for at most limit. It ends earlier when there is work for Go, and when the loop
// has found no work for the time spin; if spin is 0, after the first iteration without work.
// finished is the count of completed requests (State.Finished) that the caller read last: Run ends
// when the count has changed. ticket is the quiet that the caller waits for, or 0: Run ends when
// that quiet is complete.
func (l *Loop) Run(limit, spin time.Duration, finished, ticket uint64) Reason {
	c := l.c
	c.limit, c.spin = int64(limit), int64(spin)
	c.finished, c.ticket = finished, ticket
	return Reason(C.shmemi_innerloop_run((*C.struct_shmemi_innerloop)(unsafe.Pointer(c))))
}

// Account reports the work of the last Run.
type Account struct {
	Taken     int           // operations that were posted
	Completed int           // completions, including those left to Go
	Ran       time.Duration // total time
	Idle      time.Duration // time without work before the end of the run
	Gap       time.Duration // the longest time in which the thread may have been off its processor
	Failure   int           // the provider's error number, after Error
	Left      bool          // the next operation of some ring is left to Go
}

// Account returns the account of the last Run: what it did and how its time was spent.
func (l *Loop) Account() Account {
	c := l.c
	return Account{
		Taken: int(c.taken), Completed: int(c.completed),
		Ran: time.Duration(c.ran), Idle: time.Duration(c.idle), Gap: time.Duration(c.gap),
		Failure: int(c.error), Left: c.left != 0,
	}
}

// Completions returns the completions that the last Run left to Go, valid until the next Run.
func (l *Loop) Completions() []fabric.Completion {
	return l.c.completions[l.c.first:l.c.count]
}

// AddLocal adds memory outside the segment that operations may read, from begin to end. The loop
// stores only the areas that were added last; an operation on any other memory is left to Go.
func (l *Loop) AddLocal(begin, end uint64) {
	for _, a := range l.c.areas {
		if a.begin == begin && a.end == end {
			return
		}
	}
	a := &l.c.areas[l.areas%len(l.c.areas)]
	a.begin, a.end = begin, end
	l.areas++
}

// Forget drops the areas of AddLocal, because some of that memory may have been unmapped.
func (l *Loop) Forget() {
	clear(l.c.areas[:])
	l.areas = 0
}
