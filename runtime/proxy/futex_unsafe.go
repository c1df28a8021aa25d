package proxy

import (
	"libshmem/runtime/proxy/layout"
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of futex(2). The words are shared between processes.
const (
	futexWait = 0
	futexWake = 1
)

// WakeSleepers wakes the callers of this PE that sleep, as shmemi_wake_sleepers of
// abi/wake.h does.
func (e *Engine) WakeSleepers() {
	if atomic.LoadUint32(e.wakers.Sleepers) == 0 {
		return
	}
	atomic.StoreUint32(e.wakers.Sleepers, 0)
	atomic.AddUint32(e.wakers.Wakes, 1)
	// The only errors are a bad address or alignment.
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(e.wakers.Wakes)), futexWake, math.MaxInt32, 0, 0, 0)
}

// napTime is how long the proxy leaves the network to callers that poll. The
// last of them to go to sleep ends it; one that got what it waited for does
// not, because it will often wait again at once.
const napTime = time.Millisecond

// nap sleeps for napTime, or until a caller that goes to sleep clears the word:
// the counterpart of nap in capi/front/wait.c.
func (e *Engine) nap() {
	e.noteOwn(layout.EventNap)
	atomic.StoreUint32(e.wakers.Napping, 1)
	// A caller that stopped polling before it could see the word.
	if atomic.LoadUint32(e.wakers.Pollers) > 0 {
		t := unix.NsecToTimespec(int64(napTime))
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(e.wakers.Napping)), futexWait, 1, uintptr(unsafe.Pointer(&t)), 0, 0)
	}
	atomic.StoreUint32(e.wakers.Napping, 0)
}

// Napping is the word that the engine's thread sleeps on while callers poll.
func (e *Engine) Napping() *uint32 { return e.wakers.Napping }

// Rouse ends the sleep of the engine's thread, or its stay in C, from any
// thread.
func (e *Engine) Rouse() {
	atomic.StoreUint32(&e.Attention, 1)
	atomic.StoreUint32(e.wakers.Napping, 0)
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(e.wakers.Napping)), futexWake, 1, 0, 0, 0)
	e.prov.Wake()
}
