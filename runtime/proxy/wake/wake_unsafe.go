// Package wake has the words, in memory shared with C, that coordinate the threads inside an
// engine, its proxy thread and the callers that sleep: the lock, the nap of the proxy thread, and
// the sleep of callers. A nap is a sleep of at most a millisecond in which the proxy thread leaves
// the network to callers that poll. The package knows no engine and no network.
package wake

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/proxy/wait"
)

// Words has the addresses of the words by which the threads of one engine wait for and wake each
// other. Callers in C use the same ones (capi/front/wait.c).
type Words struct {
	Lock     *uint32 // 1 while a thread is inside the engine
	Pollers  *uint32 // callers that poll by themselves
	Napping  *uint32 // 1 while the proxy thread naps because of them; futex word
	Sleepers *uint32 // not 0: a caller of this PE sleeps on Wakes
	Wakes    *uint32 // futex word
	Wanted   *uint32 // number of threads that wait for the lock: other threads yield to them once. nil: not counted
}

// TryLock locks the engine, and returns false if another thread holds the lock.
func (w *Words) TryLock() bool { return atomic.SwapUint32(w.Lock, 1) == 0 }

// Unlock unlocks the engine.
func (w *Words) Unlock() { atomic.StoreUint32(w.Lock, 0) }

// LockYielding locks the engine even if other threads post without a pause: each time such a thread
// finds that Wanted is not 0, it yields its processor once. It returns false if other threads have
// held the lock for all of lockTimeout: the holder may keep it for long.
func (w *Words) LockYielding() bool {
	if w.TryLock() {
		return true
	}
	if n := w.Wanted; n != nil {
		atomic.AddUint32(n, 1)
		defer atomic.AddUint32(n, ^uint32(0))
	}
	for until := time.Now().Add(lockTimeout); time.Now().Before(until); {
		wait.Yield()
		if w.TryLock() {
			return true
		}
	}
	// The holder may be a goroutine that came back from C and waits for one of Go's processors (P),
	// while callers that wait here hold all of them. So this one leaves its own: otherwise each
	// wait takes milliseconds on a loaded machine (TestLockOfOneWithoutProcessor).
	runtime.Gosched()
	return w.TryLock()
}

// lockTimeout is the time that LockYielding tries before it leaves its processor to another
// goroutine. It is far longer than an engine's poll takes, unless the thread is preempted.
const lockTimeout = 500 * time.Microsecond

// WithLock calls f with the lock held. Preconditions: the caller does not hold the lock.
func (w *Words) WithLock(f func()) { w.TryWithLock(math.MaxInt64, f) }

// lockPause is the pause of TryWithLock between two tries for the lock.
const lockPause = 50 * time.Microsecond

// TryWithLock calls f with the lock held. It returns false, without calling f, if other threads
// have held the lock for all of limit.
func (w *Words) TryWithLock(limit time.Duration, f func()) bool {
	for end := time.Now().Add(limit); !w.LockYielding(); wait.Sleep(lockPause) {
		if time.Now().After(end) {
			return false
		}
	}
	defer w.Unlock()
	f()
	return true
}

// WakeSleepers wakes the callers of this PE that sleep.
func (w *Words) WakeSleepers() {
	if atomic.LoadUint32(w.Sleepers) != 0 {
		wait.WakeSleepers(w.Sleepers, w.Wakes)
	}
}

// HasPollers reports whether callers poll the network themselves.
func (w *Words) HasPollers() bool { return atomic.LoadUint32(w.Pollers) != 0 }

const (
	// napTime is the time for which the proxy thread leaves the network to callers that poll. Each of
	// them that goes to sleep ends the nap; the proxy thread naps again if others still poll. A caller
	// that got what it waited for does not end it, because it will often wait again at once.
	napTime   = time.Millisecond
	futexWait = 0 // of futex(2); the word is shared between processes
)

// Nap puts the proxy thread to sleep for napTime while callers poll the network, or until EndNap. A
// caller that goes to sleep itself ends the nap, too (shmemi_end_nap of abi/wake.h).
func (w *Words) Nap() { w.nap(napTime) }

// nap is a Nap of at most d.
func (w *Words) nap(d time.Duration) {
	atomic.StoreUint32(w.Napping, 1)
	// A caller that stopped polling before the word was set did not see it, and does not end the
	// nap: so the check for callers follows the store.
	if w.HasPollers() {
		// An early return is no error: EndNap has cleared the word or woken the thread, or a signal
		// has arrived.
		t := unix.NsecToTimespec(int64(d))
		// The kernel sleeps only if the word is still 1.
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w.Napping)), futexWait, 1, uintptr(unsafe.Pointer(&t)), 0, 0)
	}
	atomic.StoreUint32(w.Napping, 0)
}

// EndNap ends the nap of the proxy thread, its sleep while callers poll the network. Any thread may
// call it.
func (w *Words) EndNap() { wait.EndNap(w.Napping) }
