package gpustage

import (
	"errors"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/gpustage/stream/streamtest"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

const testChunk = 2 * layout.MessageSize

// sentMessage is a message that was sent, with its payload.
type sentMessage struct {
	pe      libshmem.PE
	header  layout.Header
	payload []byte
}

// departuresTestEngine sends into a list while there is room.
type departuresTestEngine struct {
	Engine   // the rest of it is not called
	streams  streamtest.Engine
	peers    [3]layout.Peer
	room     int
	sent     []sentMessage
	owned    []layout.Header
	finished []fabric.Token
	ended    map[fabric.Token]int32
	spoiled  error
	unasked  int
	lost     map[libshmem.PE]error
}

func (e *departuresTestEngine) Shared() Shared {
	return Shared{Engine: e.streams.Shared(), Peers: e.peers[:], Checker: mem.Checker{Fatal: func(error) { e.unasked++ }}}
}
func (e *departuresTestEngine) Send(m Message) call.Status {
	if m.NoRoom == SendLater {
		e.owned = append(e.owned, m.Header)
		return call.Done
	}
	if e.room == 0 {
		return call.Again
	}
	e.room--
	b := make([]byte, m.N)
	if m.N > 0 {
		mem.Copy(unsafe.Pointer(&b[0]), m.Payload, m.N)
	}
	m.Header.From = 0
	e.sent = append(e.sent, sentMessage{m.PE, m.Header, b})
	return call.Done
}
func (e *departuresTestEngine) Lost(pe libshmem.PE) error { return e.lost[pe] }
func (e *departuresTestEngine) End(o Op, end Ending) {
	if end.Phase == SourceFree {
		e.finished = append(e.finished, o.Token)
		return
	}
	e.ended[o.Token], e.spoiled = end.Status, end.Err
}

// departuresPE is a PE with two chunks and four slots.
type departuresPE struct {
	*departures
	engine  *departuresTestEngine
	memory  *streamtest.Memory
	streams *stream.Set
	chunks  pool
	slots   pool
	bytes   []byte
	copied  []fabric.Token
}

func newDeparturesPE() *departuresPE {
	p := &departuresPE{engine: &departuresTestEngine{room: 100, ended: map[fabric.Token]int32{}, lost: map[libshmem.PE]error{}}, memory: new(streamtest.Memory)}
	block := make([]byte, 2*testChunk+4*layout.MessageSize)
	p.chunks = newPool(unsafe.Pointer(&block[0]), testChunk, 2)
	p.slots = newPool(unsafe.Pointer(&block[2*testChunk]), layout.MessageSize, 4)
	p.chunks.Connect(3)
	p.slots.Connect(3)
	p.streams = stream.New(p.engine.streams.Shared(), p.memory, 100)
	p.departures = newDepartures(p.engine, p.streams, departureMemory{&p.chunks, &p.slots, 1 << 20, 9}, func(t fabric.Token) { p.copied = append(p.copied, t) })
	p.Connect(3)
	p.bytes = make([]byte, 5*testChunk)
	for i := range p.bytes {
		p.bytes[i] = byte(i * 7)
	}
	return p
}

// goOn lets the streams do their work, and then sends.
func (p *departuresPE) goOn() {
	p.streams.Mark()
	p.memory.Run()
	p.BeginPoll()
	p.streams.Follow()
	p.Advance()
}

func (p *departuresPE) put(to libshmem.PE, t fabric.Token, epoch uint64, n int, after *layout.Header) {
	p.Put(departingPut{PE: to, Token: t, Epoch: epoch, Local: unsafe.Pointer(&p.bytes[0]), Offset: 64, N: uint64(n), After: after})
}

// answer ends the read of the i-th message.
func (p *departuresPE) answer(i int, status uint64) {
	m := p.engine.sent[i]
	p.HandleFinished(&layout.Header{Kind: layout.KindFinished, From: uint32(m.pe), Token: m.header.Token, Operand: status})
}

func (p *departuresPE) rest(t *testing.T) {
	t.Helper()
	if err := p.CheckIdle(); err != nil || !p.chunks.AllFree() || !p.slots.AllFree() {
		t.Errorf("rest: %v, free chunks %v and slots %v", err, p.chunks.AllFree(), p.slots.AllFree())
	}
}

// A small put is a message, with its signal in it, and frees its slot at once.
func TestDeparturesSmall(t *testing.T) {
	p := newDeparturesPE()
	p.put(1, 5, 1, 100, &layout.Header{Op: fabric.OpSet, Operand: 3, Offset: 8})
	if p.Advance(); len(p.engine.sent) != 0 || p.UnsentBefore(1, 1) || !p.UnsentBefore(1, 2) || !p.engine.peers[1].Staged {
		t.Errorf("%d messages before the copy, staged %v", len(p.engine.sent), p.engine.peers[1].Staged)
	}
	p.engine.peers[1].Queued = 1
	p.goOn()
	if len(p.engine.sent) != 1 || len(p.engine.finished) != 1 || !p.moved || p.UnsentBefore(1, 2) || p.engine.peers[1].Staged {
		t.Fatalf("%d messages, finished %v", len(p.engine.sent), p.engine.finished)
	}
	if m := p.engine.sent[0]; m.header.Kind != layout.KindPutSignal || m.header.Offset != 64 || m.header.Extra != 8 || string(m.payload) != string(p.bytes[:100]) {
		t.Errorf("message %+v", m)
	}
	p.put(1, 6, 1, 8, nil)
	p.goOn()
	p.goOn()
	if m := p.engine.sent[1]; m.header.Kind != layout.KindStore || m.header.Width != 8 || len(m.payload) != 0 {
		t.Errorf("message %+v for one element", m)
	}
	if status, ok := p.engine.ended[5]; !ok || status != 0 || len(p.engine.ended) != 2 {
		t.Errorf("ended %v", p.engine.ended)
	}
	p.rest(t)
}

// A large put sends requests for its chunks, and ends when the target has read all of them. The
// last piece fits a message, and carries the signal.
func TestDeparturesLarge(t *testing.T) {
	p := newDeparturesPE()
	p.put(1, 5, 7, 2*testChunk+8, &layout.Header{Op: fabric.OpSet, Offset: -8})
	for range 3 {
		p.goOn()
	}
	if len(p.engine.sent) != 1 || len(p.engine.owned) != 0 || len(p.engine.finished) != 0 {
		t.Fatalf("%d messages with two chunks, half of which stay for others", len(p.engine.sent))
	}
	m := p.engine.sent[0]
	var r layout.RequestToSend
	mem.Copy(unsafe.Pointer(&r), unsafe.Pointer(&m.payload[0]), len(m.payload))
	if at := m.header.Operand - 1<<20; m.header.Kind != layout.KindRequestToSend || m.header.Extra != 9 || at != 0 && at != testChunk || r.N != testChunk || r.Fence != 7 || m.header.Offset != 64 {
		t.Errorf("message %+v, request %+v", m.header, r)
	}
	for i := 0; i < 2; i++ {
		p.answer(i, 0)
		p.Advance()
		p.goOn()
	}
	if len(p.engine.sent) != 3 || len(p.engine.owned) != 0 || len(p.engine.finished) != 1 {
		t.Fatalf("%d messages, finished %v", len(p.engine.sent), p.engine.finished)
	}
	if last := p.engine.sent[2].header; last.Kind != layout.KindPutSignal || last.Offset != 64+2*testChunk {
		t.Errorf("last message %+v", last)
	}
	if _, ok := p.engine.ended[5]; !ok {
		t.Error("the put has not ended")
	}
	p.answer(1, 0)
	if p.engine.unasked != 1 {
		t.Error("a second answer for a chunk was taken")
	}
	p.rest(t)
}

// An error of the target's read fails the quiet.
func TestDeparturesReadFails(t *testing.T) {
	p := newDeparturesPE()
	p.put(1, 5, 1, testChunk, nil)
	p.Advance()
	p.goOn()
	p.answer(0, 13)
	if p.engine.spoiled == nil || p.engine.spoiled.Error() != "PE 1: read the bytes of a put: error 13" {
		t.Errorf("error %v", p.engine.spoiled)
	}
	p.rest(t)
}

// The bytes of a get are data for its requestID, and no operation of this PE ends.
func TestDeparturesServe(t *testing.T) {
	p := newDeparturesPE()
	p.Serve(2, 77, unsafe.Pointer(&p.bytes[0]), 100)
	p.Advance()
	p.goOn()
	if m := p.engine.sent[0]; m.pe != 2 || m.header.Kind != layout.KindData || m.header.Token != 77 || string(m.payload) != string(p.bytes[:100]) {
		t.Errorf("message %+v", m)
	}
	if len(p.engine.finished)+len(p.engine.ended) != 0 {
		t.Error("an operation has ended")
	}
	p.rest(t)
}

// A PE without room keeps its order, and the others go on.
func TestDeparturesNoRoom(t *testing.T) {
	p := newDeparturesPE()
	p.engine.room = 0
	p.put(1, 5, 1, 100, nil)
	p.put(1, 6, 1, 100, nil)
	p.Advance()
	if p.goOn(); !p.NoRoom() {
		t.Error("room was not missed")
	}
	p.engine.room = 1
	if p.goOn(); len(p.engine.sent) != 1 || !p.NoRoom() {
		t.Errorf("%d messages, no room %v", len(p.engine.sent), p.NoRoom())
	}
	p.engine.room = 100
	if p.goOn(); len(p.engine.ended) != 2 || p.NoRoom() {
		t.Errorf("ended %v, no room %v", p.engine.ended, p.NoRoom())
	}
	p.rest(t)
}

// Copies to and from mapped heaps go through the same pieces, in stream.Peer.
func TestDeparturesCopies(t *testing.T) {
	p := newDeparturesPE()
	heap, back := make([]byte, testChunk), make([]byte, testChunk)
	p.StageAlways(1)
	p.CopyTo(1, 5, 3, unsafe.Pointer(&p.bytes[0]), unsafe.Pointer(&heap[0]), 100, true)
	if len(p.copied) != 1 || p.UnsentBefore(1, 4) {
		t.Errorf("in the stream: %v", p.copied)
	}
	p.CopyTo(1, 6, 3, unsafe.Pointer(&p.bytes[0]), unsafe.Pointer(&heap[0]), testChunk, false)
	if len(p.copied) != 1 || !p.UnsentBefore(1, 4) {
		t.Errorf("in the stream: %v", p.copied)
	}
	p.Advance()
	p.goOn()
	p.CopyFrom(1, 7, unsafe.Pointer(&back[0]), unsafe.Pointer(&heap[0]), testChunk)
	p.Advance()
	p.goOn()
	if string(back) != string(p.bytes[:testChunk]) || len(p.copied) != 3 || p.memory.Given[stream.Out] != 0 || !p.engine.peers[1].Staged {
		t.Errorf("in the stream: %v, work %v", p.copied, p.memory.Given)
	}
	p.rest(t)
}

// Of a lost PE pieces are dropped wherever they are, and its puts fail.
func TestDeparturesDrop(t *testing.T) {
	p := newDeparturesPE()
	p.put(1, 5, 1, testChunk, nil) // a request for it will be out
	p.Advance()
	p.goOn()
	p.engine.room = 0
	p.put(1, 6, 1, 100, nil) // will be ready
	p.Advance()
	p.goOn()
	p.put(1, 7, 1, 100, nil) // will be in the stream
	p.Advance()
	p.put(1, 8, 1, 100, nil) // waits
	p.engine.lost[1] = errors.New("lost")
	p.Drop(1)
	if len(p.engine.ended) != 3 {
		t.Errorf("ended %v, before the stream has done its work", p.engine.ended)
	}
	p.goOn()
	for _, token := range []fabric.Token{5, 6, 7, 8} {
		if p.engine.ended[token] != int32(call.Failed) {
			t.Errorf("put %d: status %d", token, p.engine.ended[token])
		}
	}
	p.rest(t)
}
