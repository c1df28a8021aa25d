package proxy

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// transferBench is one context with a provider and messages that only note what they are asked for.
type transferBench struct {
	fabric.Provider
	transfers
	caps     fabric.Caps
	refuses  error
	posted   []fabric.RMA
	events   []string
	behind   bool
	parked   bool
	flushing call.Status
	admits   call.Status
	sent     []layout.Header
	queue    []fabric.Token
	memory   []byte
}

func (b *transferBench) note(s string)     { b.events = append(b.events, s) }
func (b *transferBench) Caps() fabric.Caps { return b.caps }
func (b *transferBench) startPeer(_ libshmem.PE, p *layout.Peer) bool {
	p.Reachable = true
	b.transfers.startPeer(p)
	return true
}
func (b *transferBench) TryUnpark(*layout.Peer) bool                         { return !b.parked }
func (b *transferBench) SendBatchBeforeWrite(libshmem.PE, *layout.Peer) bool { return b.behind }
func (b *transferBench) Enqueue(t fabric.Token, _ *record) {
	b.queue = append(b.queue, t)
	b.note("queued")
}
func (b *transferBench) Drive(libshmem.PE)                                { b.note("drive") }
func (b *transferBench) Jam()                                             { b.note("jam") }
func (b *transferBench) Admit(libshmem.PE, *layout.Peer, int) call.Status { return b.admits }
func (b *transferBench) Follow(s *record, _ *layout.Peer) {
	b.sent = append(b.sent, s.After)
	b.note("signal")
}

func (b *transferBench) Flush(pe libshmem.PE) call.Status {
	b.note("flush")
	if b.flushing == call.Pending {
		b.Peers[pe].Flushing = true
	}
	return b.flushing
}

func (b *transferBench) sendOwn(_ libshmem.PE, _ uint64, _ parity, h layout.Header) {
	b.sent = append(b.sent, h)
	b.note("own")
}

func (b *transferBench) post(op *fabric.RMA) error {
	if b.refuses == nil {
		b.posted = append(b.posted, *op)
	}
	return b.refuses
}

func (b *transferBench) Write(op *fabric.RMA) error { return b.post(op) }
func (b *transferBench) Read(op *fabric.RMA) error  { return b.post(op) }

func (b *transferBench) took(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(b.events, want) {
		t.Errorf("asked messages for %q, want %q", b.events, want)
	}
	b.events = nil
}

// transferSize is that of the operations here, more than a message holds.
const transferSize = 8192

func openTransfers(caps fabric.Caps) *transferBench {
	b := &transferBench{caps: caps, flushing: call.Pending, admits: call.Done, memory: make([]byte, 2*transferSize)}
	table := newTokenTable(maxBytes)
	state, peers := new(layout.State), make([]layout.Peer, 2)
	rings := make([]uint64, flight.RingsSize(len(peers))/8)
	segment := mem.Segment{Base: unsafe.Pointer(&b.memory[0]), Size: uint64(len(b.memory))}
	b.transfers = transfers{
		operations: &operations{
			State: state, Net: newNetwork(b, segment, nil), Table: &table, Peers: peers,
			Recorder: flight.Open(new(flight.Head), unsafe.Pointer(&rings[0]), 0, state, peers),
			Quiets:   newGenerations(nil, state, peers, make([]libshmem.PE, 2)),
		},
		Messages: b, MaxUnread: 1 << 20,
	}
	b.Net.Remotes = []mem.Remote{{}, {Base: 1 << 32, Key: 5}}
	b.Numbers.Advertise(b.Net, 2)
	b.Numbers.Open(b.Net)
	return b
}

// put posts a write to PE 1, with a signal or without one.
func (b *transferBench) put(r *call.Request, signal bool) call.Status {
	var after *layout.Header
	if signal {
		after = &layout.Header{Kind: layout.KindAMO, Operand: 7}
	}
	return b.transfers.Write(1, 100, unsafe.Pointer(&b.memory[0]), transferSize, r, after)
}

// atRest fails if anything is left of any operation.
func (b *transferBench) atRest(t *testing.T) {
	t.Helper()
	if p := &b.Peers[1]; p.Tokens != 0 || p.Bytes != 0 || p.Writes != 0 || p.Bare != 0 || b.Quiets.Pending != [3]int{} {
		t.Errorf("%d tokens, %d bytes, %d writes, %d without a number, %v pending", p.Tokens, p.Bytes, p.Writes, p.Bare, b.Quiets.Pending)
	}
}

