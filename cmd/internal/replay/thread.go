package replay

import (
	"fmt"
	"iter"
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

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	cond  func() bool
	begun []sim.Time // of each call

	computes bool     // it needs its processor now,
	lost     sim.Time // and has lost this much time of it to the engine

	op    int // the present call
	ended bool
	free  bool // unlock has ended the present call, a wait whose updates have not all arrived
	end   sim.Time
}

// begin makes the coroutines of all threads. Each waits for its beginning.
func (m *machine) begin() {
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
			for _, r := range o.After {
				m.ends[r] = -1
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

// run replays all calls of the thread.
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
		t.op, t.begun[i], t.free = i, t.m.now, false
		t.call(o)
		t.m.result.called(o)
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

// lock waits until no other thread of the PE uses the network.
func (t *thread) lock() {
	for t.pe.free > t.m.now {
		t.sleep(t.pe.free - t.m.now)
	}
}

// context returns the engine of the present call. A recording does not say which context a call
// has: the calls with a context of one thread share one.
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
		if p.contexts[i] == nil {
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

// post posts an operation to the engine, like capi/core: it tries again while the engine returns
// Again, and adds the time of the call.
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
		m.result.waited(t.PE, -1, 0, m.now-start)
	}
	if st == proxy.Failed {
		m.fail(fmt.Errorf("PE %d: %s: %w", p.me, m.job.Names[t.Ops[t.op].Name], p.Err()))
	}
	p.busy(cost, t)
	t.sleep(cost)
	p.last = m.now
	p.watchHeld(m.now + 2*holdTime)
	return st
}

// finish waits until a blocking operation is complete, if post left it pending.
func (t *thread) finish(st proxy.Status, r *proxy.Request) {
	if start := t.m.now; st == proxy.Pending {
		t.until(func() bool { return r.Done != 0 })
		t.m.result.waited(t.PE, -1, 0, t.m.now-start)
	}
}

// source returns the one buffer that all replayed operations read and write.
func (t *thread) source() unsafe.Pointer { return unsafe.Pointer(&t.m.source[0]) }
