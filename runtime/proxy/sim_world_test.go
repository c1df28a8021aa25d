package proxy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
	"libshmem/runtime/sequence"
)

// simInternal is the internal area of each PE, of which these programs use the notification
// counters.
const (
	simInternal      = 4096
	simCounterOffset = -2048
	counters         = 64
)

// world is PEs with an engine each on a simulated network, all driven by one goroutine. The seed
// determines everything that it does.
type world struct {
	t      testing.TB
	net    *sim.Network
	seed   uint64
	rng    *rand.Rand
	pes    []*proc
	dirty  []bool // memory of the PE may have changed since the last check
	ended  bool   // after a failure
	others int    // contexts of each PE beside the default one, on which programs run
	sleeps bool   // a PE with nothing to do is not polled until the network wakes it
	slept  uint64 // how often one went to sleep
	idle   int    // turns in which nothing happened
}

// watch wraps the endpoint of each PE, for tests that look at its calls; nil: no wrapping.
var watch func(fabric.Provider) fabric.Provider

// tamper changes what PEs send, for tests that have to notice; nil: nothing is changed.
var tamper func(frame []byte)

// windows are the windows that PEs announce, right or not; 0: the true one.
var windows uint32

// stays makes writes wait for room in such a window.
var stays bool

// stripe is the size above which an operation is spread over the NICs of a host.
var stripe uint64 = 2048

// limits makes the NICs of hosts grant smaller queues.
var limits map[int]int

type tampered struct{ fabric.Provider }

func (p *tampered) Send(op *fabric.Send) error {
	tamper(unsafe.Slice((*byte)(op.Buf), op.Len))
	return p.Provider.Send(op)
}

// proc is one PE.
type proc struct {
	*Engine
	thread *loop.Loop
	me     int
	prov   fabric.Provider
	memory []byte // the internal area, then the heap
	heap   []byte
	stage  *gpustage.Stage // nil: the heap is in main memory
	words  [6]uint32
	dead   bool
	asleep bool
	pace   fabric.Pace
	addr   []byte
}

// on returns the view of a PE from one of its contexts.
func (p *proc) on(w *world, context int) *proc {
	if context == 0 {
		return p
	}
	n, err := p.OpenContext(uint32(context))
	if err != nil {
		w.fail("PE %d: context %d: %v", p.me, context, err)
	}
	q := *p
	q.Engine = p.Context(n)
	return &q
}

// memories keeps memory for the next world: mapping and clearing it anew would take longer than a
// short program.
type memories struct {
	free [][]byte
}

func (m *memories) take(n int) []byte {
	for i, b := range m.free {
		if len(b) == n {
			m.free = append(m.free[:i], m.free[i+1:]...)
			return b
		}
	}
	return make([]byte, n)
}

func (m *memories) give(b []byte) {
	clear(b)
	m.free = append(m.free, b)
}

// newWorld opens n PEs with heaps of that many bytes.
func newWorld(t testing.TB, model sim.Model, seed uint64, n, heap int, from *memories) *world {
	t.Helper()
	return openWorld(t, model, seed, n, heap, 0, from)
}

// newGPUWorld opens two PEs with heaps in the memory of GPUs, which NICs reach part by part.
func newGPUWorld(t testing.TB, model sim.Model, seed uint64, heap, part int, from *memories) *world {
	t.Helper()
	return openWorld(t, model, seed, 2, heap, part, from)
}

