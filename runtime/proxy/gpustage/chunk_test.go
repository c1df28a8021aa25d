package gpustage

import (
	"errors"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

const shareChunk = 256 << 10

// newSharingPE returns a departuresPE with 4 chunks of 256 KiB, which are halved.
func newSharingPE(t *testing.T) *departuresPE {
	p := newDeparturesPE()
	block := make([]byte, 4*shareChunk)
	p.chunks = newDivisiblePool(unsafe.Pointer(&block[0]), shareChunk, LeastChunk, 4)
	p.chunks.Connect(3)
	p.bytes = make([]byte, 1<<20)
	for i := range p.bytes {
		p.bytes[i] = byte(i*7 + i>>8)
	}
	p.departures = newDepartures(p.engine, p.streams, departureMemory{&p.chunks, &p.slots, 1 << 20, 9}, func(fabric.Token) { t.Error("a copy") })
	p.Connect(3)
	return p
}

// share puts n bytes from a place of their own, with a signal if value is not 0.
func (p *departuresPE) share(to libshmem.PE, t fabric.Token, epoch uint64, offset libshmem.Offset, n int, value uint64) {
	x := departingPut{PE: to, Token: t, Epoch: epoch, Local: unsafe.Pointer(&p.bytes[int(t)*8192]), Offset: offset, ToGPU: offset >= 0, N: uint64(n)}
	if value != 0 {
		x.After = &layout.Header{Op: fabric.OpAdd, Operand: value, Offset: libshmem.Offset(8 * t)}
	}
	p.Put(x)
}

// request returns what the i-th message asks for, and its pieces.
func (p *departuresPE) request(t *testing.T, i int) (r layout.Requests, pieces int) {
	t.Helper()
	m := p.engine.sent[i]
	if m.header.Kind != layout.KindRequestToSend {
		t.Fatalf("message %d is %+v", i, m.header)
	}
	mem.Copy(unsafe.Pointer(&r), unsafe.Pointer(&m.payload[0]), len(m.payload))
	return r, (len(m.payload) - layout.RequestToSendSize) / layout.PieceOfSendSize
}

// Puts that wait together share a chunk of their size, one call, one mark and one message, which
// has their places and signals.
func TestChunkShared(t *testing.T) {
	p := newSharingPE(t)
	const puts, n = 20, 7001
	for i := range puts {
		p.share(1, fabric.Token(i+1), 7, libshmem.Offset(9000*i), n, uint64(i%2*100))
	}
	p.Advance()
	p.goOn()
	if p.memory.Calls[stream.Out] != 1 || p.memory.Marks[stream.Out] != 1 || len(p.engine.sent) != 1 || len(p.engine.owned) != 0 {
		t.Fatalf("%d calls, %d marks, %d messages, %d signals", p.memory.Calls[stream.Out], p.memory.Marks[stream.Out], len(p.engine.sent), len(p.engine.owned))
	}
	r, pieces := p.request(t, 0)
	if pieces != puts || r.Fence != 7 || r.N != (puts-1)*alignPiece(n)+n {
		t.Fatalf("%d pieces, %+v", pieces, r.RequestToSend)
	}
	at := unsafe.Slice((*byte)(p.chunks.At(uint16(p.engine.sent[0].header.Token&0x7fff))), r.N)
	for i := range puts {
		x := &r.Pieces[i]
		if x.Offset != libshmem.Offset(9000*i) || x.N != n || x.Signals != (i%2 == 1) || x.Signals && (x.Signal != libshmem.Offset(8*(i+1)) || x.Operand != 100 || x.Op != fabric.OpAdd) {
			t.Errorf("piece %d is %+v", i, x)
		}
		if in := i * int(alignPiece(n)); string(at[in:in+n]) != string(p.bytes[(i+1)*8192:][:n]) {
			t.Errorf("bytes of piece %d are wrong", i)
		}
	}
	if len(p.engine.finished) != puts || len(p.engine.ended) != 0 {
		t.Errorf("sources of %d puts may be reused, and %d puts have ended", len(p.engine.finished), len(p.engine.ended))
	}
	p.answer(0, 0)
	if len(p.engine.ended) != puts {
		t.Errorf("%d puts have ended", len(p.engine.ended))
	}
	p.rest(t)
}

// A chunk takes what its bytes need, so that more than four are under way.
func TestChunkTrimmed(t *testing.T) {
	p := newSharingPE(t)
	for i := range 8 {
		p.share(1, fabric.Token(i+1), 1, 0, 7000, 0)
		p.Advance() // one by one
	}
	for i := 8; i < 16; i++ {
		p.share(1, fabric.Token(i+1), uint64(i), 0, 7000, 0)
	}
	p.Advance() // together, each behind a fence
	p.goOn()
	if len(p.engine.sent) != 16 || p.chunks.left != p.chunks.units-16 {
		t.Fatalf("%d messages, %d of %d units free", len(p.engine.sent), p.chunks.left, p.chunks.units)
	}
	for i := range p.engine.sent {
		p.answer(i, 0)
	}
	p.rest(t)
}

// A request to send has bytes of one epoch and one kind of memory, and no piece overtakes another.
func TestChunkOrder(t *testing.T) {
	p := newSharingPE(t)
	for i, c := range []struct {
		epoch  uint64
		offset libshmem.Offset
		n      int
	}{
		{1, 0, 5000}, {1, 8192, 5000}, // one chunk
		{2, 0, 5000}, {2, -8192, 5000}, {2, -16384, 5000}, // two
		{2, 0, 100}, {2, 0, 5000}, // a message, and one more
		{2, 0, 100_000}, // its own
		{2, 0, 6000}, {2, 8192, 6000},
	} {
		p.share(1, fabric.Token(i+1), c.epoch, c.offset, c.n, 0)
	}
	p.share(2, 11, 1, 0, 5000, 0)
	p.Advance()
	for range 3 {
		p.goOn()
	}
	var got [][2]int // epoch and pieces; no pieces: a part
	for i, m := range p.engine.sent {
		if m.pe != 1 {
			continue
		}
		if m.header.Kind == layout.KindPut {
			got = append(got, [2]int{})
			continue
		}
		r, pieces := p.request(t, i)
		got = append(got, [2]int{int(r.Fence), pieces})
	}
	want := [][2]int{{1, 2}, {2, 0}, {2, 2}, {0, 0}, {2, 0}, {2, 0}, {2, 2}}
	if len(got) != len(want) {
		t.Fatalf("messages %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("messages %v, want %v", got, want)
			break
		}
	}
	for i, m := range p.engine.sent {
		if m.header.Kind == layout.KindRequestToSend {
			p.answer(i, 0)
		}
	}
	if len(p.engine.ended) != 11 {
		t.Errorf("%d puts have ended", len(p.engine.ended))
	}
	p.rest(t)
}

// Of a lost PE all puts of a chunk fail, wherever it is; an error of a read fails those of its
// chunk.
func TestChunkDrop(t *testing.T) {
	p := newSharingPE(t)
	puts := fabric.Token(0)
	two := func() {
		for range 2 {
			puts++
			p.share(1, puts, 1, 0, 5000, 3)
		}
	}
	two() // read with an error
	p.Advance()
	p.goOn()
	p.answer(0, 13)
	if p.engine.spoiled == nil || len(p.engine.ended) != 2 {
		t.Errorf("error %v, %d puts have ended", p.engine.spoiled, len(p.engine.ended))
	}
	two() // a request for them will be out
	p.Advance()
	p.goOn()
	p.engine.room = 0
	two() // will be ready
	p.Advance()
	p.goOn()
	two() // will be in the stream
	p.Advance()
	two() // wait
	p.engine.lost[1] = errors.New("lost")
	p.Drop(1)
	p.goOn()
	for token := fabric.Token(3); token <= puts; token++ {
		if status, ok := p.engine.ended[token]; !ok || status != int32(call.Failed) {
			t.Errorf("put %d has ended %v, status %d", token, ok, status)
		}
	}
	p.rest(t)
}
