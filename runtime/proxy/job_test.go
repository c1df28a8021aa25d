package proxy

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run the randomised tests with this seed only")
	times   = flag.Int("times", 1, "run the randomised tests with so many times the usual number of seeds")
)

// seeds calls f with n seeds, or with those of the command line.
func seeds(n int, f func(seed uint64)) {
	if *oneSeed != 0 {
		f(*oneSeed)
		return
	}
	for s := range uint64(n * *times) {
		f(s + 1)
	}
}

// modes are the networks that exist.
var modes = []mode{
	{name: "tcp", caps: fabric.Caps{
		MaxMessage: 1 << 40, MaxInject: layout.HeaderSize + 24,
		WriteAfterWrite: true, SendAfterWrite: true, SendAfterSend: true, ReadAfterWrite: true,
	}},
	{name: "verbs", caps: fabric.Caps{
		MaxMessage: 1 << 30, MaxInject: 236, VirtualAddress: true, LocalMR: true,
		WriteAfterWrite: true, SendAfterWrite: true, SendAfterSend: true, DeliveryComplete: true,
	}},
	{name: "efa-direct", caps: fabric.Caps{
		MaxMessage: 1 << 30, MaxInject: 32, VirtualAddress: true, LocalMR: true, DeliveryComplete: true, RNRRetries: true, Arrivals: 37,
	}},
	{name: "unordered", caps: fabric.Caps{MaxMessage: 1 << 20, MaxInject: 4096, VirtualAddress: true, DeliveryComplete: true}},
	{name: "bare", caps: fabric.Caps{MaxMessage: 1 << 20, MaxInject: 128}},
	{name: "numbered", caps: fabric.Caps{MaxMessage: 1 << 20, MaxInject: 64, LocalMR: true, DeliveryComplete: true, Data: 4, Source: true, Arrivals: 1 << 20}},
	{name: "efa", caps: fabric.Caps{
		MaxMessage: 1<<64 - 1, MaxInject: 4096, MaxInjectWrite: 4096, VirtualAddress: true, LocalMR: true, DeliveryComplete: true,
	}},
}

// rough gives a mode the worst behaviour that its caps allow.
func rough(m mode) mode {
	m.delay, m.again, m.credits = 6, 20, 24
	m.name += " rough"
	return m
}

// combination returns a network with one of the 16 combinations of guarantees.
func combination(i int) mode {
	c := fabric.Caps{
		MaxMessage: 1 << 20, MaxInject: []int{0, 40, 64, 8192}[i%4], VirtualAddress: i&1 != 0, LocalMR: i&2 != 0,
		SendAfterSend: i&1 != 0, SendAfterWrite: i&2 != 0, WriteAfterWrite: i&4 != 0, DeliveryComplete: i&8 != 0,
	}
	m := rough(mode{caps: c})
	m.name = fmt.Sprintf("sas=%v saw=%v waw=%v dc=%v", c.SendAfterSend, c.SendAfterWrite, c.WriteAfterWrite, c.DeliveryComplete)
	return m
}

// job is a few engines on one network, all driven by the test's goroutine.
type job struct {
	t   testing.TB
	net *fakeNetwork
	rng *rand.Rand
	pes []*pe

	burst int // steps of programs between two polls, if more than a few
}

// pe is one PE with its memory.
type pe struct {
	*Engine
	j       *job
	me      libshmem.PE
	end     *end
	memory  []byte // the internal area, then the user heap
	heap    []byte
	words   [5]uint32 // lock, pollers, sleepers, wakes, napping
	fatals  []error
	applied func()          // after each poll
	ticket  Ticket          // of Quiet, 0: none
	card    *testGPU        // nil: it has no GPU
	stage   *gpustage.Stage // nil: no PE has one
	thread  *loop.Loop
}

// Loop, Stop and Attach are the methods of the PE's thread.

func (p *pe) Loop()                                { p.thread.Run() }
func (p *pe) Stop()                                { p.thread.Stop() }
func (p *pe) Attach(c *loop.Consumer, device bool) { p.thread.Attach(c, device) }

const (
	internal = 4096
	token    = 0x746f6b656e // of the job
)

