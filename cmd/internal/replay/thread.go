package replay

import (
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"libshmem/cmd/internal/replay/program"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/layout"
)

// thread is a thread of a PE. It is a coroutine: it runs until it sleeps or waits, and the machine
// resumes it.
type thread struct {
	*program.Thread
	m      *machine
	pe     *pe
	index  int // in Job.Threads
	engine *proxy.Engine
	place  int // index of its context in pe.contexts and pe.dirty

	next  func() (struct{}, bool) // runs the coroutine up to its next pause (iter.Pull)
	stop  func()                  // ends it
	yield func(struct{}) bool     // returns from the coroutine to the machine
	cond  func() bool             // what the thread waits for; nil: it does not wait
	begun []sim.Time              // when each call began

	computes bool     // it needs its processor now
	lost     sim.Time // processor time that it has lost to the engine since compute has begun

	op    int // the present call
	ended bool
	free  bool // endStuckWait has ended the present call, a wait whose updates have not all arrived
	end   sim.Time
}

// startThreads makes the coroutines of all threads, and plans their first steps: a PE begins as
// long after the first one as it did in the recording.
func (m *machine) startThreads() {
	origin := m.job.Begin[0]
	for _, b := range m.job.Begin {
		origin = min(origin, b)
	}
	for i, t := range m.job.Threads {
		p := m.pes[t.PE]
		th := &thread{Thread: t, m: m, pe: p, index: i, begun: make([]sim.Time, len(t.Ops))}
		p.threads = append(p.threads, th)
		p.contexts, p.dirty = append(p.contexts, nil), append(p.dirty, false)
		m.threads = append(m.threads, th)
		for _, o := range t.Ops {
			for _, r := range slices.Concat(o.After, o.Behind) {
				m.ends[r] = -1 // not ended yet
			}
		}
	}
	for _, p := range m.pes {
		p.dirty = append(p.dirty, false) // of the default context
	}
	m.live = len(m.threads)
	for _, th := range m.threads {
		start := sim.Time(m.job.Begin[th.PE] - origin)
		th.next, th.stop = iter.Pull(func(yield func(struct{}) bool) {
			th.yield = yield
			th.run()
		})
		m.plan(task{at: start, t: th})
	}
}

// resume runs the thread until it sleeps, waits or ends.
func (t *thread) resume() {
	if _, more := t.next(); !more && !t.ended {
		t.m.fail(fmt.Errorf("PE %d: a thread has ended too early", t.PE))
	}
	if t.ended {
		t.m.live--
		t.end = t.m.now
	}
}

// stopped is the panic that ends a coroutine whose machine has failed.
type stopped struct{}

// pause returns control to the machine until the machine resumes the thread.
func (t *thread) pause() {
	if !t.yield(struct{}{}) {
		panic(stopped{})
	}
}

// run is the coroutine of a thread: it replays the calls one after the other, with the recorded
// time of computation before each. Calls for whose end other threads wait store the time of their
// end.
func (t *thread) run() {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stopped); !ok {
				panic(r)
			}
		}
	}()
	for i := range t.Ops {
		o := &t.Ops[i]
		for _, r := range o.After {
			t.awaitCall(r)
		}
		t.compute(t.m.gap(o))
		for _, r := range o.Behind {
			t.awaitCall(r)
		}
		t.op, t.begun[i], t.free = i, t.m.now, false
		t.call(o)
		t.m.result.countUnmodelled(o)
		if r := (program.Ref{Thread: t.index, Op: i}); len(t.m.ends) > 0 {
			if _, wanted := t.m.ends[r]; wanted {
				t.m.ends[r] = t.m.now
				t.pe.wakeUp()
			}
		}
	}
	t.ended = true
}

// awaitCall waits for the end of a call of another thread of the PE.
func (t *thread) awaitCall(r program.Ref) {
	t.until(func() bool { return t.m.ends[r] >= 0 })
}