// ordered is a network that keeps all order, and unordered one that keeps none.
var (
	ordered   = fabric.Caps{SendAfterWrite: true, WriteAfterWrite: true, MaxMessage: 1 << 30}
	unordered = fabric.Caps{Data: 4, Source: true, Arrivals: 4, DeliveryComplete: true, MaxMessage: 1 << 30}
)

// TestWriteAsksNothing posts a write and ends it: messages are not asked, but to go on at its end.
func TestWriteAsksNothing(t *testing.T) {
	b := openTransfers(ordered)
	var r call.Request
	if st := b.put(&r, false); st != call.Pending || len(b.posted) != 1 {
		t.Fatalf("%v, and %d are posted", st, len(b.posted))
	}
	op := &b.posted[0]
	if op.Remote != 1<<32+100 || op.Key != 5 || op.Len != transferSize || op.Notify || op.Fence {
		t.Errorf("posted %+v", *op)
	}
	b.took(t)
	b.CompleteWrite(op.Token, &b.Table.Records[op.Token])
	b.took(t, "drive")
	if r.Done != 1 || r.Status != 0 || b.NDirty != 1 {
		t.Errorf("request %+v, and a quiet asks %d PEs", r, b.NDirty)
	}
	b.atRest(t)
}

// TestSignals sends a signal at once if the target can keep it behind the bytes, and else when they
// are in.
func TestSignals(t *testing.T) {
	without := unordered
	without.Data = 0
	for _, c := range []struct {
		name   string
		caps   fabric.Caps
		posted []string
		ended  []string
	}{
		{"ordered", ordered, []string{"signal"}, []string{"drive"}},
		{"numbered", unordered, []string{"signal"}, []string{"drive"}},
		{"held back", without, nil, []string{"own", "drive"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := openTransfers(c.caps)
			if st := b.put(nil, true); st != call.Pending {
				t.Fatal(st)
			}
			b.took(t, c.posted...)
			token := b.posted[0].Token
			b.CompleteWrite(token, &b.Table.Records[token])
			b.took(t, c.ended...)
			if len(b.sent) != 1 || b.sent[0].Operand != 7 || (b.sent[0].Token != 0) != b.posted[0].Notify {
				t.Errorf("sent %+v", b.sent)
			}
			b.atRest(t)
		})
	}
}

// TestRefusals posts nothing, and keeps nothing.
func TestRefusals(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		set  func(*transferBench)
		want call.Status
	}{
		{"parked", func(b *transferBench) { b.Peers[1].Parked, b.parked = 1, true }, call.Again},
		{"no credit for the signal", func(b *transferBench) { b.admits = call.Again }, call.Again},
		{"no room", func(b *transferBench) { b.refuses = fabric.ErrAgain }, call.Again},
		{"broken", func(b *transferBench) { b.refuses = broken }, call.Failed},
		{"was not sent", func(b *transferBench) { b.Epoch, b.Peers[1].Charged, b.flushing = 1, 1, call.Failed }, call.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := openTransfers(unordered)
			c.set(b)
			if st := b.put(nil, true); st != c.want || len(b.posted)+len(b.queue)+len(b.sent) != 0 {
				t.Errorf("%v, posted %v, queued %v, sent %v", st, b.posted, b.queue, b.sent)
			}
			if p := &b.Peers[1]; p.Out.Posted != 0 {
				t.Errorf("%d numbers are used", p.Out.Posted)
			}
			b.atRest(t)
		})
	}
}

// TestWaits queues a write that other operations or an answer come before, and posts it later.
func TestWaits(t *testing.T) {
	for _, c := range []struct {
		name       string
		set, clear func(*transferBench)
		events     []string
	}{
		{"behind operations", func(b *transferBench) { b.Peers[1].Queued, b.behind = 1, true }, func(*transferBench) {}, []string{"queued"}},
		{
			"behind messages", func(b *transferBench) { b.Epoch, b.Peers[1].Charged = 1, 1 },
			func(b *transferBench) { b.Peers[1].Acked = 1 }, []string{"flush", "queued"},
		},
		{
			"flush without room", func(b *transferBench) { b.Epoch, b.Peers[1].Charged, b.flushing = 1, 1, call.Again },
			func(b *transferBench) { b.Peers[1].Acked = 1 }, []string{"flush", "jam", "queued"},
		},
		{
			"bytes", func(b *transferBench) { b.Peers[1].Wrote = b.MaxUnread },
			func(b *transferBench) { b.Peers[1].WroteAcked = b.MaxUnread }, []string{"flush", "queued"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := openTransfers(ordered)
			c.set(b)
			if st := b.put(nil, false); st != call.Pending || len(b.queue) != 1 || len(b.posted) != 0 {
				t.Fatalf("%v, posted %v, queued %v", st, b.posted, b.queue)
			}
			b.took(t, c.events...)
			c.clear(b)
			token := b.queue[0]
			if st := b.Resume(token, &b.Table.Records[token], &b.Peers[1]); st != call.Done || len(b.posted) != 1 {
				t.Fatalf("resumed: %v, posted %v", st, b.posted)
			}
		})
	}
}

