package proxy

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// deliver gives p a message as if it had come from the network.
func (p *pe) deliver(m []byte) {
	buf := p.ops.Net.Buffer(0)
	copy(unsafe.Slice((*byte)(buf), layout.MessageSize), m)
	p.Complete([]fabric.Completion{{Token: 0, Kind: fabric.KindRecv, Len: uint64(len(m))}})
}

// takeBack makes the next receive completion of buffer 0 a valid one.
func (p *pe) takeBack() {
	delete(p.end.busy, 0)
	p.end.recvs = p.end.recvs[:0]
}

// encoded returns a message as it travels.
func encoded(h layout.Header, payload string) []byte {
	h.Job = token
	return append(bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&h)), layout.HeaderSize)), payload...)
}

func TestBadMessages(t *testing.T) {
	const heap = 4096
	good := layout.Header{From: 1, Seq: 1}
	with := func(f func(h *layout.Header)) []byte {
		h := good
		f(&h)
		return encoded(h, strings.Repeat("x", 16))
	}
	tests := []struct {
		what    string
		message []byte
		text    string
	}{
		{"no kind", with(func(h *layout.Header) {}), "kind 0"},
		{"unknown kind", with(func(h *layout.Header) { h.Kind = layout.KindReply + 1 }), "kind 7"},
		{"no operation", with(func(h *layout.Header) { h.Kind, h.Width = layout.KindAMO, 8 }), "operation 0"},
		{"unknown operation", with(func(h *layout.Header) { h.Kind, h.Op, h.Width = layout.KindAMO, fabric.OpFetchXor+1, 8 }), "operation 13"},
		{"atomic on 2 bytes", with(func(h *layout.Header) { h.Kind, h.Op, h.Width = layout.KindAMO, fabric.OpAdd, 2 }), "width 2"},
		{"atomic behind the heap", with(func(h *layout.Header) { h.Kind, h.Op, h.Width, h.Offset = layout.KindAMO, fabric.OpSet, 8, heap }),
			"8 bytes at heap offset 0x1000, outside this PE's heap of 0x1000 bytes (set the same SHMEM_SYMMETRIC_SIZE"},
		{"atomic across the end", with(func(h *layout.Header) { h.Kind, h.Op, h.Width, h.Offset = layout.KindAMO, fabric.OpSet, 8, heap-4 }), "outside"},
		{"atomic not aligned", with(func(h *layout.Header) { h.Kind, h.Op, h.Width, h.Offset = layout.KindAMO, fabric.OpSet, 8, 4 }), "not aligned"},
		{"store of 0 bytes", with(func(h *layout.Header) { h.Kind, h.Width = layout.KindStore, 0 }), "width 0"},
		{"store of 3 bytes", with(func(h *layout.Header) { h.Kind, h.Width, h.Offset = layout.KindStore, 3, heap-3 }), "width 3"},
		{"store of 16 bytes", with(func(h *layout.Header) { h.Kind, h.Width = layout.KindStore, 16 }), "width 16"},
		{"store behind the heap", with(func(h *layout.Header) { h.Kind, h.Width, h.Offset = layout.KindStore, 1, heap }), "outside"},
		{"store before the internal area", with(func(h *layout.Header) { h.Kind, h.Width, h.Offset = layout.KindStore, 8, -internal-1 }), "outside"},
		{"store at the lowest offset", with(func(h *layout.Header) { h.Kind, h.Width, h.Offset = layout.KindStore, 8, -1<<63 }), "outside"},
		{"store at the highest offset", with(func(h *layout.Header) { h.Kind, h.Width, h.Offset = layout.KindStore, 8, 1<<63-1 }), "outside"},
		{"put across the end", with(func(h *layout.Header) { h.Kind, h.Offset = layout.KindPut, heap-15 }), "16 bytes at heap offset 0xff1"},
		{"put_signal with bytes outside", with(func(h *layout.Header) { h.Kind, h.Op, h.Offset = layout.KindPutSignal, fabric.OpSet, heap }), "outside"},
		{"put_signal with signal outside", with(func(h *layout.Header) { h.Kind, h.Op, h.Extra = layout.KindPutSignal, fabric.OpSet, heap }), "outside"},
		{"put_signal with signal not aligned", with(func(h *layout.Header) { h.Kind, h.Op, h.Extra = layout.KindPutSignal, fabric.OpSet, 33 }), "not aligned"},
		{"put_signal without operation", with(func(h *layout.Header) { h.Kind, h.Extra = layout.KindPutSignal, 32 }), "operation 0"},
		{"answer to a receive buffer", with(func(h *layout.Header) { h.Kind, h.Token = layout.KindReply, 3 }), "request 0x3, which was not sent"},
		{"answer to no token", with(func(h *layout.Header) { h.Kind, h.Token = layout.KindReply, layout.Tokens }), "was not sent"},
		{"answer to a free token", with(func(h *layout.Header) { h.Kind, h.Token = layout.KindReply, layout.Tokens-1 }), "was not sent"},
		{"behind more writes than may be", with(func(h *layout.Header) { h.Kind, h.Width, h.Need = layout.KindStore, 8, 1 }), "kind 2"},
		{"acknowledges what was not written", with(func(h *layout.Header) { h.Kind, h.Width, h.Ack = layout.KindStore, 8, 1 }), "1 writes acknowledged of 0"},
		{"is wrong in all ways", with(func(h *layout.Header) { h.Kind, h.Op, h.Need, h.Ack = 48, 48, 1, 1 }), "kind 48"},
		{"no write will come, and none could", with(func(h *layout.Header) { h.Kind = layout.KindVoid }), "kind 15"},
		{"far too early", with(func(h *layout.Header) { h.Kind, h.Width, h.Seq = layout.KindStore, 8, 70000 }),
			"message 70000 of PE 1 arrived when 1 was due: provider tcp;ofi_rxm lost messages (name another in SHMEM_PROVIDER)"},
	}
	for _, test := range tests {
		m := modes[0]
		m.caps.Provider = "tcp;ofi_rxm"
		j := newJob(t, m, 1, 2, heap)
		a := j.pes[0]
		for i := range a.memory {
			a.memory[i] = byte(i)
		}
		before := bytes.Clone(a.memory)
		a.takeBack()
		a.deliver(test.message)
		if len(a.fatals) != 1 || !strings.Contains(a.fatals[0].Error(), test.text) {
			t.Errorf("%s: %q, want an error with %q", test.what, a.fatals, test.text)
		}
		if !bytes.Equal(a.memory, before) {
			t.Errorf("%s: memory has changed", test.what)
		}
		if len(a.out.Unsent)+len(j.net.flying) != 0 || len(a.ops.Table.Free) != layout.Tokens-layout.Receives {
			t.Errorf("%s: it was answered", test.what)
		}
	}
}

