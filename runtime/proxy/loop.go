package proxy

import (
	"errors"
	"sync/atomic"
	"time"

	"libshmem/fabric"
)

const (
	// holdTime is how long a batch waits for more of a burst, at most twice. It is
	// some round trips, and the caller who waits for one does not wait so long.
	holdTime = 50 * time.Microsecond
	// nap is how long the proxy leaves the network to callers that poll. The
	// last of them to go to sleep ends it; one that got what it waited for does
	// not, because it will often wait again at once.
	nap = time.Millisecond
	// contended is the pause after another thread was found inside the engine.
	contended = 50 * time.Microsecond
	// idleWait bounds the wait for the network, against providers that lose a
	// wake-up. Each end of one wakes up to three threads of Go's, which took an idle PE of a
	// virtual machine 0.8 % of a processor with 100 ms.
	idleWait = 250 * time.Millisecond
)

// Loop serves the network while no caller polls: it applies messages, answers
// and keeps operations moving, so that a PE that is busy in its own code still
// serves the others. It runs until Stop.
//
// Its goroutine is not locked to a thread. The scheduler takes the processor
// from a goroutine that has run for 10 ms; one that is free goes on at once, one
// that is locked waits until its own thread has been woken, 150 us later. Of
// 10^6 operations a second, p99.9 was 160 us locked, 5 us free and 5 us in C
// (docs/decisions/0008).
func (e *Engine) Loop() {
	defer close(e.stopped)
	var pace fabric.Pace
	unread := false // there was something to move without a completion
	for !e.stopping.Load() {
		e.binding.keep()
		if c := e.consumer.Load(); c != nil {
			if err := e.serve(c); err != nil {
				e.fatal(err)
				return
			}
			continue
		}
		if atomic.LoadUint32(e.wakers.Pollers) > 0 {
			e.nap()
			if e.TryLock() {
				// They come into the engine for completions only, and room may
				// come without one.
				e.retry()
				e.show(time.Now())
				e.Unlock()
			}
			continue
		}
		if !e.TryLock() {
			sleep(contended)
			continue
		}
		n, err := e.Poll()
		then := e.Next(n, &pace)
		e.Unlock()
		if unread && n == 0 {
			// One-sided writes leave no completion at their target, so whoever
			// sleeps looks again.
			e.WakeSleepers()
		}
		unread = false
		if err == nil {
			switch then {
			case pollUnread:
				// What a provider with rests has moved is seen when a sleep of the
				// caller's ends.
				rest := pace.Refused(time.Now())
				unread = rest == 0
				sleep(rest)
			case sleepStuck:
				e.noteOwn(evNoSleep)
				sleep(nap)
			case sleepHolding:
				sleep(holdTime)
			case sleepCopying:
				sleep(contended)
			case waitArmed:
				unread, err = e.Wait(idleWait)
				if !e.caps.WaitFD {
					pace.Slept(time.Now())
				}
			}
		}
		if err != nil {
			e.fatal(err)
			return
		}
	}
}

// step is what the loop does after a Poll.
type step int

const (
	pollAgain    step = iota
	pollUnread        // the provider has something that leaves no completion
	sleepStuck        // something has no room, and nothing may come that ends a Wait
	sleepHolding      // a batch waits for the rest of its burst
	sleepCopying      // streams have not carried out anything for long
	waitArmed
)

// Next is the step after a Poll with n completions. The lock is held.
func (e *Engine) Next(n int, pace *fabric.Pace) step {
	if n > 0 {
		pace.Found()
		if n == int(e.Busy&busyCopies) {
			return e.lookAgain()
		}
		return pollAgain
	}
	if pace.Nothing() {
		return pollAgain
	}
	e.show(time.Now())
	switch {
	case !e.prov.Arm():
		return pollUnread
	case e.stuck():
		return sleepStuck
	case e.holds():
		return sleepHolding
	}
	e.armed, e.armedAt = true, e.Polls
	return waitArmed
}

// Wait is Provider.Wait, and counts one that has overslept.
func (e *Engine) Wait(d time.Duration) (bool, error) {
	limit := e.SleepBegins(d)
	came, err := e.prov.Wait(d)
	e.SleepEnded(came, d, limit)
	return came, err
}

// SleepBegins records that a sleep of d begins, and returns when it is to end.
func (e *Engine) SleepBegins(d time.Duration) time.Time {
	e.noteOwn(evSleep)
	return time.Now().Add(d)
}

// SleepEnded records how a sleep has ended.
func (e *Engine) SleepEnded(came bool, d time.Duration, limit time.Time) {
	if came {
		e.noteOwn(evWoken)
		return
	}
	e.noteOwn(evLimit)
	e.watchSleep(d, limit)
}

// watchSleep comes behind a Wait of d that was to end at its limit, and that nothing has
// ended. Where the network has something then, and no caller has polled meanwhile, the Wait
// should have ended before: but for what came while this thread waited for a processor.
func (e *Engine) watchSleep(d time.Duration, limit time.Time) {
	if !e.caps.WaitFD || d < longSleep || time.Since(limit) > wakeup || !e.TryLock() {
		return
	}
	if e.Polls == e.armedAt && e.prov.Ready() {
		e.shown.overslept++
	}
	e.Unlock()
}

const (
	// longSleep is how long a Wait has to be for its end to say something: in a shorter one
	// something may well come as it ends.
	longSleep = idleWait / 2
	// wakeup is how long a thread whose sleep is over takes to run, on a machine that has a
	// processor for it.
	wakeup = time.Millisecond
)

// Stop ends Loop and waits for it. The lock must not be held.
func (e *Engine) Stop() {
	e.stopping.Store(true)
	atomic.StoreUint32(&e.Attention, 1)
	e.prov.Wake()
	<-e.stopped
}

// Close releases the network. Loop has been stopped.
func (e *Engine) Close() error {
	err := errors.Join(e.closeStage(), e.locals.Close(), e.prov.Unregister(e.region))
	if err2 := e.prov.Unregister(e.bufs); err == nil {
		err = err2
	}
	if err2 := e.prov.Close(); err == nil {
		err = err2
	}
	e.freeBuffers()
	e.closeStreams()
	e.closeExpress()
	return err
}

func (e *Engine) TryLock() bool { return atomic.SwapUint32(e.wakers.Lock, 1) == 0 }
func (e *Engine) Unlock()       { atomic.StoreUint32(e.wakers.Lock, 0) }
