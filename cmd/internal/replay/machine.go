package replay

import (
	"container/heap"
	"errors"
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/cmd/internal/replay/program"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

// machine has the PEs, each with an engine, on a simulated network in virtual time.
type machine struct {
	model   Model
	hosts   int
	job     *program.Job
	net     *sim.Network
	now     sim.Time
	pes     []*pe
	threads []*thread
	agenda  agenda
	turns   uint64                   // tasks that were planned so far
	live    int                      // threads that have not ended
	arrived []*pe                    // PEs at which something has arrived since planPolls
	ends    map[program.Ref]sim.Time // ends of calls for which another thread waits; -1: not ended yet
	sent    map[message]entry        // messages of collectives that were not awaited yet
	inboxes []int                    // by team: offset of its counts in the heap; then of the data
	source  []byte                   // what all operations send and receive
	crowded bool                     // threads and proxies share the processors
	shared  bool                     // threads share the processors with each other
	result  *Result
	err     error
}

// pe is one PE and its engine. Its processor serves the network in one thread at a time, because
// the engine has one lock: free is the time from which it is idle.
type pe struct {
	*proxy.Engine
	m        *machine
	me, host int // numbers of the PE and of its host
	prov     *counting
	heap     []byte
	words    [5]uint32 // of wake.Words
	free     sim.Time
	awake    sim.Time        // the time at which the proxy begins to sleep
	polls    bool            // a poll is on the agenda
	pollAt   sim.Time        // when
	waiters  []*thread       // threads whose conditions (thread.cond) do not hold yet
	starved  int             // of them: threads that wait for room in the engine
	dirty    []bool          // by context, the default one last: operations were begun since its last quiet
	contexts []*proxy.Engine // by thread of the PE; nil: not opened
	last     sim.Time        // end of the last call that posted an operation
	release  bool            // a check of open batches is scheduled
	threads  []*thread
	counts   [][]uint64 // by team: messages sent to each member
	seen     [][]uint64 // by team: messages awaited from each member
}

// counting adds up the processor time of the operations that the engine posts to the NIC.
type counting struct {
	fabric.Provider
	p      *pe
	m      *Model
	handed uint64   // operations that the NIC has accepted
	cost   sim.Time // the processor time of all of them
}

// count adds the cost of an operation, unless the NIC has refused it with err, and returns err.
func (c *counting) count(cost sim.Time, err error) error {
	if err == nil {
		c.handed++
		c.cost += cost
	}
	return err
}

// Send posts a message and counts its cost.
func (c *counting) Send(s *fabric.Send) error { return c.count(c.m.Message, c.Provider.Send(s)) }

// Write posts a write and counts its cost: that of the operation, and the time in which this PE's
// processor copies the bytes. It plans the time in which the target's processor copies them when
// they arrive.
func (c *counting) Write(r *fabric.RMA) error {
	err := c.count(c.m.OneSided+c.m.copyTime(r.Len), c.Provider.Write(r))
	if err == nil {
		c.p.planCopy(int(r.PE), r.Len, 1)
	}
	return err
}

// Read posts a read and counts its cost. It plans the time in which the target's processor copies
// the bytes when the request arrives, and the time in which this PE's processor does when they have
// arrived.
func (c *counting) Read(r *fabric.RMA) error {
	err := c.count(c.m.OneSided, c.Provider.Read(r))
	if err == nil {
		c.p.planCopy(int(r.PE), r.Len, 1)
		c.p.planCopy(c.p.me, r.Len, 2)
	}
	return err
}

// planCopy plans the time in which the processor of PE `to` copies bytes when they arrive; without
// RDMA (Model.Byte) processors copy. They arrive after hops times the latency: 1 for a write, 2 for
// what a read returns. Waiting at a NIC is ignored, because meanwhile the target is busy with
// earlier bytes.
func (p *pe) planCopy(to int, bytes uint64, hops sim.Time) {
	m := p.m
	d := m.model.copyTime(bytes)
	if d == 0 {
		return
	}
	at := m.now + hops*m.model.Latency
	if m.model.Bandwidth > 0 { // in bits a second
		at += sim.Time(float64(bytes) * 8e9 / float64(m.model.Bandwidth))
	}
	m.plan(task{at: at, p: m.pes[to], copy: d})
}

// task is one event of the machine: it resumes a thread, polls an engine, checks for batches
// (messages with several operations) that have been open too long, or makes a processor copy bytes.
type task struct {
	at    sim.Time
	turn  uint64  // tasks of the same time run in the order in which they were planned
	t     *thread // resume this thread; nil: the task is for p
	p     *pe     // check its batches (holds), let it copy (copy > 0), or else poll it
	holds bool
	copy  sim.Time // how long it copies
}

// agenda is a heap of tasks by their times, with the methods that container/heap needs.
type agenda []task

// Len implements heap.Interface: it returns the number of tasks.
func (a agenda) Len() int { return len(a) }

// Less orders tasks by time, and those of one time by the order in which they were planned.
func (a agenda) Less(i, k int) bool {
	return a[i].at < a[k].at || a[i].at == a[k].at && a[i].turn < a[k].turn
}

// Swap implements heap.Interface: it exchanges two tasks.
func (a agenda) Swap(i, k int) { a[i], a[k] = a[k], a[i] }

// Push implements heap.Interface: it appends a task, which heap.Push then moves to its place.
func (a *agenda) Push(x any) { *a = append(*a, x.(task)) }

// Pop implements heap.Interface: it removes and returns the last task, which heap.Pop has moved
// there because it is the earliest.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	e := (*a)[last]
	(*a)[last] = task{}
	*a = (*a)[:last]
	return e
}

