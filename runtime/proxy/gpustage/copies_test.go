package gpustage

import (
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/gpustage/stream/streamtest"
	"libshmem/runtime/proxy/layout"
)

// copiesTestEngine counts what copies ask of it.
type copiesTestEngine struct {
	Engine    // the rest of it is not called
	streams   streamtest.Engine
	peers     [2]layout.Peer
	requested []Use       // whether it may begin
	may       call.Status // the answer
	owned     []layout.Header
	tokens    fabric.Token
	waited    int
	ended     []fabric.Token
	pending   int
}

func (e *copiesTestEngine) Shared() Shared {
	return Shared{Engine: e.streams.Shared(), Peers: e.peers[:]}
}
func (e *copiesTestEngine) TryBegin(use Use, _ libshmem.PE, _ uint64) call.Status {
	e.requested = append(e.requested, use)
	return e.may
}
func (e *copiesTestEngine) Send(m Message) call.Status {
	e.owned = append(e.owned, m.Header)
	return call.Done
}
func (e *copiesTestEngine) End(o Op, _ Ending) {
	if o.Token == 0 {
		e.pending--
		return
	}
	e.ended = append(e.ended, o.Token)
}
func (e *copiesTestEngine) Begin(use Use, _ libshmem.PE, _ *call.Request, _ uint64) (Op, call.Status) {
	if use == UseStore {
		e.pending++
		return Op{Parity: 1}, call.Done
	}
	e.tokens++
	e.waited++
	return Op{Token: layout.Receives + e.tokens}, call.Done
}

// testDepartures keeps what it is asked for.
type testDepartures struct {
	before    bool
	requested []fabric.Token
	now       bool
}

func (d *testDepartures) CopyTo(_ libshmem.PE, t fabric.Token, _ uint64, _, _ unsafe.Pointer, _ uint64, now bool) {
	d.requested, d.now = append(d.requested, t), now
}
func (d *testDepartures) CopyFrom(_ libshmem.PE, t fabric.Token, _, _ unsafe.Pointer, _ uint64) {
	d.requested = append(d.requested, t)
}
func (d *testDepartures) UnsentBefore(libshmem.PE, uint64) bool { return d.before }

// copiesPE is a PE that has mapped the heap of PE 1.
type copiesPE struct {
	*copies
	engine  *copiesTestEngine
	departs testDepartures
	memory  *streamtest.Memory
	streams *stream.Set
	slots   pool
	heap    [4096]uint64
	local   [4096]uint64
}

func newCopiesPE(sets bool) *copiesPE {
	p := &copiesPE{engine: &copiesTestEngine{may: call.Done}, memory: &streamtest.Memory{Stores: 2}}
	p.slots = newPool(unsafe.Pointer(unsafe.SliceData(make([]byte, 4*layout.MessageSize))), layout.MessageSize, 4)
	p.slots.Connect(2)
	p.streams = stream.New(p.engine.streams.Shared(), p.memory, 100)
	p.copies = newCopies(p.engine, p.streams, &p.slots, &p.departs)
	p.Connect(2)
	p.Map(1, unsafe.Pointer(&p.heap[0]), sets)
	for i := range p.local {
		p.local[i] = uint64(i) + 1
	}
	return p
}

func (p *copiesPE) put(n uint64, gpu bool, after *layout.Header) call.Status {
	return p.Put(1, 0, unsafe.Pointer(&p.local[0]), n, gpu, nil, after)
}

// goOn lets the streams do their work.
func (p *copiesPE) goOn() {
	p.streams.Mark()
	p.memory.Run()
	p.streams.Follow()
}

func (p *copiesPE) rest(t *testing.T) {
	t.Helper()
	if err := p.CheckIdle(); err != nil || !p.slots.AllFree() || p.engine.pending != 0 || p.streams.CheckIdle() != nil {
		t.Errorf("rest: %v, slots free %v, %d pending", err, p.slots.AllFree(), p.engine.pending)
	}
}

func signal(offset libshmem.Offset) *layout.Header {
	return &layout.Header{Op: fabric.OpSet, Width: 8, Offset: offset, Operand: 99}
}

// Small puts, stores and signals are in the stream when the call returns, and take no token.
func TestCopiesSmall(t *testing.T) {
	p := newCopiesPE(true)
	given := func() int {
		p.streams.Mark()
		return p.memory.Given[stream.Peer]
	}
	if st := p.put(16, false, nil); st != call.Done || given() != 2 {
		t.Errorf("status %d, work %v, of words that a stream stores", st, p.memory.Given)
	}
	if st := p.put(64, false, signal(1024)); st != call.Done || given() != 4 {
		t.Errorf("status %d, work %v, of bytes and a signal", st, p.memory.Given)
	}
	p.local[0] = 0 // the bytes have been taken
	if st := p.Store(1, 2048, 8, 5); st != call.Done {
		t.Errorf("store: status %d", st)
	}
	if st := p.Store(1, 2056, 2, 6); st != call.Done {
		t.Errorf("store of 2 bytes: status %d", st)
	}
	if p.engine.pending != 4 || p.CheckIdle() == nil || p.engine.tokens != 0 {
		t.Errorf("%d pending, %d tokens", p.engine.pending, p.engine.tokens)
	}
	p.engine.peers[1].Queued = 1
	p.goOn()
	if p.heap[0] != 1 || p.heap[7] != 8 || p.heap[128] != 99 || p.heap[256] != 5 || p.heap[257] != 6 || !p.moved {
		t.Errorf("heap %v %v %v %v %v, moved %v", p.heap[0], p.heap[7], p.heap[128], p.heap[256], p.heap[257], p.moved)
	}
	p.rest(t)
}