// TestNumbersFillWindow gives numbers up to the window, and lets further writes wait for an answer.
func TestNumbersFillWindow(t *testing.T) {
	b := openTransfers(unordered)
	b.Numbers.Spares = false
	if w := b.Numbers.Window(); w != 4 {
		t.Fatalf("the window is %d", w)
	}
	for i := range 5 {
		b.events = nil
		if st := b.put(nil, false); st != call.Pending {
			t.Fatal(st)
		}
		if asked := slices.Contains(b.events, "flush"); asked != (i >= 2) {
			t.Errorf("write %d: %q", i, b.events)
		}
	}
	if len(b.posted) != 4 || len(b.queue) != 1 || b.posted[3].Data != 3 {
		t.Errorf("posted %+v, queued %v", b.posted, b.queue)
	}
	b.Numbers.Spares = true
	if st := b.put(nil, false); st != call.Pending || len(b.posted) != 5 || b.posted[4].Notify || b.Peers[1].Bare != 1 {
		t.Errorf("a write without a number: %v, %+v", st, b.posted)
	}
}

// TestBroke tells the target that a write will not come, and whether its signal is to be dropped.
func TestBroke(t *testing.T) {
	for _, signal := range []bool{false, true} {
		b := openTransfers(unordered)
		b.put(nil, signal)
		token, drop := b.posted[0].Token, uint8(0)
		if signal {
			drop = 1
		}
		b.HandleFailure(&b.Table.Records[token])
		b.ReleaseToken(token)
		if h := b.sent[len(b.sent)-1]; h.Kind != layout.KindVoid || h.Operand != 0 || h.Fetch != drop {
			t.Errorf("with a signal %v: sent %+v", signal, h)
		}
		b.atRest(t)
	}
}

// TestSequences asks a PE once for a sequence stream, where the provider does not name the writer.
func TestSequences(t *testing.T) {
	var n writeNumbers
	n.On, n.Space.Bits = true, 16
	for _, c := range []struct {
		before uint32
		answer uint64
		good   bool
		after  uint32
	}{
		{sequenceRequested, 0, true, sequenceRefused},
		{sequenceRequested, 1, true, sequenceGranted},
		{sequenceRequested, 1 << 16, true, sequenceGranted + 1<<16 - 1},
		{sequenceRequested, 1<<16 + 1, false, sequenceRequested},
		{sequenceNone, 1, false, sequenceNone},
		{sequenceGranted, 1, false, sequenceGranted},
	} {
		p := layout.Peer{Stream: c.before}
		if good := n.HandleGrant(&p, c.answer); good != c.good || p.Stream != c.after {
			t.Errorf("answer %d in state %d: %v, state %d", c.answer, c.before, good, p.Stream)
		}
	}
	b := openTransfers(unordered)
	b.Peers[1].Reachable, b.Peers[1].Out.Space = true, b.Numbers.Space // as if no provider had named the writer
	b.put(nil, false)
	b.put(nil, false)
	if len(b.sent) != 1 || b.sent[0].Kind != layout.KindSequence || b.posted[1].Notify {
		t.Errorf("sent %+v, posted %+v", b.sent, b.posted)
	}
}

// TestReads posts a read and ends it, for a request and for quiets.
func TestReads(t *testing.T) {
	b := openTransfers(ordered)
	var r call.Request
	for _, r := range []*call.Request{&r, nil} {
		if st := b.transfers.Read(1, -8, unsafe.Pointer(&b.memory[0]), transferSize, r); st != call.Pending {
			t.Fatal(st)
		}
		op := b.posted[len(b.posted)-1]
		if op.Remote != 1<<32-8 || op.Key != 5 || op.Len != transferSize {
			t.Errorf("posted %+v", op)
		}
		b.CompleteRead(&b.Table.Records[op.Token])
		b.ReleaseToken(op.Token)
	}
	b.took(t)
	if r.Done != 1 || r.Status != 0 {
		t.Errorf("request %+v", r)
	}
	b.refuses = fabric.ErrAgain
	if st := b.transfers.Read(1, 0, unsafe.Pointer(&b.memory[0]), transferSize, nil); st != call.Again {
		t.Errorf("without room: %v", st)
	}
	b.atRest(t)
}