// A message that comes twice is dropped, and the job goes on. A message far too early ends the job:
// it would be kept for ever.
func TestBadSequence(t *testing.T) {
	for what, c := range map[string]struct {
		seqs    []uint32
		refused bool
	}{
		"repeated at once":    {[]uint32{1, 1}, true},
		"repeated early":      {[]uint32{3, 3}, true},
		"repeated late":       {[]uint32{2, 1, 2}, true},
		"from the past":       {[]uint32{0}, true},
		"behind a wrap-round": {[]uint32{1<<32 - 1}, true},
		"far ahead":           {[]uint32{furthest + 1}, false},
	} {
		j := newJob(t, modes[0], 1, 2, 4096)
		a := j.pes[0]
		a.Report.ReportTo(nil)
		for _, seq := range c.seqs {
			if len(a.fatals) > 0 || a.Report.Refused() > 0 {
				t.Errorf("%s: %v, %d refused before message %d", what, a.fatals, a.Report.Refused(), seq)
			}
			a.takeBack()
			a.deliver(encoded(layout.Header{Kind: layout.KindStore, Width: 8, From: 1, Seq: seq}, ""))
		}
		if c.refused && (a.Report.Refused() != 1 || len(a.fatals) > 0) {
			t.Errorf("%s: %d refused, %q", what, a.Report.Refused(), a.fatals)
		}
		if !c.refused && (len(a.fatals) != 1 || !strings.Contains(a.fatals[0].Error(), "lost messages")) {
			t.Errorf("%s: %q", what, a.fatals)
		}
	}
}

