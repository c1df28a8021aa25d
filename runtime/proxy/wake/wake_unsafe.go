// Package wake has the words, in memory shared with C, that coordinate the threads inside an
// engine, the thread that drives it and the callers that sleep: the lock, the nap of the driving
// thread, and the sleep of callers. It knows no engine and no network.
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
	Napping  *uint32 // 1 while the driving thread naps because of them; futex word
	Sleepers *uint32 // not 0: a caller of this PE sleeps on Wakes
	Wakes    *uint32 // futex word
	Wanted   *uint32 // threads that found the lock taken; newcomers give way to them. nil: no thread counts
}

// TryLock takes the lock, and returns false if another thread holds it.
func (w *Words) TryLock() bool { return atomic.SwapUint32(w.Lock, 1) == 0 }

// Unlock gives the lock back.
func (w *Words) Unlock() { atomic.StoreUint32(w.Lock, 0) }

// LockYielding takes the lock among callers that post without a pause: each time such a caller
// finds that another thread wants the lock, it gives way once. It returns false when the lock was
// taken for all of patience: its holder may keep it for long.
func (w *Words) LockYielding() bool {
	if w.TryLock() {
		return true
	}
	if n := w.Wanted; n != nil {
		atomic.AddUint32(n, 1)
		defer atomic.AddUint32(n, ^uint32(0))
	}
	for until := time.Now().Add(patience); time.Now().Before(until); {
		wait.Yield()
		if w.TryLock() {
			return true
		}
	}
	// The holder may be a goroutine that came back from C and waits for one of Go's processors,
	// while callers that do not leave theirs wait here: on a loaded machine each pause takes
	// milliseconds (TestLockOfOneWithoutProcessor).
	runtime.Gosched()
	return w.TryLock()
}

// patience is the time that LockYielding tries before it leaves its processor to another goroutine.
// It is far longer than an uninterrupted turn of an engine.
const patience = 500 * time.Microsecond

// Locked calls f with the lock held. The caller does not hold it.
func (w *Words) Locked(f func()) { w.TryLocked(math.MaxInt64, f) }

// lockPause is the pause of TryLocked after it found another thread inside the engine.
const lockPause = 50 * time.Microsecond

// TryLocked is Locked for a caller that cannot wait for longer than limit. It returns false,
// without calling f, if other threads have held the lock all that time.
func (w *Words) TryLocked(limit time.Duration, f func()) bool {
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

// Polled reports whether callers poll the network themselves.
func (w *Words) Polled() bool { return atomic.LoadUint32(w.Pollers) != 0 }

const (
	// napTime is the time that the driving thread leaves the network to callers that poll. The last
	// of them to go to sleep ends the nap. A caller that got what it waited for does not end it,
	// because it will often wait again at once.
	napTime   = time.Millisecond
	futexWait = 0 // of futex(2); the word is shared between processes
)

// Nap sleeps for napTime, or until EndNap. A caller that goes to sleep ends it too (shmemi_end_nap
// of abi/wake.h).
func (w *Words) Nap() {
	atomic.StoreUint32(w.Napping, 1)
	// A caller may have stopped polling before it could see the word.
	if w.Polled() {
		t := unix.NsecToTimespec(int64(napTime))
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w.Napping)), futexWait, 1, uintptr(unsafe.Pointer(&t)), 0, 0)
	}
	atomic.StoreUint32(w.Napping, 0)
}

// EndNap ends the nap of the driving thread, from any thread.
func (w *Words) EndNap() { wait.EndNap(w.Napping) }
