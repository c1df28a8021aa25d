package proxy

import (
	"sync/atomic"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/wake"
)

// The monitor serves the thread that drives an engine, besides polling: the next step after a poll,
// whether the thread may sleep, and how a sleep has ended. It owns the engine's lock and naps (package
// wake), and the check for sleeps that should have ended. It knows neither operations nor the thread.
//
// Methods whose comments do not say otherwise are called without the lock.

// Monitor is an engine as the thread that drives it sees it, besides polling (loop.Monitor). It
// knows only whether that thread sleeps (endpoint.Endpoint.Armed), so that work that must not wait
// for the thread's next look can wake it.
type Monitor struct {
	wake.Words
	ArmedAt uint32 // the count of polls when the thread went to sleep

	engine   monitorEngine
	state    *layout.State // of the first context
	net      *Network
	recorder *flight.Recorder
	report   *Report
	gpu      monitorGPU // nil: no PE of this job has GPU memory
}

// Engine is the engine of a Monitor.
type monitorEngine interface {
	// NoRoom reports whether an operation still finds no room.
	NoRoom() bool
	// Holds reports, before the thread sleeps, whether messages are held for more operations.
	Holds() bool
}

// GPU is what a Monitor needs of the engine's GPU.
type monitorGPU interface {
	// Looks returns how many looks at streams with work have found no progress. Mark puts a mark
	// behind the work of each stream.
	Looks() int
	Mark()
}

// New returns a Monitor whose threads meet by words.
func newMonitor(words wake.Words, engine monitorEngine) Monitor {
	return Monitor{Words: words, engine: engine}
}

// Open is called when the state of the first context is mapped.
func (m *Monitor) Open(state *layout.State, net *Network, r *flight.Recorder, to *Report) {
	m.state, m.net, m.recorder, m.report = state, net, r, to
}

// Watch gives the Monitor the engine's GPU.
func (m *Monitor) Watch(g monitorGPU) { m.gpu = g }

// Next returns the step after a Poll with n completions. The lock is held.
func (m *Monitor) Next(n int, pace *fabric.Pace) call.Step {
	if n > 0 {
		pace.Found()
		if n == int(m.state.Busy&layout.BusyCopies) {
			return m.lookAgain()
		}
		return call.PollAgain
	}
	if pace.Nothing() {
		return call.PollAgain
	}
	m.report.Publish(time.Now())
	switch {
	case !m.net.Provider.Arm():
		return call.PollUnread
	case m.engine.NoRoom():
		return call.SleepStuck
	case m.engine.Holds():
		return call.SleepHolding
	}
	m.net.Armed, m.ArmedAt = true, m.state.Polls
	return call.WaitArmed
}

const (
	// looksEach is how many looks at the streams of a GPU come for one look at the clock.
	looksEach = 1 << 10
	// looksAwake is how many looks come in a row, some milliseconds. A longer wait is for work of
	// the program.
	looksAwake = 1 << 13
)

// lookAgain returns the step of a loop that has found only streams with work.
func (m *Monitor) lookAgain() call.Step {
	looks := m.gpu.Looks()
	if looks%looksEach == 0 {
		m.report.Publish(time.Now())
	}
	if looks < looksAwake {
		return call.PollAgain
	}
	return call.SleepCopying
}

// Arm is Provider.Arm, and notes that the loop is going to sleep.
func (m *Monitor) Arm() bool {
	m.net.Armed, m.ArmedAt = !m.engine.Holds() && m.net.Provider.Arm(), m.state.Polls
	return m.net.Armed
}

// Wait is Provider.Wait, and counts a wait that has overslept.
func (m *Monitor) Wait(d time.Duration) (bool, error) {
	limit := m.SleepBegins(d)
	came, err := m.net.Provider.Wait(d)
	m.SleepEnded(came, d, limit)
	return came, err
}

// SleepBegins records that a sleep of d begins, and returns when it has to end.
func (m *Monitor) SleepBegins(d time.Duration) time.Time {
	m.recorder.NoteOwn(layout.EventSleep)
	return time.Now().Add(d)
}

// SleepEnded records how a sleep has ended.
func (m *Monitor) SleepEnded(came bool, d time.Duration, limit time.Time) {
	if came {
		m.recorder.NoteOwn(layout.EventWoken)
		return
	}
	m.recorder.NoteOwn(layout.EventLimit)
	m.watchSleep(d, limit)
}

// StayUp records that the loop does not sleep because an operation finds no room.
func (m *Monitor) StayUp() { m.recorder.NoteOwn(layout.EventNoSleep) }

// watchSleep follows a Wait of d that nothing ended before its limit. If the network has a
// completion then, and no caller has polled meanwhile, the Wait should have ended before. A
// completion that came while this thread waited for a processor does not count.
func (m *Monitor) watchSleep(d time.Duration, limit time.Time) {
	if !m.net.Caps.WaitFD || d < LongSleep || time.Since(limit) > Wakeup || !m.TryLock() {
		return
	}
	if m.state.Polls == m.ArmedAt && m.net.Provider.Ready() {
		m.report.Oversleep()
	}
	m.Unlock()
}

const (
	// LongSleep is how long a Wait has to be for this check: in a shorter one a completion may well
	// come just as it ends. An idle loop asks for twice as much.
	LongSleep = 125 * time.Millisecond
	// Wakeup is how long a thread takes to run after its sleep is over, on a machine with a free
	// processor.
	Wakeup = time.Millisecond
)

// NapWhilePolled leaves the network to callers that poll; false: there are none.
func (m *Monitor) NapWhilePolled() bool {
	if !m.Polled() {
		return false
	}
	m.recorder.NoteOwn(layout.EventNap)
	m.Nap()
	return true
}

// Rouse ends the sleep or nap of the engine's thread, or its stay in C. Any thread may call it.
func (m *Monitor) Rouse() {
	atomic.StoreUint32(&m.state.Attention, 1)
	m.EndNap()
	m.net.Provider.Wake()
}

// MarkCopies puts marks behind the work of the GPU, if there is one.
func (m *Monitor) MarkCopies() {
	if m.gpu != nil {
		m.gpu.Mark()
	}
}

// Publish updates what other processes see. stuck says whether an operation waits for room. The
// lock is held.
func (m *Monitor) Publish(now time.Time, stuck bool) {
	m.report.Stalls(now, stuck)
	m.report.Publish(now)
}

// ClearAttention says that the thread has left C. It comes before the thread looks for the work
// that Attention announces, because Attention is set after that work.
func (m *Monitor) ClearAttention() {
	if atomic.LoadUint32(&m.state.Attention) != 0 {
		atomic.StoreUint32(&m.state.Attention, 0)
	}
}

// Fatal says that the job cannot go on.
func (m *Monitor) Fatal(err error) { m.net.Fatal(err) }