// plan puts a task on the agenda, after those that were planned before for the same time.
func (m *machine) plan(e task) {
	m.turns++
	e.turn = m.turns
	heap.Push(&m.agenda, e)
}

// The heap of a PE begins with `flags` words for each thread, which the thread's updates use one
// after the other. Then come the counts of messages, and then `maxData` bytes, to which all data is
// written.
const flags, maxData = 8, 4 << 20

// flag returns the offset, in the heap of a PE, of the word that an update of a thread writes and a
// wait reads. Updates with consecutive numbers take a few words one after the other, so that a late
// wait still finds its number or a larger one.
func (m *machine) flag(thread int, seq uint64) int { return 8 * (flags*thread + int(seq%flags)) }

// inbox returns the offset, in the heap of a PE, of the count of messages from a member of a team.
func (m *machine) inbox(team, rank int) int { return m.inboxes[team] + 8*rank }

// bytes returns the offset, in the heap of a PE, to which all data is written.
func (m *machine) bytes() int { return m.inboxes[len(m.job.Teams)] }

// internal is the internal area of each PE, which the replay does not use.
const internal = 4096

// gap returns the time before a call for which its thread is busy: what it computed, and, if
// threads share processors here, also the time that it had no processor in the recording.
func (m *machine) gap(o *program.Op) sim.Time {
	if m.shared {
		return sim.Time(o.Gap + o.Stolen)
	}
	return sim.Time(o.Gap)
}

// newMachine opens the engines of all PEs on a simulated network, and connects them.
func newMachine(job *program.Job, model Model, s Site) (*machine, error) {
	hosts := s.Hosts
	model.NICs, model.Rails = max(1, s.NICs), max(1, s.NICs)
	m := &machine{
		model: model, hosts: hosts, job: job, net: sim.New(model.Model, 1 /* seed */), ends: map[program.Ref]sim.Time{},
		sent: map[message]entry{}, result: newResult(job), crowded: s.crowded(job), shared: s.shared(job),
	}
	// No Poll of an engine moves the network's time: run does, by RunTo.
	m.net.Manual(true)
	m.net.OnWork(func(end int) { m.arrived = append(m.arrived, m.pes[end]) })
	at := 8 * flags * len(job.Threads)
	for _, members := range job.Teams {
		m.inboxes = append(m.inboxes, at)
		at += 8 * len(members)
	}
	m.inboxes = append(m.inboxes, (at+4095)&^4095) // where the data begins (bytes), at a page
	largest := uint64(0)
	for _, t := range job.Threads {
		for i := range t.Ops {
			largest = max(largest, t.Ops[i].Bytes)
		}
	}
	m.source = make([]byte, min(largest, maxData)+64) // not empty, even if no call moves bytes
	ends := make([]proxy.Endpoint, job.PEs)
	for i := range job.PEs {
		p, err := m.open(i)
		if err != nil {
			m.close()
			return nil, err
		}
		ends[i] = p.Endpoint()
	}
	for _, p := range m.pes {
		if err := p.Connect(ends); err != nil {
			m.close()
			return nil, err
		}
	}
	return m, nil
}