func newJob(t testing.TB, m mode, seed uint64, n, heap int) *job {
	t.Helper()
	memories := make([][]byte, n)
	var cards []*testGPU
	if m.gpus != nil {
		cards = m.gpus.open(t, seed, memories, heap)
	}
	for i := range memories {
		if memories[i] == nil {
			memories[i] = guarded(t, internal+heap)
		}
	}
	return newJobWith(t, m, seed, memories, cards)
}

func newJobOn(t testing.TB, m mode, seed uint64, memories [][]byte) *job {
	t.Helper()
	return newJobWith(t, m, seed, memories, nil)
}

func newJobWith(t testing.TB, m mode, seed uint64, memories [][]byte, cards []*testGPU) *job {
	t.Helper()
	n := len(memories)
	j := &job{t: t, net: newFakeNetwork(t, m, seed, n), rng: rand.New(rand.NewPCG(seed, 2))}
	j.net.cards = cards
	ends, stages := make([]Endpoint, n), make([]gpustage.Endpoint, n)
	for i := range n {
		p := &pe{j: j, me: libshmem.PE(i), end: j.net.ends[i], memory: memories[i]}
		p.heap = p.memory[internal:]
		segment := mem.Segment{Base: unsafe.Pointer(&p.memory[0]), Internal: internal, Size: uint64(len(p.memory))}
		if cards != nil && cards[i] != nil {
			p.card = cards[i]
			segment.Heap = unsafe.Pointer(&p.card.device[0])
		}
		var err error
		p.Engine, err = New(p.end.provider(seed), i, n, segment,
			wake.Words{Lock: &p.words[0], Pollers: &p.words[1], Napping: &p.words[4], Sleepers: &p.words[2], Wakes: &p.words[3]},
			func(err error) { p.fatals = append(p.fatals, err) })
		if err != nil {
			t.Fatal(err)
		}
		p.thread = loop.New(p.Engine)
		t.Cleanup(func() { // for unclosed ones: a fuzzer makes more of them than there may be files
			p.ops.Net.FreeBuffers()
			p.closeContexts()
			p.closeFastPath()
		})
		if p.card != nil {
			config := gpustage.Config{Chunk: m.gpus.chunk, Chunks: m.gpus.chunks, Grace: 1}
			if m.gpus.alone {
				if config.Lock = new(gpustage.AtomicsLock); m.gpus.shared != nil {
					config.Lock = m.gpus.shared[i]
				}
			}
			if p.stage, err = gpustage.New(p.Host(), p.card, config); err != nil {
				t.Fatal(err)
			}
			p.Use(p.stage)
		}
		p.Report.ReportTo(func(err error) { t.Errorf("PE %d: %v", i, err) })
		p.register(0, 2)
		j.pes = append(j.pes, p)
		ends[i] = p.Endpoint()
		ends[i].Job = token
		if p.stage != nil {
			stages[i] = p.stage.Endpoint()
		}
	}
	for _, p := range j.pes {
		if cards != nil && p.stage == nil {
			var err error
			if p.stage, err = gpustage.New(p.Host(), nil, gpustage.Config{}); err != nil {
				t.Fatal(err)
			}
			p.Use(p.stage)
		}
		if err := p.Connect(ends); err != nil {
			t.Fatal(err)
		}
		if p.stage != nil {
			p.stage.Connect(stages)
		}
		// At first C leaves operations on a PE to Go, and these tests check which of the two has
		// done an operation.
		for pe := range p.ops.Peers {
			p.out.Reaches(&p.ops.Peers[pe], libshmem.PE(pe))
		}
	}
	for _, p := range j.pes {
		p.register(2, parts)
	}
	if m.gpus != nil && m.gpus.mapped {
		for i, p := range j.pes {
			for k, c := range cards {
				if p.card != nil && c != nil && i != k {
					p.stage.Map(libshmem.PE(k), unsafe.Pointer(&c.device[0]))
				}
			}
		}
	}
	return j
}

// pulls returns how many pulls are not complete.
func (p *pe) pulls() int {
	n, _ := p.stage.Working()
	return n
}

// stageWorks reports whether work on GPU memory is under way.
func (p *pe) stageWorks() bool {
	if p.stage == nil {
		return false
	}
	pulls, pes := p.stage.Working()
	return pulls > 0 || pes > 0
}