// A put from GPU memory is one copy, and its signal follows: in the stream, or, if only the owner
// can do it, in a message when the bytes are in place.
func TestCopiesSignals(t *testing.T) {
	p := newCopiesPE(true)
	if st := p.put(8192, true, signal(16384)); st != call.Pending || p.engine.waited != 1 {
		t.Errorf("status %d, quiets wait for %d", st, p.engine.waited)
	}
	if p.goOn(); p.heap[0] != 1 || p.heap[1023] != 1024 || p.heap[2048] != 99 || len(p.engine.owned) != 0 || len(p.engine.ended) != 1 {
		t.Errorf("signal %d, messages %v, ended %v", p.heap[2048], p.engine.owned, p.engine.ended)
	}
	p.rest(t)
	p = newCopiesPE(false)
	if st := p.put(8, false, signal(16384)); st != call.Pending || len(p.departs.requested) != 1 || !p.departs.now {
		t.Errorf("status %d, %d pieces, now %v", st, len(p.departs.requested), p.departs.now)
	}
	p.engine.streams.Words.Epoch++
	if st := p.put(8, false, nil); st != call.Again {
		t.Errorf("status %d while a signal of an earlier epoch waits", st)
	}
	p.HandleBegun(p.departs.requested[0])
	if len(p.engine.owned) != 0 {
		t.Error("the signal has left before its bytes")
	}
	if p.goOn(); len(p.engine.owned) != 1 || p.heap[2048] != 0 {
		t.Errorf("messages %v, word %d", p.engine.owned, p.heap[2048])
	}
	p.rest(t)
}

// Operations of a later epoch wait for what is not complete, each kind in its way.
func TestCopiesEpochs(t *testing.T) {
	p := newCopiesPE(true)
	p.put(8, false, nil)
	p.engine.streams.Words.Epoch++
	if p.MustFollow(1, 0) || !p.MustFollow(1, 1) {
		t.Errorf("must follow: %v in the epoch, %v after it", p.MustFollow(1, 0), p.MustFollow(1, 1))
	}
	p.goOn()
	if p.MustFollow(1, 1) {
		t.Error("must follow what is complete")
	}
	p.engine.may = call.Again
	if st := p.put(8, false, nil); st != call.Again {
		t.Errorf("status %d when the engine says that it may not begin", st)
	}
	p.engine.may, p.departs.before = call.Done, true
	if st := p.put(8, false, nil); st != call.Again {
		t.Errorf("status %d behind bytes that have not left", st)
	}
	p.rest(t)
}

// The stream sets words, and the owner does other operations, in order.
func TestCopiesAMO(t *testing.T) {
	p := newCopiesPE(true)
	if _, ok := p.AMO(1, &layout.Header{Op: fabric.OpAdd, Width: 8}); ok {
		t.Error("an addition was taken")
	}
	if st, ok := p.AMO(1, signal(8)); !ok || st != call.Done {
		t.Errorf("a set: status %d, taken %v", st, ok)
	}
	if st, ok := p.AMO(1, &layout.Header{Op: fabric.OpAdd, Width: 8}); !ok || st != call.Again {
		t.Errorf("an addition behind a set: status %d, taken %v", st, ok)
	}
	p.goOn()
	p.engine.may = call.Again
	if st, ok := p.AMO(1, signal(8)); !ok || st != call.Again || p.engine.requested[len(p.engine.requested)-1] != UseSet {
		t.Errorf("a set behind a message: status %d, taken %v, asked for %v", st, ok, p.engine.requested)
	}
	if _, ok := newCopiesPE(false).AMO(1, signal(8)); ok {
		t.Error("a set was taken of a word that the owner changes in steps")
	}
	p.rest(t)
}

// A get is one copy to GPU memory, and goes in pieces to main memory.
func TestCopiesGet(t *testing.T) {
	p := newCopiesPE(true)
	p.heap[3] = 7
	if st := p.Get(1, 24, unsafe.Pointer(&p.local[0]), 8, true, nil); st != call.Pending {
		t.Errorf("status %d", st)
	}
	if p.goOn(); p.local[0] != 7 || len(p.engine.ended) != 1 {
		t.Errorf("word %d, ended %v", p.local[0], p.engine.ended)
	}
	if st := p.Get(1, 24, unsafe.Pointer(&p.local[0]), 8, false, nil); st != call.Pending || len(p.departs.requested) != 1 {
		t.Errorf("status %d, asked for %v", st, p.departs.requested)
	}
	p.HandleBegun(p.departs.requested[0])
	if p.goOn(); len(p.engine.ended) != 2 || p.moved {
		t.Errorf("ended %v", p.engine.ended)
	}
	p.rest(t)
}