// open makes PE i of the replay: it opens its endpoint on the simulated network and its engine, and
// allocates its memory.
func (m *machine) open(i int) (*pe, error) {
	n := m.job.PEs
	p := &pe{m: m, me: i, host: i * m.hosts / n}
	config := proxy.ProviderConfig(n)
	config.NICs = fmt.Sprintf("nic%d", i%m.model.NICs)
	inner, err := m.net.Open(p.host, config)
	if err != nil {
		return nil, err
	}
	p.prov = &counting{Provider: inner, p: p, m: &m.model}
	memory := make([]byte, internal+m.bytes()+len(m.source))
	p.heap = memory[internal:]
	segment := mem.Segment{Base: unsafe.Pointer(&memory[0]), Internal: internal, Size: uint64(len(memory))}
	w := wake.Words{Lock: &p.words[0], Pollers: &p.words[1], Napping: &p.words[2], Sleepers: &p.words[3], Wakes: &p.words[4]}
	p.Engine, err = proxy.New(p.prov, i, n, segment, w, func(err error) { m.fail(fmt.Errorf("PE %d: %w", i, err)) })
	if err != nil {
		return nil, err
	}
	// The engine drops a message that is not valid in this job. In a replay that is an error, too.
	p.Report.ReportTo(func(err error) { m.fail(fmt.Errorf("PE %d: %w", i, err)) })
	for _, members := range m.job.Teams {
		p.counts = append(p.counts, make([]uint64, len(members)))
		p.seen = append(p.seen, make([]uint64, len(members)))
	}
	m.pes = append(m.pes, p)
	return p, nil
}

// close closes the engines of all PEs.
func (m *machine) close() {
	for _, p := range m.pes {
		if p.Engine != nil {
			m.err = errors.Join(m.err, p.Engine.Close())
		}
	}
}

// fail ends the replay with an error. If there are several errors, the first one counts.
func (m *machine) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// sameHost reports whether two PEs share a host, and so use no network between them.
func (m *machine) sameHost(a, b int) bool { return m.pes[a].host == m.pes[b].host }

// run replays all programs: until every thread has ended, it does what comes first in virtual time,
// an event of the network or a task of the agenda. If there is neither, a wait was matched with a
// wrong update and is ended.
func (m *machine) run() error {
	m.startThreads()
	for m.live > 0 && m.err == nil {
		event, pending := m.net.Next()
		switch {
		case len(m.agenda) > 0 && (!pending || m.agenda[0].at < event):
			e := heap.Pop(&m.agenda).(task)
			m.now = max(m.now, e.at)
			m.net.RunTo(m.now)
			m.runTask(e)
		case pending:
			m.now = event
			m.net.RunTo(event)
		case !m.endStuckWait():
			return m.deadlockError()
		}
		m.planPolls()
	}
	return m.err
}

// runTask carries out a task, whose fields say which kind it is.
func (m *machine) runTask(e task) {
	switch {
	case e.t != nil:
		e.t.resume()
	case e.holds:
		e.p.releaseHeld()
	case e.copy > 0:
		e.p.busy(e.copy, nil)
	default:
		e.p.poll()
	}
}

// planPolls plans polls of the engines at which something has arrived since its last call.
func (m *machine) planPolls() {
	for _, p := range m.arrived {
		p.planPoll()
	}
	m.arrived = m.arrived[:0]
}

// While a thread of the PE waits it polls at once. Else the proxy polls: it has to be woken, and
// pauses when it finds a caller inside the engine, which is likely while the program makes calls
// (runtime/proxy/loop).
const proxyWakes, proxyRests = 10 * sim.Microsecond, 50 * sim.Microsecond

// planPoll plans the next poll of the engine, unless one is planned that is early enough. With a
// waiting thread that is at once; without one the proxy polls later.
func (p *pe) planPoll() {
	m := p.m
	if p.polls && p.pollAt <= max(m.now, p.free) {
		return
	}
	at := max(m.now, p.free)
	switch {
	case len(p.waiters) > 0:
	case p.polls:
		return
	case m.now-p.last < proxyRests:
		at += proxyRests
	default:
		at += proxyWakes
	}
	p.polls, p.pollAt = true, at
	m.plan(task{at: at, p: p})
}