// guarded returns memory between two inaccessible pages. Its size is a multiple of the page size.
func guarded(t testing.TB, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	m, err := unix.Mmap(-1, 0, n+2*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	inner := m[page : page+n : page+n]
	if err := unix.Mprotect(inner, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	return inner
}

// close ends the job and checks that it leaves nothing behind.
func (j *job) close() {
	j.t.Helper()
	j.drain()
	for _, p := range j.pes {
		p.leftovers()
		if err := p.Close(); err != nil {
			j.t.Errorf("PE %d: close: %v", p.me, err)
		}
		if len(p.end.regions) != 0 || !p.end.closed {
			j.t.Errorf("PE %d: closed %v with %d regions", p.me, p.end.closed, len(p.end.regions))
		}
	}
}

// leftovers reports what an engine at rest holds.
func (p *pe) leftovers() {
	p.j.t.Helper()
	if len(p.ops.Table.Free) != layout.Tokens-layout.Receives || p.ops.Quiets.Pending != [3]int{} || len(p.out.Unsent) != 0 || p.in.Early.Len() != 0 || p.NDirty != 0 {
		p.j.t.Errorf("PE %d at rest: %d of %d tokens free, %d operations pending, %d messages parked, %d early, %d PEs dirty",
			p.me, len(p.ops.Table.Free), layout.Tokens-layout.Receives, p.ops.Quiets.Pending, len(p.out.Unsent), p.in.Early.Len(), p.NDirty)
	}
	if p.ops.Quiets.Closing() || p.ops.Quiets.Wanted || p.ops.Quiets.Unmet != 0 || len(p.ops.Quiets.Late) != 0 {
		p.j.t.Errorf("PE %d at rest: generation %d is open, %d complete, wanted %v, %d PEs unmet, %d flushes late",
			p.me, p.ops.Quiets.Open, p.Quieted, p.ops.Quiets.Wanted, p.ops.Quiets.Unmet, len(p.ops.Quiets.Late))
	}
	regions := 2
	if p.card != nil {
		regions = 3 + p.stage.Regions()
	}
	if len(p.end.recvs) != layout.Receives+p.end.more() || len(p.end.regions) != regions {
		p.j.t.Errorf("PE %d at rest: %d receive buffers, %d regions", p.me, len(p.end.recvs), len(p.end.regions))
	}
	if p.stage != nil {
		p.staleStage()
	}
	for _, err := range p.fatals {
		p.j.t.Errorf("PE %d: fatal: %v", p.me, err)
	}
}

// poll lets one PE make progress.
func (p *pe) poll() {
	p.j.t.Helper()
	if _, err := p.Poll(); err != nil {
		p.j.t.Fatalf("PE %d: poll: %v", p.me, err)
	}
	if p.applied != nil {
		p.applied()
	}
}

// await polls all PEs until cond holds.
func (j *job) await(what string, cond func() bool) {
	j.t.Helper()
	for range 200_000 {
		if cond() {
			return
		}
		j.pes[j.rng.IntN(len(j.pes))].poll()
	}
	j.t.Fatalf("%s: still not so after many polls (mode %s)", what, j.net.mode.name)
}

// drain polls until no message is under way and all engines rest.
func (j *job) drain() {
	j.t.Helper()
	for _, p := range j.pes {
		p.quiet()
	}
	j.await("drain", func() bool {
		if !j.net.idle() {
			return false
		}
		for _, p := range j.pes {
			if len(p.out.Unsent) > 0 || len(p.end.recvs) < layout.Receives+p.end.more() || p.Busy != 0 || p.stageWorks() {
				return false
			}
		}
		return true
	})
}

// post repeats an operation while there is no room for it.
func (p *pe) post(f func() Status) Status {
	p.j.t.Helper()
	st := Again
	p.j.await("room to post", func() bool {
		st = f()
		return st != Again
	})
	if st == Failed {
		p.j.t.Fatalf("PE %d: post: %v", p.me, p.Err())
	}
	return st
}

// do runs a blocking operation and returns what it fetched.
func (p *pe) do(f func(r *Request) Status) uint64 {
	p.j.t.Helper()
	r := new(Request)
	before := p.Finished
	if p.post(func() Status { return f(r) }) == Pending {
		p.j.await("completion", func() bool { return r.Done != 0 })
		if p.Finished == before {
			p.j.t.Errorf("PE %d: a request is done and Finished has not moved", p.me)
		}
		if r.Status != 0 {
			p.j.t.Fatalf("PE %d: operation ended with %d: %v", p.me, r.Status, p.Err())
		}
	}
	return r.Value
}

// Quiet is one call of a quiet. The caller repeats it while it returns Pending.
func (p *pe) Quiet() Status {
	if p.ticket == 0 {
		p.ticket = p.QuietBegin()
	}
	st := p.QuietDone(p.ticket)
	if st != Pending {
		p.ticket = 0
	}
	return st
}

func (p *pe) quiet() {
	p.j.t.Helper()
	p.ticket = 0
	p.post(func() Status {
		if st := p.Quiet(); st != Pending {
			return st
		}
		return Again
	})
	if p.ops.Quiets.Pending != [3]int{0, 0, p.ops.Quiets.Pending[noParity]} {
		p.j.t.Errorf("PE %d: %d operations pending after quiet", p.me, p.ops.Quiets.Pending)
	}
}

func (p *pe) fence() {
	if st := p.Fence(); st != Done {
		p.j.t.Errorf("PE %d: fence: %d", p.me, st)
	}
}

// spoil overwrites a source that may be reused.
func spoil(b []byte) {
	for i := range b {
		b[i] = 0xEE
	}
}

// put copies b to an offset of pe, in the parts that PutMax allows. It overwrites the source as
// soon as that is allowed; until then keep holds the copies.
func (p *pe) put(to libshmem.PE, offset libshmem.Offset, b []byte, blocking bool) {
	p.j.t.Helper()
	for len(b) > 0 {
		part := bytes.Clone(b[:min(uint64(len(b)), p.PutMax())])
		at := unsafe.Pointer(&part[0])
		if blocking {
			p.do(func(r *Request) Status { return p.Put(to, offset, at, uint64(len(part)), r) })
			spoil(part)
		} else if p.post(func() Status { return p.Put(to, offset, at, uint64(len(part)), nil) }) == Done {
			spoil(part)
		}
		b, offset = b[len(part):], offset+libshmem.Offset(len(part))
	}
}

// putSignal is shmem_putmem_signal, split into parts as the front does it.
func (p *pe) putSignal(to libshmem.PE, offset libshmem.Offset, b []byte, signalOffset libshmem.Offset, signal uint64, op fabric.Op, blocking bool) {
	p.j.t.Helper()
	if n := int(p.PutMax()); len(b) > n {
		p.put(to, offset, b[:len(b)-n], blocking)
		offset, b = offset+libshmem.Offset(len(b)-n), b[len(b)-n:]
		p.fence()
	}
	b = bytes.Clone(b)
	at := unsafe.Pointer(unsafe.SliceData(b))
	post := func(r *Request) Status {
		return p.PutSignal(to, offset, at, uint64(len(b)), signalOffset, signal, op, r)
	}
	if blocking {
		p.do(post)
		spoil(b)
	} else if p.post(func() Status { return post(nil) }) == Done {
		spoil(b)
	}
}

// get is the counterpart of put.
func (p *pe) get(from libshmem.PE, offset libshmem.Offset, b []byte, blocking bool) {
	p.j.t.Helper()
	for len(b) > 0 {
		part := b[:min(uint64(len(b)), p.PutMax())]
		at := unsafe.Pointer(&part[0])
		if blocking {
			p.do(func(r *Request) Status { return p.Get(from, offset, at, uint64(len(part)), r) })
		} else {
			p.post(func() Status { return p.Get(from, offset, at, uint64(len(part)), nil) })
		}
		b, offset = b[len(part):], offset+libshmem.Offset(len(part))
	}
}

// want fails the test unless exactly one fatal error with the text came.
func (p *pe) want(text string) {
	p.j.t.Helper()
	if len(p.fatals) != 1 || !bytes.Contains([]byte(p.fatals[0].Error()), []byte(text)) {
		p.j.t.Errorf("PE %d: fatal: %q, want one with %q", p.me, errors.Join(p.fatals...), text)
	}
	p.fatals = nil
}