// An answer ends the request that it names, once, and only if it comes from the PE that was asked.
func TestBadAnswers(t *testing.T) {
	j := newJob(t, modes[0], 1, 3, 4096)
	a := j.pes[0]
	var r Request
	answer := func(from, token, seq uint32) {
		a.takeBack()
		a.deliver(encoded(layout.Header{Kind: layout.KindReply, From: from, Token: token, Seq: seq, Operand: 7}, ""))
	}
	ask := func() uint32 {
		r = Request{}
		if st := a.AMO(1, 0, fabric.OpFetch, 8, 0, 0, nil, &r); st != Pending {
			t.Fatalf("fetch: %d", st)
		}
		return a.ops.Table.RequestID(a.lastToken(useReply))
	}
	first := ask()
	if answer(2, first, 1); r.Done != 0 {
		t.Error("an answer of another PE was taken")
	}
	a.want("PE 2 answered request")
	if answer(1|1<<layout.ContextShift, first, 1); r.Done != 0 {
		t.Error("an answer to another context was taken")
	}
	a.want("was not sent")
	if answer(1, first, 1); r.Done == 0 || r.Value != 7 {
		t.Errorf("answered: %+v", r)
	}
	answer(1, first, 2)
	a.want("was not sent")
	second := ask()
	if second&0xffff != first&0xffff || second == first {
		t.Fatalf("requests %#x and %#x: want the same token", first, second)
	}
	if answer(1, first, 3); r.Done != 0 {
		t.Error("an old answer was taken")
	}
	a.want("was not sent")
	if answer(1, second, 4); r.Done == 0 {
		t.Error("not answered")
	}
}

func (e *Engine) lastToken(u use) fabric.Token {
	for t := range e.ops.Table.Records {
		if e.ops.Table.Records[t].Use == u {
			return fabric.Token(t)
		}
	}
	return 0
}

func TestBadCompletions(t *testing.T) {
	for what, c := range map[string]fabric.Completion{
		"free token":               {Token: layout.Tokens - 1, Kind: fabric.KindWrite},
		"free token with error":    {Token: layout.Tokens - 1, Kind: fabric.KindWrite, Err: 5},
		"token out of range":       {Token: layout.Tokens, Kind: fabric.KindSend},
		"token far out with error": {Token: 1<<32 - 1, Kind: fabric.KindSend, Err: 5},
		"token of a request":       {Token: layout.Receives, Kind: fabric.KindSend, Err: 5},
	} {
		j := newJob(t, modes[0], 1, 2, 4096)
		a := j.pes[0]
		var r Request
		a.post(func() Status { return a.AMO(1, 0, fabric.OpFetch, 8, 0, 0, nil, &r) })
		free := len(a.ops.Table.Free)
		a.Complete([]fabric.Completion{c})
		if len(a.fatals) != 1 || !strings.Contains(a.fatals[0].Error(), "not in flight") {
			t.Errorf("%s: %q", what, a.fatals)
		}
		if len(a.ops.Table.Free) != free || r.Done != 0 {
			t.Errorf("%s: it ended something", what)
		}
	}
}

