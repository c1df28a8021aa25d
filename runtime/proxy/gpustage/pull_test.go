package gpustage

import (
	"slices"
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/gpustage/stream/streamtest"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// testRead is a read that the provider has.
type testRead struct {
	token  fabric.Token
	remote uint64
	to     unsafe.Pointer
	n      uint64
}

// pullsTestEngine reads from one buffer, and is the gets, too.
type pullsTestEngine struct {
	Engine   // the rest of it is not called
	streams  streamtest.Engine
	remote   [64]byte
	room     int         // for so many reads
	refuse   call.Status // of a read without room
	reads    []testRead
	next     fabric.Token
	finished []layout.Header
	got      map[uint32]uint64
	later    map[uint32]uint64
	status   int32
	lost     int
}

func (e *pullsTestEngine) Read(_ libshmem.PE, remote, _ uint64, to unsafe.Pointer, n uint64, _ uintptr) (fabric.Token, call.Status) {
	if len(e.reads) >= e.room {
		return 0, e.refuse
	}
	e.next++
	r := testRead{layout.Receives + e.next, remote, to, n}
	e.reads = append(e.reads, r)
	return r.token, call.Done
}
func (e *pullsTestEngine) Send(m Message) call.Status {
	e.finished = append(e.finished, m.Header)
	return call.Done
}
func (e *pullsTestEngine) CountArrived(get uint32, n uint64, status int32) {
	e.got[get] += n
	e.status = status
}
func (e *pullsTestEngine) CountWhenCopied(get uint32, n uint64) { e.later[get] += n }
func (e *pullsTestEngine) LostRead(uint32)                      { e.lost++ }

// pullsPE is a PE with two chunks of 16 bytes.
type pullsPE struct {
	*pulls
	engine   *pullsTestEngine
	memory   *streamtest.Memory
	streams  *stream.Set
	chunks   pool
	progress [3]progress
	heap     [64]byte
}

func newPullsPE(most uint64) *pullsPE {
	p := &pullsPE{engine: &pullsTestEngine{room: 10, refuse: call.Again, got: map[uint32]uint64{}, later: map[uint32]uint64{}}, memory: new(streamtest.Memory)}
	for i := range p.engine.remote {
		p.engine.remote[i] = byte(i + 1)
	}
	p.chunks = newPool(unsafe.Pointer(unsafe.SliceData(make([]byte, 32))), 16, 2)
	p.chunks.Connect(3)
	p.streams = stream.New(p.engine.streams.Shared(), p.memory, 100)
	p.pulls = newPulls(p.engine, p.streams, &p.chunks, 7, most, p.engine)
	p.Connect(p.progress[:])
	return p
}

func (p *pullsPE) bytes(from libshmem.PE, n uint64, gpu bool, token, get uint32) pullBytes {
	return pullBytes{PE: from, N: n, Dest: unsafe.Pointer(&p.heap[0]), GPU: gpu, Token: token, Get: get}
}

// land completes all reads, then the copies, and goes on.
func (p *pullsPE) land(failed int32) {
	reads := p.engine.reads
	p.engine.reads = nil
	for _, r := range reads {
		if failed == 0 {
			mem.Copy(r.to, unsafe.Pointer(&p.engine.remote[r.remote]), int(r.n))
		}
		p.HandleRead(r.token, failed)
	}
	p.streams.Mark()
	p.memory.Run()
	p.streams.Follow()
	p.BeginPoll()
	p.Start()
}

func (p *pullsPE) rest(t *testing.T) {
	t.Helper()
	if err := p.CheckIdle(); err != nil || !p.chunks.AllFree() || p.UnderWay() != 0 {
		t.Errorf("rest: %v, chunks free %v", err, p.chunks.AllFree())
	}
}

// Bytes for GPU memory go through chunks, as many at a time as there are, and the sender learns of
// the end once.
func TestPullsThroughChunks(t *testing.T) {
	p := newPullsPE(100)
	p.Put(p.bytes(1, 40, true, 5, 0), 1)
	if p.Start(); len(p.engine.reads) != 1 {
		t.Fatalf("%d reads, of a PE that leaves half of the chunks to others", len(p.engine.reads))
	}
	if p.progress[1].Pulls != (progressCount{All: 1}) {
		t.Errorf("progress %+v", p.progress[1])
	}
	for range 3 {
		p.land(0)
	}
	if !slices.Equal(p.heap[:40], p.engine.remote[:40]) || p.heap[40] != 0 {
		t.Errorf("heap %v", p.heap)
	}
	if len(p.engine.finished) != 1 || p.engine.finished[0].Token != 5 || p.engine.finished[0].Operand != 0 || p.progress[1].Pulls.Done != 1 || p.progress[1].Issued != 3 {
		t.Errorf("answers %+v, progress %+v", p.engine.finished, p.progress[1])
	}
	p.rest(t)
}

// Bytes of several puts go to their places, also where a read has a part of one.
func TestPullsPieces(t *testing.T) {
	for _, gpu := range []bool{true, false} {
		p := newPullsPE(100)
		b := p.bytes(1, 40, gpu, 5, 0)
		b.Pieces = []pullPiece{{unsafe.Pointer(&p.heap[50]), 0, 6}, {unsafe.Pointer(&p.heap[0]), 8, 20}, {unsafe.Pointer(&p.heap[30]), 32, 8}}
		p.Put(b, 1)
		p.Start()
		for range 4 {
			p.land(0)
		}
		if !slices.Equal(p.heap[50:56], p.engine.remote[:6]) || !slices.Equal(p.heap[:20], p.engine.remote[8:28]) || !slices.Equal(p.heap[30:38], p.engine.remote[32:40]) ||
			p.heap[56]|p.heap[20]|p.heap[38] != 0 {
			t.Errorf("GPU %v: heap %v", gpu, p.heap)
		}
		if len(p.engine.finished) != 1 || p.progress[1].Pulls.Done != 1 {
			t.Errorf("GPU %v: answers %+v, progress %+v", gpu, p.engine.finished, p.progress[1])
		}
		p.rest(t)
	}
}

// Bytes that have come wait while the stream is full, in their order, and for a lost PE they do not
// come at all.
func TestPullsStreamFull(t *testing.T) {
	p := newPullsPE(100)
	for range 100 {
		p.streams.Write(stream.In, unsafe.Pointer(&p.heap[56]), 8, 1)
	}
	p.streams.Mark()
	p.Put(p.bytes(1, 8, true, 5, 0), 1)
	p.Put(p.bytes(2, 8, true, 6, 0), 1)
	p.Start()
	given := p.memory.Given[stream.In]
	reads := p.engine.reads
	p.engine.reads = nil
	for _, r := range reads {
		p.HandleRead(r.token, 0)
	}
	if p.Start(); p.memory.Given[stream.In] != given || p.progress[1].Pulls.Done != 0 || p.chunks.AllFree() {
		t.Errorf("%d operations more in a full stream", p.memory.Given[stream.In]-given)
	}
	p.Drop(2)
	p.memory.Run()
	p.streams.Follow()
	p.Start()
	p.land(0)
	if p.memory.Given[stream.In] != given+1 || p.progress[1].Pulls.Done != 1 || len(p.engine.finished) != 1 {
		t.Errorf("%d operations, answers %+v", p.memory.Given[stream.In]-given, p.engine.finished)
	}
	p.rest(t)
}

// Bytes for main memory are read into place, in pieces that the provider takes.
func TestPullsIntoPlace(t *testing.T) {
	p := newPullsPE(16)
	p.Put(p.bytes(1, 40, false, 5, 0), 1)
	if p.Start(); len(p.engine.reads) != 3 {
		t.Fatalf("%d reads", len(p.engine.reads))
	}
	p.land(0)
	if !slices.Equal(p.heap[:40], p.engine.remote[:40]) || p.memory.Given[stream.In] != 0 || p.progress[1].Issued != 0 {
		t.Errorf("heap %v, %d copies", p.heap, p.memory.Given[stream.In])
	}
	p.rest(t)
}

// A pull waits for what came before its fence: pulls, kept messages, and work in the stream.
func TestPullsFence(t *testing.T) {
	p := newPullsPE(100)
	p.Put(p.bytes(1, 8, true, 5, 0), 1)
	p.Put(p.bytes(1, 8, false, 6, 0), 1) // of the same epoch
	p.progress[1].Kept.All = 1
	p.Put(p.bytes(1, 8, false, 7, 0), 2)
	p.Put(p.bytes(2, 8, false, 8, 0), 1)
	if p.Start(); len(p.engine.reads) != 3 {
		t.Fatalf("%d reads", len(p.engine.reads))
	}
	if p.land(0); len(p.engine.reads) != 0 || p.progress[1].Pulls.Done != 2 {
		t.Errorf("%d reads before the kept message is done", len(p.engine.reads))
	}
	p.progress[1].Kept.Done = 1
	p.progress[1].Issued = 9
	if p.Start(); len(p.engine.reads) != 0 {
		t.Errorf("%d reads before the stream has done the work", len(p.engine.reads))
	}
	p.progress[1].Issued = 1
	if p.Start(); len(p.engine.reads) != 1 {
		t.Errorf("%d reads", len(p.engine.reads))
	}
	p.land(0)
	p.rest(t)
}

// A PE for which there is no room waits, and is reported.
func TestPullsNoRoom(t *testing.T) {
	p := newPullsPE(100)
	p.engine.room = 0
	p.Put(p.bytes(1, 8, true, 5, 0), 1)
	if p.Start(); !p.NoRoom() || !p.chunks.AllFree() {
		t.Errorf("no room %v, chunks free %v", p.NoRoom(), p.chunks.AllFree())
	}
	p.engine.room = 1
	if p.land(0); p.NoRoom() {
		t.Error("still no room")
	}
	p.land(0)
	p.rest(t)
}

// Gets learn of bytes in place, of copies that are to be waited for, and of errors.
func TestPullsOfGets(t *testing.T) {
	p := newPullsPE(100)
	p.Get(p.bytes(1, 8, false, 0, 21))
	p.Get(p.bytes(1, 8, true, 6, 22))
	p.Start()
	p.land(0)
	if p.engine.got[21] != 8 || p.engine.later[22] != 8 || len(p.engine.finished) != 1 {
		t.Errorf("got %v, later %v, answers %+v", p.engine.got, p.engine.later, p.engine.finished)
	}
	p.Get(p.bytes(1, 40, true, 7, 23))
	p.Start()
	p.land(4)
	if p.engine.got[23] != 40 || p.engine.status != 4 || p.engine.finished[1].Operand != 4 {
		t.Errorf("got %v, status %d, answers %+v", p.engine.got, p.engine.status, p.engine.finished)
	}
	p.engine.room, p.engine.refuse = 0, call.Failed
	p.Get(p.bytes(1, 8, true, 8, 24))
	if p.Start(); p.engine.got[24] != 8 || p.engine.status != -1 {
		t.Errorf("got %v, status %d, of a read that the provider refuses", p.engine.got, p.engine.status)
	}
	p.rest(t)
}

// Bytes of a put that cannot be read hold back all later messages of their PE, until it is lost: a
// signal would say that they have arrived.
func TestPullsFailedRead(t *testing.T) {
	p := newPullsPE(100)
	p.Put(p.bytes(1, 8, true, 5, 0), 1)
	p.Put(p.bytes(1, 8, true, 6, 0), 1)
	p.Start()
	p.land(4) // there is memory for the read of one of them
	p.land(0)
	if p.progress[1].Pulls != (progressCount{All: 2}) || len(p.engine.finished) != 2 || p.engine.finished[0].Operand != 4 {
		t.Errorf("progress %+v, answers %+v", p.progress[1], p.engine.finished)
	}
	if p.Drop(1); p.progress[1].Pulls.Open() || p.HoldsBack() {
		t.Errorf("progress %+v after the loss", p.progress[1])
	}
	p.rest(t)

	// A PE that is not lost goes on after a while.
	p = newPullsPE(100)
	p.grace = time.Nanosecond
	p.Put(p.bytes(1, 8, true, 5, 0), 1)
	p.Start()
	if p.land(4); p.progress[1].Pulls.Open() && !p.HoldsBack() {
		t.Errorf("progress %+v, and nothing is held back", p.progress[1])
	}
	if p.BeginPoll(); p.progress[1].Pulls.Open() || p.HoldsBack() {
		t.Errorf("progress %+v after the grace", p.progress[1])
	}
	p.rest(t)
}

// Of a lost PE only the reads stay that the provider has, with their chunks.
func TestPullsDrop(t *testing.T) {
	p := newPullsPE(100)
	p.Put(p.bytes(1, 40, true, 5, 0), 1)
	p.Put(p.bytes(1, 8, true, 6, 0), 2)
	p.Get(p.bytes(1, 8, true, 7, 25))
	p.Start()
	reads := p.Reads(25)
	if p.Drop(1); p.progress[1].Pulls.Open() || p.UnderWay() == 0 || p.chunks.AllFree() {
		t.Errorf("progress %+v, %d pulls, chunks free %v", p.progress[1], p.UnderWay(), p.chunks.AllFree())
	}
	p.land(0)
	if p.engine.lost != reads || len(p.engine.finished) != 0 {
		t.Errorf("%d of %d reads of a get have ended, answers %+v", p.engine.lost, reads, p.engine.finished)
	}
	p.rest(t)
}
