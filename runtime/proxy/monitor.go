package proxy

import (
	"sync/atomic"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// The proxy thread, which runs loop.Loop, calls these methods of its engine beside Poll (interface
// loop.Monitor). They return what to do after a poll and whether the thread may sleep, and record
// how a sleep has ended. Of the thread's state the engine stores only whether it sleeps
// (network.Armed), so that other threads wake it for work that must not wait for its next poll. The
// thread calls the methods of the first context, which handles the completions of all contexts.
//
// Methods whose comments do not say otherwise are called without the lock.

// Next returns the step after a Poll that returned n: the number of completions, plus one while GPU
// streams have work. It is called with the lock held.
func (e *Engine) Next(n int, pace *fabric.Pace) call.Step {
	if n > 0 {
		pace.NoteWork()
		if n == int(e.first.State.Busy&layout.BusyStreams) {
			return e.pollStreamsAgain()
		}
		return call.PollAgain
	}
	if pace.Nothing() {
		return call.PollAgain
	}
	e.Report.Publish(time.Now())
	switch {
	case !e.ops.Net.Provider.Arm():
		return call.PollUnread
	case e.first.NoRoom():
		return call.SleepStuck
	case e.first.holdOrSendBatches():
		return call.SleepHolding
	}
	e.ops.Net.Armed, e.armedAt = true, e.first.State.Polls
	return call.WaitArmed
}

const (
	// pollsPerReport is the number of polls that find only GPU streams with work between two
	// updates of the status page: an update reads the clock.
	pollsPerReport = 1 << 10
	// pollsBeforeSleep is the number of such polls in a row, some milliseconds, after which the
	// loop sleeps between polls: the streams then probably wait for kernels of the program.
	pollsBeforeSleep = 1 << 13
)

// pollStreamsAgain returns the step after a poll that found only GPU streams with work: to poll
// again or, after some milliseconds of such polls, to sleep before the next one.
func (e *Engine) pollStreamsAgain() call.Step {
	polls := e.gpu.CountPoll()
	if polls%pollsPerReport == 0 {
		e.Report.Publish(time.Now())
	}
	if polls < pollsBeforeSleep {
		return call.PollAgain
	}
	return call.SleepCopying
}

// Arm reports whether the loop may sleep in Wait until the network has something (Provider.Arm). It
// may not while a batch, a message that small operations share, is held for more of them. If Arm
// returns true, other threads wake the loop for new work.
func (e *Engine) Arm() bool {
	e.ops.Net.Armed, e.armedAt = !e.first.holdOrSendBatches() && e.ops.Net.Provider.Arm(), e.first.State.Polls
	return e.ops.Net.Armed
}

// Wait sleeps in Provider.Wait for at most d, and counts a sleep from which the network should have
// woken the thread earlier (watchSleep). It returns true if the network has ended the sleep.
func (e *Engine) Wait(d time.Duration) (bool, error) {
	limit := e.SleepBegins(d)
	came, err := e.ops.Net.Provider.Wait(d)
	e.NoteSleepEnd(came, d, limit)
	return came, err
}

// SleepBegins records that a sleep of d starts, and returns the time at which it has to end.
func (e *Engine) SleepBegins(d time.Duration) time.Time {
	e.first.ops.Recorder.NoteOwn(layout.EventSleep)
	return time.Now().Add(d)
}

// NoteSleepEnd records how a sleep of the proxy thread has ended: woken by the network (came), or
// after its limit. In that case watchSleep compares its length d with the limit.
func (e *Engine) NoteSleepEnd(came bool, d time.Duration, limit time.Time) {
	if came {
		e.first.ops.Recorder.NoteOwn(layout.EventWoken)
		return
	}
	e.first.ops.Recorder.NoteOwn(layout.EventLimit)
	e.watchSleep(d, limit)
}

// NoteStayAwake records that the loop does not sleep because an operation could not be posted.
func (e *Engine) NoteStayAwake() { e.first.ops.Recorder.NoteOwn(layout.EventNoSleep) }

// watchSleep is called after a Wait of d that nothing ended before its limit, and counts the Wait
// as too long if the network has a completion and no caller has polled meanwhile: the Wait should
// have ended before. A completion that arrived while this thread waited for a processor does not
// count.
func (e *Engine) watchSleep(d time.Duration, limit time.Time) {
	if !e.ops.Net.Caps.WaitFD || d < longSleep || time.Since(limit) > wakeupTime || !e.TryLock() {
		return
	}
	if e.first.State.Polls == e.armedAt && e.ops.Net.Provider.Ready() {
		e.Report.Oversleep()
	}
	e.Unlock()
}

const (
	// longSleep is the shortest Wait that watchSleep checks: at the end of a shorter one a
	// completion may well just have arrived. An idle loop waits for twice as long.
	longSleep = 125 * time.Millisecond
	// wakeupTime is the time that a thread takes to run after its sleep is over, on a machine with
	// a free processor.
	wakeupTime = time.Millisecond
)

// NapWhilePolled sleeps for at most a millisecond (a nap) while callers poll the network
// themselves. It returns false at once if no caller polls.
func (e *Engine) NapWhilePolled() bool {
	if !e.HasPollers() {
		return false
	}
	e.first.ops.Recorder.NoteOwn(layout.EventNap)
	e.Nap()
	return true
}

// Rouse ends the sleep or nap of the proxy thread, or its call of the inner loop in C. Any thread
// may call it.
func (e *Engine) Rouse() {
	atomic.StoreUint32(&e.first.State.Attention, 1)
	e.EndNap()
	e.ops.Net.Provider.Wake()
}

// MarkCopies adds a mark after the work in each of the GPU's streams, by which a later poll sees
// that the work is complete. Without a GPU it does nothing.
func (e *Engine) MarkCopies() {
	if e.gpu != nil {
		e.gpu.Mark()
	}
}

// Publish updates the status page, which other processes read. stuck: an operation could not be
// posted and waits. It is called with the lock held.
func (e *Engine) Publish(now time.Time, stuck bool) {
	e.Report.CountStall(now, stuck)
	e.Report.Publish(now)
}

// ClearAttention resets Attention, by which other threads make the inner loop return to Go. The
// proxy thread calls it before it checks for the work that Attention announces, because other
// threads set Attention after they have stored that work.
func (e *Engine) ClearAttention() {
	if atomic.LoadUint32(&e.first.State.Attention) != 0 {
		atomic.StoreUint32(&e.first.State.Attention, 0)
	}
}

// Fatal ends the job with an error.
func (e *Engine) Fatal(err error) { e.ops.Net.Fatal(err) }