// A failed operation is reported once: to its caller, else to quiet.
func TestErrors(t *testing.T) {
	var kind fabric.Kind
	m := modes[1] // LocalMR: the regions of failed operations must go too
	m.caps.MaxInject = 0
	m.fail = func(o *work) int32 {
		if o.kind == kind && o.from == 0 {
			return 113
		}
		return 0
	}
	j := newJob(t, m, 1, 2, 1<<20)
	a, b := j.pes[0], j.pes[1]
	buf := make([]byte, 10000)
	at := unsafe.Pointer(&buf[0])
	put := func(r *Request) Status { return a.Put(1, 0, at, 10000, r) }
	signal := func(r *Request) Status { return a.PutSignal(1, 8, at, 10000, 0, 1, fabric.OpSet, r) }
	get := func(r *Request) Status { return a.Get(1, 0, at, 10, r) }
	for _, test := range []struct {
		what string
		kind fabric.Kind
		post func(r *Request) Status
	}{
		{"write", fabric.KindWrite, put}, {"write", fabric.KindWrite, signal}, {"read", fabric.KindRead, get},
	} {
		text := "PE 1: " + test.what + ": the network of the tests says 113"
		kind = test.kind
		var r Request
		a.post(func() Status { return test.post(&r) })
		j.await("request", func() bool { return r.Done != 0 })
		if r.Status != 113 || a.Err() == nil || a.Err().Error() != text {
			t.Errorf("blocking %s: status %d, %v", test.what, r.Status, a.Err())
		}
		a.quiet()

		a.post(func() Status { return test.post(nil) })
		a.fence()
		st := Pending
		j.await("quiet", func() bool { st = a.Quiet(); return st != Pending })
		if st != Failed || a.Err().Error() != text {
			t.Errorf("quiet after %s: %d, %v", test.what, st, a.Err())
		}
		a.quiet() // the failure is reported once
		kind = 0
		a.post(func() Status { return test.post(nil) })
		a.quiet()
	}
	if j.close(); len(b.fatals) > 0 {
		t.Error(b.fatals)
	}
}

// The signal of a put whose bytes are lost must not come, if it can be held back.
func TestSignalOfLostBytes(t *testing.T) {
	for _, m := range []mode{modes[2], modes[5], rough(modes[5])} {
		seeds(10, func(seed uint64) {
			defer described(t, seed)
			fails := true
			m.fail = func(o *work) int32 {
				if o.kind == fabric.KindWrite && fails {
					return 5
				}
				return 0
			}
			j := newJob(t, m, seed, 2, 1<<20)
			a, b := j.pes[0], j.pes[1]
			buf := make([]byte, 10000)
			at := unsafe.Pointer(&buf[0])
			a.post(func() Status { return a.PutSignal(1, 8, at, 10000, 0, 1, fabric.OpAdd, nil) })
			j.await("failure", func() bool { return a.Quiet() == Failed })
			// Later messages do not wait for a message that will never come.
			fails = false
			a.post(func() Status { return a.PutSignal(1, 8, at, 10000, 0, 2, fabric.OpAdd, nil) })
			a.fence()
			a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 4, 0, nil, nil) })
			a.quiet()
			j.close()
			if b.heap[0] != 6 {
				t.Errorf("%s: signals %#b came, want 110", m.name, b.heap[0])
			}
		})
	}
}

func TestLostMessage(t *testing.T) {
	m := modes[2]
	m.caps.MaxInject = 0
	m.fail = func(o *work) int32 { return 5 }
	j := newJob(t, m, 1, 2, 4096)
	a := j.pes[0]
	a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) })
	j.await("end of the job", func() bool { return len(a.fatals) > 0 })
	a.want("PE 1: send: the network of the tests says 5")
}

func TestReceiveError(t *testing.T) {
	j := newJob(t, modes[0], 1, 1, 4096)
	a := j.pes[0]
	a.Complete([]fabric.Completion{{Token: 2, Kind: fabric.KindRecv, Err: 5}})
	a.want("receive: the network of the tests says 5")
}

// refusal makes every post of an endpoint fail for good.
type refusal struct {
	*end
	err error
}

func (r *refusal) Send(op *fabric.Send) error {
	if r.err != nil {
		return r.err
	}
	return r.end.Send(op)
}

