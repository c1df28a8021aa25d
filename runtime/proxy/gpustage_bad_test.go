package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

// unregistering is a provider that registers some regions and refuses further ones.
type unregistering struct {
	*end
	left int
}

func (u *unregistering) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	if u.left--; u.left < 0 {
		return fabric.Region{}, errors.New("Register fails")
	}
	return u.end.Register(base, n)
}

// If staging cannot begin, it says so, and keeps nothing.
func TestStageRefused(t *testing.T) {
	for _, test := range []struct {
		what    string
		config  gpustage.Config
		failing string
		regions int
		text    string
	}{
		{"odd chunks", gpustage.Config{Chunk: gpustage.LeastChunk + 1}, "", 9, "8 chunks of 8193 bytes are not possible (take 1 to 64, each a multiple of 8192)"},
		{"small chunks", gpustage.Config{Chunk: gpustage.LeastChunk / 2}, "", 9, "not possible"},
		{"many chunks", gpustage.Config{Chunks: gpustage.MaxChunks + 1}, "", 9, "not possible"},
		{"fewer than no chunks", gpustage.Config{Chunks: -1}, "", 9, "not possible"},
		{"no pinned memory", gpustage.Config{}, "Pin", 9, "stage GPU memory: pin 19431424 bytes: Pin fails"},
		{"no region", gpustage.Config{}, "", 2, "stage GPU memory: register 19431424 bytes: Register fails"},
		{"not even closed", gpustage.Config{Chunks: -1}, "Close", 9, "Close fails"},
	} {
		c := newTestGPU(t, new(gpus), nil, 4096)
		c.all = &[]*testGPU{c}
		c.failing = test.failing
		p := pe{words: [5]uint32{}}
		net := newFakeNetwork(t, modes[0], 1, 1)
		e, err := New(&unregistering{net.ends[0], test.regions}, 0, 1,
			mem.Segment{Base: unsafe.Pointer(&c.memory[0]), Internal: internal, Size: internal + 4096, Heap: unsafe.Pointer(&c.device[0])},
			wake.Words{Lock: &p.words[0], Pollers: &p.words[1], Napping: &p.words[4], Sleepers: &p.words[2], Wakes: &p.words[3]},
			func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gpustage.New(e.Host(), c, test.config); err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %q", test.what, err, test.text)
		}
		if !c.closed || len(c.pinned) != 0 {
			t.Errorf("%s: closed %v with %d blocks pinned", test.what, c.closed, len(c.pinned))
		}
		if err := e.Connect([]Endpoint{{}}); err == nil || err.Error() != "connect: the heap is GPU memory, and the engine has no GPU to copy it with" {
			t.Errorf("%s: connect: %v", test.what, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A GPU that fails ends the job, and the error names the call.
func TestStagedFailures(t *testing.T) {
	for _, call := range []string{"Copy", "Write", "Atomic", "Mark", "Marked"} {
		g := gpus{atomics: stream.AllAtomics}
		m := modes[0]
		m.gpus = &g
		j := newJob(t, m, 1, 2, 4096)
		a, b := j.pes[0], j.pes[1]
		buf := make([]byte, 100)
		b.card.failing = call
		a.post(func() Status { return a.Put(1, 8, unsafe.Pointer(&buf[0]), 8, nil) })
		a.post(func() Status { return a.Put(1, 100, unsafe.Pointer(&buf[0]), 100, nil) })
		a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) })
		j.await("failure", func() bool { return len(b.fatals) > 0 })
		if want := "GPU memory: " + call + " fails"; b.fatals[0].Error() != want {
			t.Errorf("%v, want %s", b.fatals[0], want)
		}
	}
	g := gpus{}
	m := modes[0]
	m.gpus = &g
	j := newJob(t, m, 1, 1, 4096)
	a := j.pes[0]
	a.card.failing = "Close"
	if err := a.Close(); err == nil || !strings.Contains(err.Error(), "Close fails") || len(a.end.regions) != 0 || len(a.card.pinned) != 0 {
		t.Errorf("close: %v, %d regions, %d blocks pinned", err, len(a.end.regions), len(a.card.pinned))
	}
}

// If bytes cannot be read, the put that requested to send them fails, and so does the get that
// wanted them.
func TestStagedErrors(t *testing.T) {
	for _, base := range modes {
		var failing libshmem.PE
		m := base
		m.gpus = &gpus{alone: true, delay: 2, chunk: gpustage.LeastChunk, chunks: 2}
		m.fail = func(o *work) int32 {
			if o.kind == fabric.KindRead && o.from == failing {
				return 113
			}
			return 0
		}
		t.Run(m.name, func(t *testing.T) {
			const n = 12_000
			j := newJob(t, m, 1, 2, 1<<16)
			a := j.pes[0]
			buf := make([]byte, n)
			host := unsafe.Pointer(&buf[0])
			gpu, _ := a.card.local(buf)
			size := min(uint64(n), a.PutMax())
			for _, test := range []struct {
				what string
				by   libshmem.PE // the PE that reads
				post func(r *Request) Status
				late bool // its request ends when the source may be reused
				text string
			}{
				{"put", 1, func(r *Request) Status { return a.Put(1, 0, host, size, r) }, false, "PE 1: read the bytes of a put: error 113"},
				{"put of GPU memory", 1, func(r *Request) Status { return a.Put(1, 0, gpu, n, r) }, true, "PE 1: read the bytes of a put: error 113"},
				{"put with signal", 1, func(r *Request) Status { return a.PutSignal(1, 64, gpu, n, 0, 1, fabric.OpSet, r) }, true, "PE 1: read the bytes of a put: error 113"},
				{"get", 0, func(r *Request) Status { return a.Get(1, 0, host, n, r) }, false, "PE 1: get: error 113"},
				{"get into GPU memory", 0, func(r *Request) Status { return a.Get(1, 0, gpu, n, r) }, false, "PE 1: get: error 113"},
			} {
				if test.what == "put" && size <= layout.MaxPayload {
					continue // all travel as messages
				}
				failing = test.by
				var r Request
				a.post(func() Status { return test.post(&r) })
				j.await("request", func() bool { return r.Done != 0 })
				st := Pending
				if j.await("quiet", func() bool { st = a.Quiet(); return st != Pending }); test.late {
					if r.Status != 0 || st != Failed {
						t.Errorf("%s: status %d, quiet %d", test.what, r.Status, st)
					}
				} else if r.Status != 113 || st != Done {
					t.Errorf("%s: status %d, quiet %d", test.what, r.Status, st)
				}
				if a.Err() == nil || a.Err().Error() != test.text {
					t.Errorf("%s: %v, want %s", test.what, a.Err(), test.text)
				}
				a.post(func() Status { return test.post(nil) })
				if j.await("quiet", func() bool { st = a.Quiet(); return st != Pending }); st != Failed || a.Err().Error() != test.text {
					t.Errorf("quiet after %s: %d, %v", test.what, st, a.Err())
				}
				failing = -1
				a.post(func() Status { return test.post(nil) })
				a.quiet()
			}
			j.close()
		})
	}
}

// Messages that no engine sends leave everything as it is.
func TestBadStagedMessages(t *testing.T) {
	const heap = 4096
	piece := func(o layout.RequestToSend) string {
		return string(bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&o)), layout.RequestToSendSize)))
	}
	pieces := func(n uint64, more ...layout.PieceOfSend) string {
		b := piece(layout.RequestToSend{N: n})
		for i := range more {
			b += string(unsafe.Slice((*byte)(unsafe.Pointer(&more[i])), layout.PieceOfSendSize))
		}
		return b
	}
	rts := layout.Header{Kind: layout.KindRequestToSend}
	for _, test := range []struct {
		what    string
		h       layout.Header
		payload string
		text    string
	}{
		{"half a piece", rts, pieces(8, layout.PieceOfSend{N: 8})[:40], "kind 7"},
		{"many pieces", rts, pieces(8, make([]layout.PieceOfSend, layout.MaxPieces+1)...), "kind 7"},
		{"empty piece", rts, pieces(8, layout.PieceOfSend{N: 8}, layout.PieceOfSend{Order: 1}), "kind 7"},
		{"piece outside", rts, pieces(8, layout.PieceOfSend{N: 8, Offset: heap - 4}), "outside"},
		{"pieces of more bytes", rts, pieces(100, layout.PieceOfSend{N: 8}, layout.PieceOfSend{N: 8, Order: 1}), "kind 7"},
		{"pieces of fewer bytes", rts, pieces(71, layout.PieceOfSend{N: 8}, layout.PieceOfSend{N: 8, Order: 1}), "kind 7"},
		{"pieces of two memories", rts, pieces(72, layout.PieceOfSend{N: 8}, layout.PieceOfSend{N: 8, Offset: -8, Order: 1}), "kind 7"},
		{"pieces of one turn", rts, pieces(72, layout.PieceOfSend{N: 8}, layout.PieceOfSend{N: 8}), "kind 7"},
		{"piece of a turn behind the last", rts, pieces(72, layout.PieceOfSend{N: 8}, layout.PieceOfSend{N: 8, Order: 2}), "kind 7"},
		{"offer without payload", layout.Header{Kind: layout.KindRequestToSend}, "", "kind 7"},
		{"offer outside", layout.Header{Kind: layout.KindRequestToSend, Offset: heap}, piece(layout.RequestToSend{N: 1}), "outside"},
		{"offer of much", layout.Header{Kind: layout.KindRequestToSend}, piece(layout.RequestToSend{N: 1 << 63}), "outside"},
		{"offer across the end of the internal area", layout.Header{Kind: layout.KindRequestToSend, Offset: -8}, piece(layout.RequestToSend{N: 16}), "outside"},
		{"offer for no get", layout.Header{Kind: layout.KindRequestToSend}, piece(layout.RequestToSend{N: 1, Get: 1<<16 | layout.Receives}), "was not sent"},
		{"data for no get", layout.Header{Kind: layout.KindData, Token: 1<<16 | layout.Receives}, "data", "was not sent"},
		{"data for a receive buffer", layout.Header{Kind: layout.KindData, Token: 3}, "data", "was not sent"},
		{"nothing was offered", layout.Header{Kind: layout.KindFinished, Token: 1<<16 | layout.ChunkToken}, "", "was not sent"},
		{"no such chunk", layout.Header{Kind: layout.KindFinished, Token: 1<<16 | layout.ChunkToken | 0x7fff}, "", "was not sent"},
		{"no such put", layout.Header{Kind: layout.KindFinished, Token: 1<<16 | layout.Receives}, "", "was not sent"},
		{"fetch of main memory", layout.Header{Kind: layout.KindFetch, Offset: -8, Operand: 8}, "", "kind 9"},
		{"fetch outside", layout.Header{Kind: layout.KindFetch, Offset: heap - 7, Operand: 8}, "", "outside"},
		{"store of 3 bytes", layout.Header{Kind: layout.KindStore, Width: 3}, "", "width 3"},
		{"store outside", layout.Header{Kind: layout.KindStore, Width: 8, Offset: heap}, "", "outside"},
		{"put outside", layout.Header{Kind: layout.KindPut, Offset: heap - 3}, "data", "outside"},
		{"atomic on 2 bytes", layout.Header{Kind: layout.KindAMO, Op: fabric.OpAdd, Width: 2}, "", "width 2"},
		{"atomic not aligned", layout.Header{Kind: layout.KindAMO, Op: fabric.OpAdd, Width: 8, Offset: 4}, "", "not aligned"},
		{"atomic that this GPU has not", layout.Header{Kind: layout.KindAMO, Op: fabric.OpAdd, Width: 8}, "", "operation 2"},
		{"signal outside", layout.Header{Kind: layout.KindPutSignal, Op: fabric.OpSet, Operand: 1, Extra: heap}, "data", "outside"},
		{"put with signal outside", layout.Header{Kind: layout.KindPutSignal, Op: fabric.OpSet, Operand: 1, Offset: heap, Extra: 8}, "data", "outside"},
		{"put with signal before the internal area", layout.Header{Kind: layout.KindPutSignal, Op: fabric.OpSet, Operand: 1, Offset: -internal - 8, Extra: 8}, "data", "outside"},
		{"internal put with signal outside", layout.Header{Kind: layout.KindPutSignal, Op: fabric.OpSet, Operand: 1, Offset: -8, Extra: heap}, "data", "outside"},
		{"signal not aligned", layout.Header{Kind: layout.KindPutSignal, Op: fabric.OpSet, Extra: 4}, "data", "not aligned"},
	} {
		m := modes[0]
		m.gpus = &gpus{}
		j := newJob(t, m, 1, 2, heap)
		a := j.pes[0]
		before := bytes.Clone(a.memory)
		test.h.From, test.h.Seq = 1, 1
		a.takeBack()
		a.deliver(encoded(test.h, test.payload))
		a.poll()
		a.poll()
		if len(a.fatals) != 1 || !strings.Contains(a.fatals[0].Error(), test.text) {
			t.Errorf("%s: %q, want an error with %q", test.what, a.fatals, test.text)
		}
		if !bytes.Equal(a.memory, before) || len(a.ops.Table.Free) != layout.Tokens-layout.Receives || a.pulls() != 0 {
			t.Errorf("%s: it did something", test.what)
		}
	}
}