// poll lets the engine of the PE make progress, and adds the processor time that this takes.
// Threads whose waits end by it continue afterwards.
func (p *pe) poll() {
	m := p.m
	if !p.polls || m.now < p.pollAt {
		return // another poll has replaced this one
	}
	if p.polls = false; p.free > m.now {
		p.polls, p.pollAt = true, p.free
		m.plan(task{at: p.free, p: p})
		return
	}
	// While the program makes calls, its own threads do most of the proxy's work. What arrives
	// while the proxy is awake does not wake it again.
	if len(p.waiters) == 0 && m.now-p.last >= proxyRests {
		if m.now >= p.awake {
			p.delayThreads(m.model.Wake, nil)
		}
		p.awake = m.now + m.model.Wake
	}
	before := p.prov.cost
	n, err := p.Poll()
	if err != nil {
		m.fail(fmt.Errorf("PE %d: poll: %w", p.me, err))
		return
	}
	p.busy(sim.Time(n)*m.model.Completed+p.prov.cost-before, nil)
	if p.prov.Ready() {
		p.polls, p.pollAt = true, p.free // the thread or proxy that polls continues as long as there is work
		m.plan(task{at: p.free, p: p})
	} else if n == 0 && p.starved > 0 {
		// Room becomes free when the network makes progress: the next poll is at its next event.
		if at, ok := m.net.Next(); ok {
			p.polls, p.pollAt = true, at+1
			m.plan(task{at: at + 1, p: p})
		}
	}
	p.wakeUp()
}

// busy adds a time for which a processor of the PE works on the network, on behalf of thread `by`,
// or of the proxy (nil). On a host without spare processors that takes time from the threads that
// compute.
func (p *pe) busy(d sim.Time, by *thread) {
	p.free = max(p.free, p.m.now) + d
	p.m.result.PEs[p.me].Network += d
	p.delayThreads(d, by)
}

// delayThreads takes processor time from the threads of the PE that compute, except `by`, on a host
// without spare processors.
func (p *pe) delayThreads(d sim.Time, by *thread) {
	if !p.m.crowded {
		return
	}
	for _, t := range p.threads {
		if t != by && t.computes {
			t.lost += d
		}
	}
}

// wakeUp resumes the waiting threads of the PE whose conditions hold now.
func (p *pe) wakeUp() {
	if len(p.waiters) == 0 {
		return
	}
	kept := p.waiters[:0]
	for _, t := range p.waiters {
		if t.cond() {
			t.cond = nil
			p.m.plan(task{at: max(p.m.now, p.free), t: t})
		} else {
			kept = append(kept, t)
		}
	}
	clear(p.waiters[len(kept):])
	p.waiters = kept
}

// holdTime is the time after which the library sends held batches (messages with several
// operations) if no further one was held meanwhile (runtime/proxy/loop).
const holdTime = 50 * sim.Microsecond

// releaseHeld sends the open batches of the engine if the last call that posted an operation, to
// whichever PE, has ended holdTime ago or earlier. Otherwise it plans another check for that time.
func (p *pe) releaseHeld() {
	p.release = false
	if p.Held == 0 {
		return
	}
	if due := p.last + holdTime; due > p.m.now {
		p.watchHeld(due)
		return
	}
	p.sendHeld()
}

// watchHeld plans a check for open batches at a time, if the engine has any and no check is
// planned.
func (p *pe) watchHeld(at sim.Time) {
	if !p.release && p.Held > 0 {
		p.release = true
		p.m.plan(task{at: at, p: p, holds: true})
	}
}

// sendHeld makes the engine send its open batches now, because a thread waits, or because they do
// not grow any more.
func (p *pe) sendHeld() {
	if p.Held == 0 {
		return
	}
	before := p.prov.cost
	p.Release()
	p.busy(p.prov.cost-before, nil)
}

// store writes a word of this PE's heap as another PE of the same host does: without time, and
// without the engine.
func (p *pe) store(at int, value uint64) {
	*(*uint64)(unsafe.Pointer(&p.heap[at])) = value
	p.wakeUp()
}

// word loads a word of this PE's heap.
func (p *pe) word(at int) uint64 { return *(*uint64)(unsafe.Pointer(&p.heap[at])) }

// offset returns the symmetric offset of a byte of the heap.
func (p *pe) offset(at int) libshmem.Offset { return libshmem.Offset(at) }