// A quiet, and a put that must wait for an answer, do not try for ever if the network refuses to
// send. Nor does a PE that owes an answer.
func TestRefusedSends(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 1<<20)
	a, b := j.pes[0], j.pes[1]
	buf := make([]byte, 10000)
	at := unsafe.Pointer(&buf[0])
	a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) })
	a.fence()
	broken := &refusal{a.end, errUnreachable}
	a.ops.Net.Provider = broken
	for what, f := range map[string]func() Status{
		"quiet":      a.Quiet,
		"atomic":     func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) },
		"large put":  func() Status { return a.Put(1, 0, at, 10000, nil) },
		"put signal": func() Status { return a.PutSignal(1, 0, at, 8, 16, 1, fabric.OpSet, nil) },
		"fetch":      func() Status { return a.AMO(1, 0, fabric.OpFetch, 8, 1, 0, nil, new(Request)) },
	} {
		if st := f(); st != Failed || a.Err() != errUnreachable {
			t.Errorf("%s: %d, %v", what, st, a.Err())
		}
	}
	broken.err = nil
	a.quiet()

	b.ops.Net.Provider = &refusal{b.end, errUnreachable}
	a.post(func() Status { return a.AMO(1, 0, fabric.OpFetch, 8, 1, 0, nil, new(Request)) })
	j.await("end of the job", func() bool { return len(b.fatals) > 0 })
	b.want("PE 0: send: no route to the PE")
}

// jobAt is the place of the job's token in a message.
const jobAt = int(unsafe.Offsetof(layout.Header{}.Job))