// openWorld: the heaps are in main memory if part is 0.
func openWorld(t testing.TB, model sim.Model, seed uint64, n, heap, part int, from *memories) *world {
	t.Helper()
	w := &world{
		t: t, net: sim.New(model, seed), seed: seed, rng: rand.New(rand.NewPCG(seed, 3)), dirty: make([]bool, n),
	}
	// Sockets are more frequent: there a wake-up is lost more easily.
	sleep := rand.New(rand.NewPCG(seed, 15)).IntN(6)
	w.sleeps = sleep < 2 || sleep < 4 && model.PollBytes > 0
	w.net.OnChange(func(host int) { w.dirty[host] = true })
	for host, entries := range limits {
		w.net.LimitQueues(host, entries)
	}
	ends := make([]Endpoint, n)
	for i := range n {
		prov, err := w.open(i, n, heap)
		if err != nil {
			t.Fatal(err)
		}
		if watch != nil {
			prov = watch(prov)
		}
		if tamper != nil {
			prov = &tampered{prov}
		}
		p := &proc{me: i, prov: prov, memory: from.take(simInternal + heap)}
		p.heap = p.memory[simInternal:]
		segment := mem.Segment{Base: unsafe.Pointer(&p.memory[0]), Internal: simInternal, Size: uint64(len(p.memory))}
		if part > 0 {
			p.heap = make([]byte, heap) // apart from the internal area
			segment.Heap = unsafe.Pointer(&p.heap[0])
		}
		p.Engine, err = New(prov, i, n, segment,
			wake.Words{Lock: &p.words[0], Pollers: &p.words[1], Napping: &p.words[2], Sleepers: &p.words[3], Wakes: &p.words[4]},
			func(err error) { w.fail("PE %d: fatal: %v", i, err) })
		if err != nil {
			t.Fatal(err)
		}
		p.CountNotifications(simCounterOffset, counters)
		p.thread = loop.New(p.Engine)
		p.Report.ReportTo(func(err error) { w.fail("PE %d: %v", i, err) })
		if seed%5 == 4 && !prov.Caps().Repeats { // a repeated message must not be late by as many as there are numbers
			if p.rma.Numbers.Space = (sequence.Space{Bits: 3, Window: 4}); seed%2 == 0 {
				p.rma.Numbers.Small = 0
			}
		}
		if windows > 0 {
			if p.rma.Numbers.Space = (sequence.Space{Bits: 16, Window: windows}); stays {
				p.rma.Numbers.Small = 0
			}
		}
		if seed%3 == 2 {
			p.maxSequences = 1
		}
		if part > 0 {
			p.stage = w.useGPU(p, &gpuMemory{memory: p.heap}, part)
		}
		w.pes = append(w.pes, p)
		ends[i] = p.Endpoint()
		p.addr = ends[i].Addr
	}
	for _, p := range w.pes {
		if err := p.Connect(ends); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range w.pes {
		if p.stage != nil {
			p.stage.Connect([]gpustage.Endpoint{w.pes[0].stage.Endpoint(), w.pes[1].stage.Endpoint()})
		}
	}
	return w
}

// sockets lets the ends of a third of the networks read from sockets, where a PE that does not poll
// leaves bytes unread.
func sockets(m sim.Model, seed uint64) sim.Model {
	rng := rand.New(rand.NewPCG(seed, 14))
	if *simModel == "" && m.PollBytes == 0 && rng.IntN(3) == 0 {
		m = sim.Unread(m, []int{1, 4096, 1 << 16}[rng.IntN(3)])
	}
	return m
}

// open opens the network for a PE, with all of its NICs if the model has several. The seed
// determines the policy that spreads operations over them.
func (w *world) open(host, n, heap int) (fabric.Provider, error) {
	c := ProviderConfig(n)
	nics := w.net.Model().NICs
	if nics == 1 {
		return w.net.Open(host, c)
	}
	var ends []fabric.Provider
	for i := range nics {
		inner := rail.Inner(c)
		inner.NICs = fmt.Sprintf("nic%d", i)
		e, err := w.net.Open(host, inner)
		if err != nil {
			return nil, err
		}
		ends = append(ends, e)
	}
	r := rail.Config{Config: c}
	if heap < 1<<20 { // random programs move no more than a few packets at a time
		r.Policy, r.Stripe = rail.Policy(w.seed%3), stripe
	}
	return rail.New(ends, r)
}

// stands is the text of fail for a standstill.
const stands = "PEs sleep, and nothing is under way that would wake one"

// fail reports a violation once, with the way to repeat it.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	if w.ended {
		return
	}
	w.ended = true
	w.t.Errorf("%s\nagain: -sim.model=%s -sim.seed=%d\n%s", fmt.Sprintf(format, args...), w.net.Model(), w.seed, w.net.Tail(60))
}

// poll lets one PE make progress, or time pass if the PE sleeps.
func (w *world) poll(p *proc) {
	if p.dead {
		return
	}
	if p.asleep && !w.net.Woken(p.me) && !p.foundNoRoom() {
		if w.idle++; w.net.Step() {
			w.idle = 0
		}
		return
	}
	before := w.net.Trace()
	n, err := p.Poll()
	if w.idle++; n > 0 || w.net.Trace() != before {
		w.idle = 0
	}
	if err != nil {
		w.fail("PE %d: poll: %v", p.me, err)
	}
	if n > 0 {
		w.dirty[p.me] = true // messages are applied by the engine, not by the network
	}
	if w.sleeps {
		// As Loop does; in virtual time, so that a seed stays one run.
		if p.asleep = p.sleeps(n, &p.pace, time.Unix(0, int64(w.net.Now()))); p.asleep {
			w.slept++
		}
	}
}

// standstill reports whether PEs sleep while nothing is under way that may wake one, and the others
// do nothing. It takes some turns to be sure: each PE has to be polled, and may have been refused
// by chance.
func (w *world) standstill() bool { return w.sleeps && w.idle > 1000+200*len(w.pes) }

// until polls all PEs in random turns until ok holds.
func (w *world) until(what string, ok func() bool) {
	w.idle = 0
	for range 2_000_000 {
		if w.ended || ok() {
			return
		}
		if w.standstill() {
			w.fail("%s: "+stands, what)
			return
		}
		w.poll(w.pes[w.rng.IntN(len(w.pes))])
	}
	w.fail("%s: not so after many polls", what)
}

// quiet waits for all that a PE has posted.
func (w *world) quiet(p *proc) {
	ticket := p.QuietBegin()
	w.until("quiet", func() bool {
		switch p.QuietDone(ticket) {
		case Done:
			return true
		case Failed:
			w.fail("PE %d: quiet: %v", p.me, p.Err())
		}
		return false
	})
}

// close ends the engines and checks that they leave nothing behind.
func (w *world) close(to *memories) {
	if !w.ended {
		for _, p := range w.pes {
			w.quiet(p)
		}
		w.until("rest", func() bool {
			for _, p := range w.pes {
				if !p.atRest() {
					return false
				}
			}
			return true
		})
	}
	for _, p := range w.pes {
		if err := p.Close(); err != nil {
			w.fail("PE %d: close: %v", p.me, err)
		}
		to.give(p.memory)
	}
}
