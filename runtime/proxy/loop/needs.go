package loop

import (
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/fastpath"
)

// Poster is the engine that a Consumer posts to. Limits and Lane may be called without the
// engine's lock; for all else it is held.
type Poster interface {
	Limits() call.Limits
	// InnerLoop returns what a loop in C needs of the engine and its provider; false: they have no C
	// functions for it.
	InnerLoop() (fastpath.Config, bool)

	// Route says why nothing can be sent to a PE; nil: it can.
	Route(pe fabric.PE) error
	// Owns reports whether n bytes at p need no look at what is mapped.
	Owns(p unsafe.Pointer, n uint64) bool

	Put(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, r *call.Request) call.Status
	PutSignal(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64,
		signalOffset int64, signal uint64, op fabric.Op, r *call.Request) call.Status
	PutBytes(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64) call.Status
	PutBytesSignal(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64,
		signalOffset int64, signal uint64, op fabric.Op) call.Status
	Store(pe fabric.PE, offset int64, width uint8, value uint64) call.Status
	Get(pe fabric.PE, offset int64, dest unsafe.Pointer, n uint64, r *call.Request) call.Status
	AMO(pe fabric.PE, offset int64, op fabric.Op, width uint8, operand, compare uint64,
		fetch unsafe.Pointer, r *call.Request) call.Status
	// Full reports, after call.Again, whether no PE has room.
	Full() bool
	// Err is the reason of the last call.Failed, and of the status of a request.
	Err() error

	Fence() call.Status
	QuietBegin() call.Ticket
	QuietDone(t call.Ticket) call.Status

	// Stamp sets the time of the events that follow, by clock.Now; 0: each has its own.
	Stamp(now uint64)
	// Completed counts the requests that are done. Whoever has many open ones looks at them
	// only when it has moved.
	Completed() uint64
	// Complete handles completions that C took from the queue, in their order.
	Complete(comps []fabric.Completion)
}

// Monitor is the engine whose network a Loop serves.
type Monitor interface {
	// The lock, which callers in C take too. LockYielding tries for a while; false: the holder may
	// keep it for long.
	TryLock() bool
	LockYielding() bool
	Unlock()

	// With the lock held:

	// Poll makes progress. It returns how many completions it handled.
	Poll() (int, error)
	// Next returns what to do after a Poll with n completions.
	Next(n int, pace *fabric.Pace) call.Step
	// MarkCopies marks the end of what was asked of the GPU, if there is one.
	MarkCopies()
	// NoRoom reports whether something still waits for room.
	NoRoom() bool
	// Publish shows other processes the state of the engine, some times a second. stuck says
	// whether something waits for room, here or at the consumer.
	Publish(now time.Time, stuck bool)
	// Arm reports whether the thread may sleep in Wait.
	Arm() bool

	// Without the lock:

	// Retry does what found no room before, where no other thread is inside.
	Retry()
	// NapWhilePolled leaves the network to callers that poll, for a millisecond at most; false:
	// there are none.
	NapWhilePolled() bool
	// Wait sleeps until something comes from the network, or for d.
	Wait(d time.Duration) (came bool, err error)
	// SleepBegins and SleepEnded surround a sleep of d by another function than Wait.
	SleepBegins(d time.Duration) (limit time.Time)
	SleepEnded(came bool, d time.Duration, limit time.Time)
	// StayUp records that the thread does not sleep because something has no room.
	StayUp()
	// WakeSleepers wakes the callers of this PE that sleep.
	WakeSleepers()
	// Rouse ends a sleep or nap of the thread, or its stay in C, from any thread.
	Rouse()
	// ClearAttention says that the thread is out of C.
	ClearAttention()
	Caps() fabric.Caps
	Native() fabric.Native
	// Fatal says that the job cannot go on.
	Fatal(err error)
}