// FuzzReceive: for arbitrary input, memory changes only as a good message says, no token is lost,
// and no byte outside is read or written (there are guards).
func FuzzReceive(f *testing.F) {
	f.Add(encoded(layout.Header{Kind: layout.KindPut, From: 1, Seq: 1, Offset: 16}, "payload"))
	f.Add(encoded(layout.Header{Kind: layout.KindPutSignal, Op: fabric.OpAdd, From: 1, Seq: 1, Offset: 16, Extra: 8}, "payload"))
	f.Add(encoded(layout.Header{Kind: layout.KindAMO, Op: fabric.OpFetchAdd, Width: 4, Fetch: 1, From: 1, Seq: 2, Offset: -16}, ""))
	f.Add(encoded(layout.Header{Kind: layout.KindStore, Width: 2, From: 0, Seq: 1, Offset: 4094}, ""))
	f.Add(encoded(layout.Header{Kind: layout.KindFlush, From: 1, Seq: 1, Token: 99}, ""))
	f.Add(encoded(layout.Header{Kind: layout.KindReply, From: 1, Seq: 1, Token: 1<<16 | layout.Receives, Operand: 3}, ""))
	f.Add(encoded(layout.Header{Kind: layout.KindReply, From: 1, Seq: 1, Token: 1<<16 | layout.FlushToken}, ""))
	f.Add(encoded(layout.Header{Kind: layout.KindReply, From: 1, Seq: 1, Token: 2<<16 | layout.FlushToken}, ""))
	stored := string(encoded(layout.Header{Kind: layout.KindStore, Width: 8, Offset: 8, Operand: 1}, "")[:layout.RecordSize])
	lost := string(encoded(layout.Header{Kind: layout.KindStore, Width: 8, Offset: 4096, Operand: 1}, "")[:layout.RecordSize])
	f.Add(encoded(layout.Header{Kind: layout.KindBatch, From: 1, Seq: 1}, stored+stored))
	f.Add(encoded(layout.Header{Kind: layout.KindBatch, From: 1, Seq: 1}, stored+lost+lost))
	f.Add(encoded(layout.Header{Kind: layout.KindPut, From: 1, Seq: 1, Need: 5, Ack: 5, Offset: 4096}, "payload"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, m []byte) {
		j := newJob(t, modes[0], 1, 2, 4096)
		a := j.pes[0]
		var fetched uint64
		a.post(func() Status { return a.AMO(1, 0, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(&fetched), nil) })
		a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) })
		if st := a.Quiet(); st != Pending || a.ops.Quiets.Pending != [3]int{0, 1, 0} || !a.ops.Peers[1].Flushing {
			t.Fatalf("quiet: %d, %d pending", st, a.ops.Quiets.Pending)
		}
		before, free, sent := bytes.Clone(a.memory), len(a.ops.Table.Free), len(j.net.flying)
		if len(m) >= layout.HeaderSize && m[jobAt] != 0 { // otherwise few inputs would get past the token
			m = bytes.Clone(m)
			binary.NativeEndian.PutUint64(m[jobAt:], token)
		}
		a.Report.ReportTo(nil)
		a.takeBack()
		a.deliver(m[:min(len(m), layout.MessageSize)])
		changed := 0
		for i := range before {
			if before[i] != a.memory[i] {
				changed++
			}
		}
		early := 0
		a.forEachContext(func(s *Engine) { early += s.in.Early.Len() })
		var h layout.Header
		if len(m) >= layout.HeaderSize {
			h = *(*layout.Header)(unsafe.Pointer(&append([]byte(nil), m...)[0]))
		}
		switch {
		case len(a.fatals) > 1:
			t.Errorf("several errors: %v", a.fatals)
		case a.Report.Refused() > 1 || a.Report.Refused() == 1 && len(a.fatals) > 0:
			t.Errorf("%d refused: %v", a.Report.Refused(), a.fatals)
		case (len(m) < layout.HeaderSize || h.Job != token || h.From&(1<<layout.ContextShift-1) > 1) && a.Report.Refused() != 1:
			t.Error("a message of a stranger was not refused")
		case len(a.fatals)+int(a.Report.Refused()) == 1 && (changed > 0 && h.Kind != layout.KindBatch || len(a.ops.Table.Free) != free || len(j.net.flying) != sent || early != 0):
			t.Errorf("%v, and yet %d bytes changed, %d of %d tokens free, %d early", a.fatals, changed, len(a.ops.Table.Free), free, early)
		case a.Report.Refused() > 0:
		case len(a.fatals) == 0 && early == 0 && h.Kind == layout.KindReply && len(a.ops.Table.Free) != free+1 && a.ops.Peers[1].Flushing:
			t.Error("an answer was taken and no request ended")
		case len(a.fatals) == 0 && h.Kind != layout.KindReply && len(a.ops.Table.Free) != free:
			t.Error("a message that is no answer ended a request")
		case changed > max(16, len(m)-layout.HeaderSize+8):
			t.Errorf("%d bytes changed by a message of %d", changed, len(m))
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzComplete: arbitrary completions free no token twice.
func FuzzComplete(f *testing.F) {
	f.Add([]byte{0, 0, 0, 64, 0, 1, 0, 5, 65, 0, 1, 3})
	f.Add(binary.NativeEndian.AppendUint64(nil, 1<<63))
	f.Fuzz(func(t *testing.T, script []byte) {
		m := modes[1]
		m.caps.MaxInject = 0
		j := newJob(t, m, 1, 2, 1<<20)
		a := j.pes[0]
		buf := make([]byte, 5000)
		at := unsafe.Pointer(&buf[0])
		var r, r2 Request
		a.Get(1, 0, at, 5000, &r)
		a.Get(1, 0, at, 5000, nil)
		a.Put(1, 0, at, 5000, &r2)
		a.Put(1, 0, at, 5000, nil)
		a.PutSignal(1, 0, at, 5000, 8, 1, fabric.OpAdd, nil)
		a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil)
		a.AMO(1, 0, fabric.OpFetch, 8, 1, 0, at, nil)
		a.Report.ReportTo(nil)
		j.net.t = ignoring{t} // tokens come back that are still in use below
		for ; len(script) >= 4; script = script[4:] {
			c := fabric.Completion{
				Token: fabric.Token(script[0]) | fabric.Token(script[1])<<8, Kind: fabric.Kind(script[2] & 7), Err: int32(script[3] & 1),
			}
			if c.Token < layout.Receives {
				c.Len = uint64(script[3]) << 5
			}
			a.Complete([]fabric.Completion{c})
		}
		seen := map[fabric.Token]bool{}
		for _, token := range a.ops.Table.Free {
			if seen[token] || token < layout.Receives || token >= layout.Tokens || a.ops.Table.Records[token].Use != 0 {
				t.Fatalf("token %d is free twice, or in use", token)
			}
			seen[token] = true
		}
		if p := a.ops.Quiets.Pending; min(p[0], p[1], p[2]) < 0 || p[0]+p[1]+p[2] > 5 {
			t.Errorf("%d operations pending", p)
		}
	})
}

// ignoring drops reports of errors.
type ignoring struct{ testing.TB }

func (ignoring) Errorf(string, ...any) {}
