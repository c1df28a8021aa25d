package loop

import (
	"sync/atomic"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/wait"
)

const (
	// holdTime is the pause while a batch, a message that small operations share, is held for more
	// operations; a batch is held for at most two such pauses. It is some round trips long. A
	// caller that waits for an operation polls, and so does not wait that long.
	holdTime = 50 * time.Microsecond
	// fullPause is the pause while an operation waits because the provider's queue was full, which
	// may change without a completion.
	fullPause = time.Millisecond
	// contended is the pause after another thread has held the lock. The loop also pauses for as
	// long while only streams of the GPU have work, or a ring's operation waits to be posted.
	contended = 50 * time.Microsecond
	// idleWait bounds the wait for the network, because a provider may lose a wake-up. Each end of
	// a wait wakes up to three of Go's threads. With 100 ms that took an idle PE of a virtual
	// machine 0.8 % of a processor.
	idleWait = 250 * time.Millisecond
)

// Loop serves an engine while no caller polls. Any thread may call its methods.
type Loop struct {
	e        Monitor
	waitFD   bool // a descriptor ends Monitor.Wait
	binding  binding
	consumer atomic.Pointer[Consumer]
	stopping atomic.Bool
	stopped  chan struct{}
}

// New makes the loop of an engine.
func New(e Monitor) *Loop {
	return &Loop{e: e, waitFD: e.Caps().WaitFD, stopped: make(chan struct{})}
}

// Run serves the network while no caller polls: it applies messages, sends replies and posts
// waiting operations, so that a PE whose program computes still serves the others. It runs until
// Stop.
//
// Its goroutine is not locked to a thread. The scheduler takes the processor from a goroutine that
// has run for 10 ms. An unlocked goroutine goes on at once; a locked one waits until its own thread
// has been woken, 150 us later. At 10^6 operations a second, p99.9 was 160 us locked, 5 us unlocked
// and 5 us in C (docs/decisions/0008).
func (l *Loop) Run() {
	defer close(l.stopped)
	e := l.e
	var pace fabric.Pace
	unread := false // the provider had work that may leave no completion
	for !l.stopping.Load() {
		l.binding.rebind()
		if c := l.consumer.Load(); c != nil {
			if err := l.serve(c); err != nil {
				e.Fatal(err)
				return
			}
			continue
		}
		if e.NapWhilePolled() {
			// Callers that poll call the engine only for completions, and the provider's queue may
			// empty without one.
			e.Retry()
			continue
		}
		if !e.TryLock() {
			wait.Sleep(contended)
			continue
		}
		n, err := e.Poll()
		then := e.Next(n, &pace)
		e.Unlock()
		if unread && n == 0 {
			// One-sided writes leave no completion at their target, so callers that sleep have to
			// check memory again.
			e.WakeSleepers()
		}
		unread = false
		if err == nil {
			switch then {
			case call.PollYielding:
				wait.Yield()
			case call.PollUnread:
				// After a longer pause callers are not woken: they see the bytes that the provider
				// has moved when their own sleep ends.
				rest := pace.NoteRefusal(time.Now())
				unread = rest == 0
				wait.Sleep(rest)
			case call.SleepStuck:
				e.NoteStayAwake()
				wait.Sleep(fullPause)
			case call.SleepHolding:
				wait.Sleep(holdTime)
			case call.SleepCopying:
				wait.Sleep(contended)
			case call.WaitArmed:
				unread, err = e.Wait(idleWait)
				if !l.waitFD {
					pace.NoteSleep(time.Now())
				}
			}
		}
		if err != nil {
			e.Fatal(err)
			return
		}
	}
}

// Stop ends Run and waits for its end. The caller does not hold the engine's lock.
func (l *Loop) Stop() {
	l.stopping.Store(true)
	l.e.Rouse()
	<-l.stopped
}
