package loop

import (
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/fastpath"
)

// Poster is the engine to which a Consumer posts operations. Limits and InnerLoop may be called
// without the engine's lock; all other methods are called with it.
type Poster interface {
	Limits() call.Limits
	// InnerLoop returns the state, lock words and provider functions for the inner loop in C. It
	// returns false if the provider has no C functions for it.
	InnerLoop() (fastpath.Config, bool)

	// Unreachable returns why no message can be sent to a PE, or nil.
	Unreachable(pe libshmem.PE) error
	// Owns reports whether n bytes at p are known to be mapped. Before it uses other addresses of
	// the program, the caller checks them in the process's memory map.
	Owns(p unsafe.Pointer, n uint64) bool

	// Part returns how many of n bytes of a put or get can move as one operation, with
	// Limits.Parts.
	Part(pe libshmem.PE, offset libshmem.Offset, local unsafe.Pointer, n uint64) uint64
	Put(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, r *call.Request) call.Status
	PutSignal(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64,
		signalOffset libshmem.Offset, signal uint64, op fabric.Op, r *call.Request) call.Status
	PutBytes(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64) call.Status
	PutBytesSignal(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64,
		signalOffset libshmem.Offset, signal uint64, op fabric.Op) call.Status
	Store(pe libshmem.PE, offset libshmem.Offset, width uint8, value uint64) call.Status
	Get(pe libshmem.PE, offset libshmem.Offset, dest unsafe.Pointer, n uint64, r *call.Request) call.Status
	AMO(pe libshmem.PE, offset libshmem.Offset, op fabric.Op, width uint8, operand, compare uint64,
		fetch unsafe.Pointer, r *call.Request) call.Status
	// Full reports, after an operation has returned call.Again, whether operations on all other PEs
	// would return it as well, because no token is free.
	Full() bool
	// PeerStatus says for a report, as the end of a sentence, which operations are under way with a
	// PE, and for how long the PE has not replied.
	PeerStatus(pe libshmem.PE) string
	// Err returns the reason for the last call.Failed, or for the failure of a request.
	Err() error

	// BurstBegins and BurstEnds enclose the posting of small operations, many of which are for one
	// PE: they may share messages. BurstEnds sends the messages, as far as order, credit and the
	// provider's queue allow.
	BurstBegins()
	BurstEnds()

	Fence() call.Status
	QuietBegin() call.Ticket
	QuietDone(t call.Ticket) call.Status

	// Stamp sets the time of the events that follow, by clock.Now; 0: each event reads the clock.
	Stamp(now uint64)
	// Completed returns how many requests have completed. A caller with many open requests checks
	// them only when this number has changed.
	Completed() uint64
	// Complete handles completions that C has read from the provider's completion queue, in their
	// order.
	Complete(comps []fabric.Completion)
}

// Monitor is the engine that a Loop drives: the functions for the proxy thread, which polls and
// sleeps.
type Monitor interface {
	// The lock of the engine, which callers in C also use. LockYielding waits for it, and has
	// threads that post without a pause yield the processor. It returns false, without the lock, if
	// others have held it for a while, since the holder may keep it for long.
	TryLock() bool
	LockYielding() bool
	Unlock()

	// With the lock held:

	// Poll makes progress. It returns how many completions it handled, plus one while a stream of
	// the GPU has work.
	Poll() (int, error)
	// Next returns what to do after a Poll that returned n.
	Next(n int, pace *fabric.Pace) call.Step
	// MarkCopies adds a mark after the work in each of the GPU's streams, by which a later poll
	// sees that the work is complete. Without a GPU it does nothing.
	MarkCopies()
	// NoRoom reports whether an operation still waits because it could not be posted.
	NoRoom() bool
	// Publish updates the status page with the state of the engine, a few times a second. stuck
	// says whether an operation waits to be posted, here or in the consumer.
	Publish(now time.Time, stuck bool)
	// Arm reports whether the thread may sleep in Wait.
	Arm() bool

	// Without the lock:

	// Retry retries operations that could not be posted, if no other thread holds the lock.
	Retry()
	// NapWhilePolled sleeps for at most a millisecond (a nap) while callers poll the network
	// themselves. It returns false at once if no caller polls.
	NapWhilePolled() bool
	// Wait sleeps until the network has a completion, or for d.
	Wait(d time.Duration) (came bool, err error)
	// SleepBegins and NoteSleepEnd surround a sleep of d by another function than Wait.
	SleepBegins(d time.Duration) (limit time.Time)
	NoteSleepEnd(came bool, d time.Duration, limit time.Time)
	// NoteStayAwake records that the thread does not sleep because an operation could not be
	// posted.
	NoteStayAwake()
	// WakeSleepers wakes the callers of this PE that sleep.
	WakeSleepers()
	// Rouse ends a sleep or nap of the thread, or its call of the inner loop in C. Any thread may
	// call it.
	Rouse()
	// ClearAttention clears the flag by which other threads make the inner loop in C return. The
	// thread calls it before it checks for the work that the flag announces.
	ClearAttention()
	Caps() fabric.Caps
	Native() fabric.Native
	// Fatal ends the job with an error.
	Fatal(err error)
}