// Operations that the owner of GPU memory cannot do fail at their caller. A set and a fetch always
// work.
func TestAtomicRefused(t *testing.T) {
	m := modes[0]
	m.gpus = &gpus{has: func(pe int) bool { return pe == 1 }}
	j := newJob(t, m, 1, 2, 4096)
	a, b := j.pes[0], j.pes[1]
	text := "on 8 bytes of GPU memory of PE 1: its driver cannot do it in a stream, and kernels change the memory too (set SHMEM_HEAP=host, or "
	var r Request
	for what, f := range map[string]func() Status{
		"add":        func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) },
		"swap":       func() Status { return a.AMO(1, 0, fabric.OpSwap, 8, 1, 0, nil, &r) },
		"put_signal": func() Status { return a.PutSignal(1, 0, nil, 0, 8, 1, fabric.OpAdd, nil) },
	} {
		if st := f(); st != Failed || !strings.Contains(a.Err().Error(), text) {
			t.Errorf("%s: %d, %v", what, st, a.Err())
		}
	}
	a.post(func() Status { return a.AMO(1, 0, fabric.OpSet, 8, 5, 0, nil, nil) })
	a.post(func() Status { return a.PutSignal(1, 16, unsafe.Pointer(&r), 8, 8, 6, fabric.OpSet, nil) })
	a.post(func() Status { return a.AMO(1, -8, fabric.OpAdd, 8, 7, 0, nil, nil) }) // main memory
	a.quiet()
	if got := a.do(func(r *Request) Status { return a.AMO(1, 0, fabric.OpFetch, 8, 0, 0, nil, r) }); got != 5 {
		t.Errorf("fetched %d, want 5", got)
	}
	if got := binary.NativeEndian.Uint64(b.heap[8:]); got != 6 {
		t.Errorf("signal is %d, want 6", got)
	}
	if got := binary.NativeEndian.Uint64(b.memory[internal-8:]); got != 7 {
		t.Errorf("word in main memory is %d, want 7", got)
	}
	j.close()
}
