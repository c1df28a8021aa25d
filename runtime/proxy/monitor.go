package proxy

import (
	"sync/atomic"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// What the thread that drives an engine calls, besides Poll (loop.Monitor). The engine knows of
// that thread only whether it sleeps (armed), so that what must not wait for its next look can
// wake it.

// Next is the step after a Poll with n completions. The lock is held.
func (e *Engine) Next(n int, pace *fabric.Pace) call.Step {
	if n > 0 {
		pace.Found()
		if n == int(e.Busy&layout.BusyCopies) {
			return e.lookAgain()
		}
		return call.PollAgain
	}
	if pace.Nothing() {
		return call.PollAgain
	}
	e.Report.Publish(time.Now())
	switch {
	case !e.prov.Arm():
		return call.PollUnread
	case e.NoRoom():
		return call.SleepStuck
	case e.holds():
		return call.SleepHolding
	}
	e.armed, e.armedAt = true, e.Polls
	return call.WaitArmed
}

const (
	// looksEach is how many looks at the streams of a GPU come for one look at the clock.
	looksEach = 1 << 10
	// looksAwake is how many come in a row, some milliseconds. Whoever waits longer waits for
	// something of the program's.
	looksAwake = 1 << 13
)

// lookAgain is what the loop does that found nothing but streams that have work.
func (e *Engine) lookAgain() call.Step {
	looks := e.gpu.Looks()
	if looks%looksEach == 0 {
		e.Report.Publish(time.Now())
	}
	if looks < looksAwake {
		return call.PollAgain
	}
	return call.SleepCopying
}

// Arm is Provider.Arm, and remembers that the loop is going to sleep.
func (e *Engine) Arm() bool {
	e.armed, e.armedAt = !e.holds() && e.prov.Arm(), e.Polls
	return e.armed
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
	e.recorder.NoteOwn(layout.EventSleep)
	return time.Now().Add(d)
}

// SleepEnded records how a sleep has ended.
func (e *Engine) SleepEnded(came bool, d time.Duration, limit time.Time) {
	if came {
		e.recorder.NoteOwn(layout.EventWoken)
		return
	}
	e.recorder.NoteOwn(layout.EventLimit)
	e.watchSleep(d, limit)
}

// StayUp records that the loop does not sleep because something has no room.
func (e *Engine) StayUp() { e.recorder.NoteOwn(layout.EventNoSleep) }

// watchSleep comes behind a Wait of d that was to end at its limit, and that nothing has
// ended. Where the network has something then, and no caller has polled meanwhile, the Wait
// should have ended before: but for what came while this thread waited for a processor.
func (e *Engine) watchSleep(d time.Duration, limit time.Time) {
	if !e.caps.WaitFD || d < longSleep || time.Since(limit) > wakeup || !e.TryLock() {
		return
	}
	if e.Polls == e.armedAt && e.prov.Ready() {
		e.Report.Oversleep()
	}
	e.Unlock()
}

const (
	// longSleep is how long a Wait has to be for its end to say something: in a shorter one
	// something may well come as it ends. An idle loop asks for twice as much.
	longSleep = 125 * time.Millisecond
	// wakeup is how long a thread whose sleep is over takes to run, on a machine that has a
	// processor for it.
	wakeup = time.Millisecond
)

// NapWhilePolled leaves the network to callers that poll; false: there are none.
func (e *Engine) NapWhilePolled() bool {
	if !e.Polled() {
		return false
	}
	e.recorder.NoteOwn(layout.EventNap)
	e.Nap()
	return true
}

// Rouse ends the sleep or nap of the engine's thread, or its stay in C, from any thread.
func (e *Engine) Rouse() {
	atomic.StoreUint32(&e.Attention, 1)
	e.EndNap()
	e.prov.Wake()
}

// Retry does what found no room before, where no other thread is inside.
func (e *Engine) Retry() {
	if !e.TryLock() {
		return
	}
	e.retry()
	e.Report.Publish(time.Now())
	e.Unlock()
}

// MarkCopies marks the end of what was asked of the GPU, if there is one.
func (e *Engine) MarkCopies() {
	if e.gpu != nil {
		e.gpu.Mark()
	}
}

// Publish brings what other processes see up to date. stuck says whether something waits for
// room. The lock is held.
func (e *Engine) Publish(now time.Time, stuck bool) {
	e.Report.Stalls(now, stuck)
	e.Report.Publish(now)
}

// ClearAttention says that the thread is out of C. It comes before the looks at what Attention
// announces, for that is set first.
func (e *Engine) ClearAttention() {
	if atomic.LoadUint32(&e.Attention) != 0 {
		atomic.StoreUint32(&e.Attention, 0)
	}
}

// Fatal says that the job cannot go on.
func (e *Engine) Fatal(err error) { e.fatal(err) }
