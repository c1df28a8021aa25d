package proxy

import (
	"errors"
	"sync/atomic"
	"time"
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
	// wake-up.
	idleWait = 100 * time.Millisecond
	// lingering polls follow the last completion before the thread sleeps
	// again: the next message of a conversation usually is on its way.
	lingering = 16
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
	for idle := 0; !e.stopping.Load(); {
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
			if e.tryLock() {
				// They come into the engine for completions only, and room may
				// come without one.
				e.retry()
				e.show(time.Now())
				e.unlock()
			}
			continue
		}
		if !e.tryLock() {
			sleep(contended)
			continue
		}
		n, err := e.Poll()
		armed, stuck := false, e.stuck()
		if idle++; n > 0 {
			idle = 0
		} else if idle > lingering && !stuck {
			armed = e.arm()
			e.show(time.Now())
		}
		holds := idle > lingering && !armed && e.Held > 0
		e.unlock()
		if err != nil {
			e.fatal(err)
			return
		}
		if !armed {
			switch {
			case stuck && idle > lingering:
				sleep(nap) // nothing may come that ends a Wait
			case holds:
				sleep(holdTime)
			}
			continue
		}
		came, err := e.prov.Wait(idleWait)
		if came {
			// One-sided writes leave no completion at their target, so whoever
			// sleeps looks again.
			e.wakeSleepers()
		}
		if err != nil {
			e.fatal(err)
			return
		}
	}
}

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

func (e *Engine) tryLock() bool { return atomic.SwapUint32(e.wakers.Lock, 1) == 0 }
func (e *Engine) unlock()       { atomic.StoreUint32(e.wakers.Lock, 0) }
