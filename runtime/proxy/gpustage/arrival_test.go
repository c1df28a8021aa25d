package gpustage

import (
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/early"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/gpustage/stream/streamtest"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// arrivalsTestEngine has a heap of words, and main memory at negative offsets.
type arrivalsTestEngine struct {
	Engine    // the rest of it is not called
	streams   streamtest.Engine
	peers     [3]layout.Peer
	heap      [512]uint64
	main      [8]uint64
	answers   []uint64
	applied   []layout.Kind
	malformed int
	lost      error
}

func (e *arrivalsTestEngine) Shared() Shared {
	return Shared{Engine: e.streams.Shared(), Peers: e.peers[:], Checker: mem.Checker{Fatal: func(error) { e.malformed++ }, Segment: &mem.Segment{
		Base: unsafe.Pointer(&e.main), Internal: uint64(unsafe.Sizeof(e.main)), Size: uint64(unsafe.Sizeof(e.main) + unsafe.Sizeof(e.heap)), Heap: unsafe.Pointer(&e.heap),
	}}}
}
func (e *arrivalsTestEngine) Apply(h *layout.Header, _ unsafe.Pointer, _ int) bool {
	e.applied = append(e.applied, h.Kind)
	return true
}
func (e *arrivalsTestEngine) Send(m Message) call.Status {
	e.answers = append(e.answers, m.Header.Operand)
	return call.Done
}
func (e *arrivalsTestEngine) Lost(libshmem.PE) error { return e.lost }

// arrivalsPE is a PE with GPU memory.
type arrivalsPE struct {
	*arrivals
	engine   *arrivalsTestEngine
	memory   *streamtest.Memory
	streams  *stream.Set
	progress [3]progress
	slots    pool
}

func newArrivalsPE(ops uint64, lock *AtomicsLock) *arrivalsPE {
	p := &arrivalsPE{engine: new(arrivalsTestEngine), memory: &streamtest.Memory{Ops: ops}}
	p.slots = newPool(unsafe.Pointer(unsafe.SliceData(make([]byte, 4*layout.MessageSize))), layout.MessageSize, 4)
	p.streams = stream.New(p.engine.streams.Shared(), p.memory, 100)
	x := newHeaps(p.engine)
	p.arrivals = newArrivals(p.engine, p.streams, x, true, &p.slots, lock)
	p.Connect(p.progress[:])
	return p
}

// goOn lets the streams do their work, and then goes on with the messages.
func (p *arrivalsPE) goOn() {
	p.streams.Mark()
	p.memory.Run()
	p.streams.Follow()
	p.Advance()
	p.streams.Mark()
}

func (p *arrivalsPE) put(from uint32, offset libshmem.Offset, value uint64) {
	p.Apply(&layout.Header{Kind: layout.KindPut, From: from, Offset: offset}, unsafe.Pointer(&value), 8)
}

func (p *arrivalsPE) amo(from uint32, op fabric.Op, offset libshmem.Offset, operand uint64) {
	h := layout.Header{Kind: layout.KindAMO, From: from, Op: op, Width: 8, Offset: offset, Operand: operand}
	if op.Fetches() {
		h.Fetch = 1
	}
	p.Apply(&h, nil, 0)
}

func (p *arrivalsPE) rest(t *testing.T) {
	t.Helper()
	if err := p.CheckIdle(); err != nil {
		t.Error(err)
	}
	if err := p.streams.CheckIdle(); err != nil || !p.slots.AllFree() {
		t.Errorf("streams: %v, slots free %v", err, p.slots.AllFree())
	}
}

// Bytes and signals are in the stream at once, and an answer to a flush follows them.
func TestArrivalsInOrder(t *testing.T) {
	p := newArrivalsPE(0, nil)
	p.put(1, 0, 5)
	h := layout.Header{Kind: layout.KindPutSignal, From: 1, Offset: 8, Op: fabric.OpSet, Operand: 7, Extra: 16}
	value := uint64(6)
	p.Apply(&h, unsafe.Pointer(&value), 8)
	p.Apply(&layout.Header{Kind: layout.KindFlush, From: 1}, nil, 0)
	if len(p.engine.answers) != 0 || p.Busy() != 1 || !p.engine.peers[1].Behind {
		t.Errorf("answers %v, %d PEs busy, behind %v", p.engine.answers, p.Busy(), p.engine.peers[1].Behind)
	}
	if p.goOn(); p.engine.heap[0] != 5 || p.engine.heap[1] != 6 || p.engine.heap[2] != 7 || len(p.engine.answers) != 1 {
		t.Errorf("heap %v, answers %v", p.engine.heap, p.engine.answers)
	}
	if p.engine.peers[1].Behind {
		t.Error("C still leaves messages to Go")
	}
	p.rest(t)
}

// A GPU that has to be flushed is flushed once a turn, before a message takes effect, and C leaves
// all messages to Go.
func TestArrivalsFlush(t *testing.T) {
	p, flushes := newArrivalsPE(0, nil), 0
	p.heaps.flushBy(func() { flushes++ })
	p.put(1, 0, 5)
	if p.put(1, 8, 6); flushes != 1 {
		t.Errorf("%d flushes for the messages of one turn", flushes)
	}
	p.goOn()
	p.heaps.beginPoll()
	if p.put(1, 16, 7); flushes != 2 {
		t.Errorf("%d flushes for the messages of two turns", flushes)
	}
	if p.goOn(); !p.engine.peers[1].Behind {
		t.Error("C takes messages, and does not flush")
	}
	p.rest(t)
}

// A message waits for bytes that are being read, and one for main memory waits for the stream.
func TestArrivalsWait(t *testing.T) {
	p := newArrivalsPE(0, nil)
	p.progress[1].Pulls.All = 1
	p.put(1, 0, 5)
	p.put(2, 8, 6)
	p.put(2, -8, 7)
	if p.goOn(); p.engine.heap[0] != 0 || p.engine.heap[1] != 6 || len(p.engine.applied) != 1 || p.Busy() != 1 {
		t.Errorf("heap %v, applied %v, %d PEs busy", p.engine.heap, p.engine.applied, p.Busy())
	}
	if kept := p.progress[1].Kept; kept.All != 1 || kept.Done != 0 || !kept.Open() {
		t.Errorf("kept %+v", kept)
	}
	p.progress[1].Pulls.Done = 1
	p.goOn()
	if p.goOn(); p.engine.heap[0] != 5 {
		t.Errorf("heap %v after the bytes have come", p.engine.heap)
	}
	p.rest(t)
}

// A PE that has to wait for a slot keeps its messages in order.
func TestArrivalsSlots(t *testing.T) {
	p := newArrivalsPE(0, nil)
	for i := range uint64(7) {
		p.put(1, 0, i+1)
	}
	if kept := p.progress[1].Kept; kept.All != 3 {
		t.Errorf("%d messages wait with 4 slots", kept.All)
	}
	p.goOn()
	if p.goOn(); p.engine.heap[0] != 7 {
		t.Errorf("word %d, want that of the last message", p.engine.heap[0])
	}
	p.rest(t)
}

// Messages of all sizes that wait keep their bytes, and take no more memory than their credit and a
// little more than half as much again.
func TestArrivalsMemory(t *testing.T) {
	p := newArrivalsPE(0, nil)
	p.progress[1].Pulls.All = 1
	var want [512]uint64
	credit := 0
	for i := range 2000 {
		words := []int{1, 10, 10, 10, 10, 10, 500}[i%7] // of most of them the message has 136 bytes
		payload := make([]uint64, words)
		for w := range payload {
			payload[w] = uint64(i*1000 + w + 1)
		}
		first := i % (512 - words + 1)
		copy(want[first:], payload)
		p.Apply(&layout.Header{Kind: layout.KindPut, From: 1, Offset: libshmem.Offset(8 * first)}, unsafe.Pointer(&payload[0]), 8*words)
		credit += (layout.HeaderSize + 8*words + early.BlockSize - 1) / early.BlockSize * early.BlockSize
	}
	if got := p.kept.Bytes(); p.kept.Len() != 2000 || got > credit*8/5 {
		t.Errorf("%d messages wait in %d KiB, for a credit of %d KiB", p.kept.Len(), got>>10, credit>>10)
	}
	p.progress[1].Pulls.Done = 1
	for i := 0; p.kept.Len() > 0 && i < 2000; i++ {
		p.goOn()
	}
	if p.goOn(); p.engine.heap != want {
		t.Error("messages that waited have other bytes, or were applied in another order")
	}
	p.rest(t)
}

// An operation that a stream can do waits for earlier work, and later work waits for it.
func TestArrivalsStreamWord(t *testing.T) {
	p := newArrivalsPE(stream.AllAtomics, nil)
	p.put(1, 0, 5)
	p.amo(1, fabric.OpFetchAdd, 0, 1)
	p.amo(1, fabric.OpFetchAdd, 0, 1)
	p.put(1, 8, 9)
	if p.goOn(); p.memory.Given[stream.Word] != 2 || p.memory.Given[stream.In] != 1 {
		t.Errorf("work %v", p.memory.Given)
	}
	p.goOn()
	if p.goOn(); p.engine.heap[0] != 7 || p.engine.heap[1] != 9 || len(p.engine.answers) != 2 || p.engine.answers[0] != 5 || p.engine.answers[1] != 6 {
		t.Errorf("heap %v, answers %v", p.engine.heap, p.engine.answers)
	}
	p.rest(t)
}

// An operation in steps needs the AtomicsLock. All operations on a word are done on one copy of it.
func TestArrivalsLock(t *testing.T) {
	lock := new(AtomicsLock)
	p := newArrivalsPE(0, lock)
	lock.taken.Store(true)
	p.amo(1, fabric.OpFetchAdd, 0, 2)
	p.amo(2, fabric.OpFetchAdd, 0, 3)
	if p.goOn(); !p.WantsLock() || p.memory.Given[stream.In] != 0 {
		t.Errorf("wants %v, work %v, while another engine changes words", p.WantsLock(), p.memory.Given)
	}
	lock.taken.Store(false)
	if p.goOn(); p.WantsLock() || p.memory.Given[stream.In] != 1 || !lock.taken.Load() {
		t.Errorf("wants %v, work %v, lock %v", p.WantsLock(), p.memory.Given, lock.taken.Load())
	}
	p.goOn()
	if p.goOn(); p.engine.heap[0] != 5 || len(p.engine.answers) != 2 || p.engine.answers[0]+p.engine.answers[1] != 2 && p.engine.answers[0]+p.engine.answers[1] != 3 || p.memory.Given[stream.In] != 2 {
		t.Errorf("heap %v, answers %v, work %v", p.engine.heap, p.engine.answers, p.memory.Given)
	}
	if lock.taken.Load() {
		t.Error("the lock was not released")
	}
	p.rest(t)
	if p.Atomics()&stream.OwnerAlone == 0 || newArrivalsPE(0, nil).Atomics() != stream.PlainAtomics {
		t.Errorf("operations %#x, and %#x without lock", p.Atomics(), newArrivalsPE(0, nil).Atomics())
	}
}

// What a lost PE has sent is forgotten, but for what a stream has.
func TestArrivalsDrop(t *testing.T) {
	p := newArrivalsPE(stream.AllAtomics, nil)
	p.amo(1, fabric.OpAdd, 0, 1)
	p.put(1, 8, 9)
	p.Advance() // the operation is in the stream, and the put behind it
	p.Drop(1)
	p.goOn()
	if p.goOn(); p.engine.heap[0] != 1 || p.engine.heap[1] != 0 {
		t.Errorf("heap %v", p.engine.heap)
	}
	p.rest(t)
}

// Messages that no engine sends are refused.
func TestArrivalsMalformed(t *testing.T) {
	p := newArrivalsPE(0, nil)
	p.Apply(&layout.Header{Kind: layout.KindStore, From: 1, Width: 3}, nil, 0)
	p.amo(1, fabric.OpAdd, 0, 1)
	if p.engine.malformed != 2 {
		t.Errorf("%d messages were refused", p.engine.malformed)
	}
	p.rest(t)
}

// Bytes go ahead of the signals of other puts of their epoch, so that the copies of many puts are
// one call, and follow everything from before a fence.
func TestArrivalsAhead(t *testing.T) {
	bytes := [3]uint64{1, 2, 3} // more than stores are quicker for
	put := func(p *arrivalsPE, from, token uint32, i int) {
		h := layout.Header{Kind: layout.KindPutSignal, Token: token, From: from, Offset: libshmem.Offset(32 * i), Op: fabric.OpSet, Operand: uint64(i + 1), Extra: uint64(2048 + 8*i)}
		p.Apply(&h, unsafe.Pointer(&bytes[0]), 24)
	}
	p := newArrivalsPE(0, nil)
	calls := func(want int, what string) {
		t.Helper()
		before := p.memory.Calls[stream.In]
		if p.streams.Mark(); p.memory.Calls[stream.In] != want {
			t.Errorf("%s: %d calls, %d of them at the mark, want %d", what, p.memory.Calls[stream.In], p.memory.Calls[stream.In]-before, want)
		}
		p.goOn()
		p.goOn()
		p.memory.Calls[stream.In] = 0
	}
	put(p, 1, 7, 0)
	put(p, 2, 9, 1)
	put(p, 1, 7, 2)
	put(p, 2, 9, 3)
	calls(1, "two PEs, each in an epoch")
	put(p, 1, 7, 0)
	put(p, 1, 8, 1)
	put(p, 1, 8, 2)
	calls(2, "a fence")
	put(p, 1, 0, 0)
	put(p, 1, 0, 1)
	calls(2, "puts that do not tell their epoch")
	p.Apply(&layout.Header{Kind: layout.KindStore, From: 1, Width: 8, Offset: 8}, nil, 0)
	put(p, 1, 8, 0)
	put(p, 1, 8, 1)
	calls(1, "behind an element")
	for i := range 4 {
		if p.engine.heap[4*i] != 1 && i < 3 || p.engine.heap[256+i] != uint64(i+1) {
			t.Errorf("put %d: heap %d, signal %d", i, p.engine.heap[4*i], p.engine.heap[256+i])
		}
	}
	p.rest(t)
}
