// Package wait keeps an idle proxy in C while it polls the rings of kernels
// from time to time. A goroutine that sleeps and wakes every 500 us keeps the
// scheduler's monitor awake, which together take 6 % of a processor; the same in
// C takes less than 1 %, with one crossing for all of it.
//
// It knows words and laps, not rings, and a function that waits, not a provider. Sleep and Yield
// are the short pauses of threads that wait in Go. WakeSleepers and EndNap call abi/wake.h, which
// wakes threads for C and Go.
package wait

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror -I${SRCDIR}/../../../abi
#include <stdlib.h>
#include "wake.h"
#include "wait.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// Sleeper lets one proxy thread sleep until a ring has work. Its memory is C's.
type Sleeper struct {
	c     *C.struct_shmemi_ring_sleep
	words []*C.uint64_t
	laps  []C.uint64_t
}

// New makes a Sleeper for at most n rings. wait and self are a provider's fabric.Native.Wait and
// Self. If wait is nil, Sleep only sleeps between its polls.
func New(n int, wait, self unsafe.Pointer) *Sleeper {
	n = max(n, 1)
	words := C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(uintptr(0))))
	laps := C.calloc(C.size_t(n), 8)
	c := (*C.struct_shmemi_ring_sleep)(C.calloc(1, C.sizeof_struct_shmemi_ring_sleep))
	c.words, c.laps = (**C.uint64_t)(words), (*C.uint64_t)(laps)
	c.wait, c.self = (*[0]byte)(wait), self
	return &Sleeper{c: c, words: unsafe.Slice((**C.uint64_t)(words), n), laps: unsafe.Slice((*C.uint64_t)(laps), n)}
}

// Add adds the word of a ring that a producer stores next, in memory that Go does not manage, and
// the lap bit that it has when there is work. All words are added again before each Sleep.
func (l *Sleeper) Add(word *uint64, lap uint64) {
	i := l.c.count
	l.words[i], l.laps[i] = (*C.uint64_t)(unsafe.Pointer(word)), C.uint64_t(lap)
	l.c.count++
}

// Sleep polls the added words every step, for at most total, and then removes them. A thread that
// wants to end the sleep earlier wakes the provider. arrived: there may be work. failure is the
// provider's negative error, or 0.
func (l *Sleeper) Sleep(step, total time.Duration) (arrived bool, failure int) {
	l.c.step, l.c.total = C.int64_t(step), C.int64_t(total)
	r := C.shmemi_ring_sleep(l.c)
	l.c.count = 0
	return r > 0, min(int(r), 0)
}

// Close frees the memory.
func (l *Sleeper) Close() {
	C.free(unsafe.Pointer(l.c.words))
	C.free(unsafe.Pointer(l.c.laps))
	C.free(unsafe.Pointer(l.c))
}

// WakeSleepers wakes the threads, of any process, that sleep on the futex word wakes, if the word
// sleepers is not 0. Both words are outside the memory that Go moves.
func WakeSleepers(sleepers, wakes *uint32) {
	C.shmemi_wake_sleepers((*C.uint32_t)(sleepers), (*C.uint32_t)(wakes))
}

// EndNap clears the futex word of a proxy thread that naps (sleeps while callers poll), and wakes
// the thread.
func EndNap(napping *uint32) { C.shmemi_end_nap((*C.uint32_t)(napping)) }