// compute lets the thread use its processor for d. The time that it loses to the engine meanwhile
// is added.
func (t *thread) compute(d sim.Time) {
	for t.lost = 0; d > 0; d, t.lost = t.lost, 0 {
		t.computes = true
		t.sleep(d)
		t.computes = false
	}
}

// sleep lets virtual time pass.
func (t *thread) sleep(d sim.Time) {
	if d > 0 {
		t.m.plan(task{at: t.m.now + d, t: t})
		t.pause()
	}
}

// until pauses the thread until cond holds. Like the library's waits it polls first, which sends
// the PE's open batch.
func (t *thread) until(cond func() bool) {
	if cond() {
		return
	}
	t.pe.sendHeld()
	t.cond = cond
	if t.pe.waiters = append(t.pe.waiters, t); t.pe.polls || t.pe.prov.Ready() {
		t.pe.planPoll() // the thread polls before the proxy would
	}
	t.pause()
}

// lock waits until the engine of the PE is idle: it has one lock, so that one thread or the proxy
// uses it at a time.
func (t *thread) lock() {
	for t.pe.free > t.m.now {
		t.sleep(t.pe.free - t.m.now)
	}
}

// context returns the engine whose context the present call uses, and makes it the thread's. A
// recording does not say which context a call has: the calls with a context of one thread share
// one. If there are no contexts left, it is that of the PE.
func (t *thread) context(o *program.Op) *proxy.Engine {
	p := t.pe
	t.place, t.engine = len(p.contexts), p.Engine
	if !o.Context {
		return t.engine
	}
	for i, other := range p.threads {
		if other != t || i+1 >= layout.ContextsOpen {
			continue
		}
		if p.contexts[i] == nil { // context 0 is the default one, and n is 0 if all share it
			n, err := p.OpenContext(uint32(i + 1))
			if err != nil {
				t.m.fail(fmt.Errorf("PE %d: %w", p.me, err))
				return t.engine
			}
			p.contexts[i] = p.Context(n)
		}
		if p.contexts[i] != p.Engine {
			t.place, t.engine = i, p.contexts[i]
		}
	}
	return t.engine
}

// burstGap is the longest pause in a burst of operations (capi/core/core.c).
const burstGap = 2 * sim.Microsecond

// post posts an operation to the engine, like capi/core, and lets the time of the call pass. While
// the engine returns Again, because it has no room, the thread waits and tries again.
func (t *thread) post(f func() proxy.Status) proxy.Status {
	p, m := t.pe, t.m
	t.lock()
	if e := t.engine; m.now-p.last > burstGap {
		e.Burst = 0
	} else {
		e.Burst++
	}
	cost, st := m.model.Call, proxy.Again
	try := func() bool {
		before := p.prov.cost
		st = f()
		cost += p.prov.cost - before
		return st != proxy.Again
	}
	if !try() {
		p.starved++
		p.planPoll()
		start := m.now
		t.until(try)
		p.starved--
		m.result.countWait(t.PE, -1, 0, m.now-start)
	}
	if st == proxy.Failed {
		m.fail(fmt.Errorf("PE %d: %s: %w", p.me, m.job.Names[t.Ops[t.op].Name], p.Err()))
	}
	p.busy(cost, t)
	t.sleep(cost)
	p.last = m.now
	p.watchHeld(m.now + 2*holdTime) // the library holds a batch for at most two pauses
	return st
}

// finish waits until a blocking operation is complete, if post has returned Pending, and counts
// that as a wait for the network.
func (t *thread) finish(st proxy.Status, r *proxy.Request) {
	if start := t.m.now; st == proxy.Pending {
		t.until(func() bool { return r.Done != 0 })
		t.m.result.countWait(t.PE, -1, 0, t.m.now-start)
	}
}

// source returns the one buffer that all replayed operations read and write.
func (t *thread) source() unsafe.Pointer { return unsafe.Pointer(&t.m.source[0]) }
