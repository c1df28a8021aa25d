package proxy

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/wake"
)

// senderBench is the sender of an engine whose writes only note what they are asked for.
type senderBench struct {
	*sender
	net     *notingNetwork
	gone    []libshmem.PE
	resumed []fabric.Token
	may     call.Status // of Resume
}

// writes are the writes of a bench.
type writes struct{ *senderBench }

func (w writes) startPeer(*layout.Peer) {}

func (w writes) Resume(t fabric.Token, s *record, _ *layout.Peer) call.Status {
	if w.may == call.Done {
		w.resumed = append(w.resumed, t)
		s.Use = useWrite
	}
	return w.may
}

// inject is a network that injects every message, and buffered one that injects none.
var (
	inject   = fabric.Caps{SendAfterWrite: true, WriteAfterWrite: true, MaxInject: layout.MessageSize}
	buffered = fabric.Caps{SendAfterWrite: true, WriteAfterWrite: true}
)

func openSender(t *testing.T, caps fabric.Caps) *senderBench {
	o, net := newOperations(t, 3, caps)
	words := new([5]uint32)
	e := &Engine{State: o.State, ops: *o, port: &port{
		Words: wake.Words{Lock: &words[0], Pollers: &words[1], Napping: &words[2], Sleepers: &words[3], Wakes: &words[4]},
	}}
	e.first, e.bursts.First = e, e.State
	b := &senderBench{sender: &e.out, net: net, may: call.Done}
	e.ops.Quiets = newGenerations(e, e.State, e.ops.Peers, make([]libshmem.PE, 3))
	e.ops.Net.OnLost = func(pe libshmem.PE, _ error) { b.gone = append(b.gone, pe) }
	e.out = newSender(&e.ops, writes{b}, &e.bursts, e)
	e.in = newReceiver(&e.ops, &e.out, &e.rma.Numbers)
	b.Open()
	return b
}

// add sends an atomic operation to PE 1.
func (b *senderBench) add(value uint64) call.Status {
	h, st := b.begin(1, 0, true)
	if h != nil {
		h.Set(layout.KindAMO, fabric.OpAdd, 8, 64, value, 0)
		st = b.Send(h, nil, 0, true)
	}
	return st
}

// TestSend stamps messages, and counts the messages that ask the PE for something.
func TestSend(t *testing.T) {
	for _, caps := range []fabric.Caps{inject, buffered} {
		b := openSender(t, caps)
		payload := []byte("five!")
		for i := range uint32(3) {
			h, st := b.begin(1, len(payload), true)
			if st != call.Done {
				t.Fatal(st)
			}
			h.Set(layout.KindPut, 0, 0, 8, 0, 0)
			if st := b.Send(h, unsafe.Pointer(&payload[0]), len(payload), true); st != call.Done {
				t.Fatal(st)
			}
			got := b.net.Header(-1)
			if got.Seq != i+1 || got.Job != b.Job || got.Kind != layout.KindPut || got.Offset != 8 {
				t.Errorf("message %d: %+v", i, got)
			}
			if text := b.net.Sent[i][layout.HeaderSize:]; string(text) != string(payload) {
				t.Errorf("message %d has %q", i, text)
			}
		}
		p := &b.Peers[1]
		if p.Sent != 3 || p.Charged != 3 || b.NDirty != 1 || p.Count[layout.Puts] != 3 {
			t.Errorf("%d sent, %d asked, %d PEs for the next quiet", p.Sent, p.Charged, b.NDirty)
		}
		if held := p.Tokens; (held == 0) != (caps.MaxInject > 0) {
			t.Errorf("%d tokens for messages", held)
		}
	}
}

// TestCredit asks for an answer at half of the credit, and refuses at all of it.
func TestCredit(t *testing.T) {
	b := openSender(t, inject)
	n := 0
	for b.add(1) == call.Done {
		n++
	}
	flushes := 0
	for i := range b.net.Sent {
		if b.net.Header(i).Kind == layout.KindFlush {
			flushes++
		}
	}
	if p := &b.Peers[1]; n != unitsEach || flushes != 1 || p.Count[layout.NoCredit] != 1 {
		t.Errorf("%d messages, %d flushes, %d refusals", n, flushes, p.Count[layout.NoCredit])
	}
	if b.Peers[2].Charged != 0 || !b.HasRoom(2, &b.Peers[2], 0) {
		t.Error("another PE has less credit")
	}
	b.HandleFlushReply(&layout.Header{From: 1, Token: b.Peers[1].FlushID()})
	if st := b.add(1); st != call.Done {
		t.Errorf("after the answer: %v", st)
	}
	if b.HandleFlushReply(&layout.Header{From: 2, Token: b.Peers[2].FlushID()}) {
		t.Error("an answer to no question was taken")
	}
}

// TestOwn parks the engine's own messages while there is no room, and sends them in order before
// any message of a caller.
func TestOwn(t *testing.T) {
	b := openSender(t, inject)
	b.net.Refuses = fabric.ErrAgain
	for i := range uint64(3) {
		b.sendOwn(1, 0, noParity, layout.Header{Kind: layout.KindReply, Operand: i})
	}
	if p := &b.Peers[1]; p.Parked != 3 || len(b.Unsent) != 3 || b.Stuck == 0 || !b.NoRoom() {
		t.Errorf("%d are parked, %d of the PE; stuck %d times", len(b.Unsent), p.Parked, b.Stuck)
	}
	if st := b.add(7); st != call.Again {
		t.Errorf("a caller's message: %v", st)
	}
	b.net.Refuses = nil
	b.sendOwn(1, 0, noParity, layout.Header{Kind: layout.KindReply, Operand: 3}) // finds room, and waits all the same
	if b.Retry() {
		t.Error("something waits")
	}
	if st := b.add(7); st != call.Done {
		t.Errorf("a caller's message: %v", st)
	}
	var got []uint64
	for i := range b.net.Sent {
		got = append(got, b.net.Header(i).Operand)
	}
	if !slices.Equal(got, []uint64{0, 1, 2, 3, 7}) || b.Quiets.Pending != [3]int{} {
		t.Errorf("sent %v, pending %v", got, b.Quiets.Pending)
	}
	b.net.Refuses = errors.New("gone")
	if b.sendOwn(1, 0, noParity, layout.Header{Kind: layout.KindReply}); !slices.Equal(b.gone, []libshmem.PE{1}) {
		t.Errorf("given up %v", b.gone)
	}
}

// TestQueue keeps the order of operations behind a write that waits.
func TestQueue(t *testing.T) {
	b := openSender(t, inject)
	p := &b.Peers[1]
	token, s := b.AllocateToken(useWaits, p, 1)
	b.may = call.Again
	b.Enqueue(token, s)
	if st := b.add(5); st != call.Done || len(b.net.Sent) != 0 || p.Queued != 2 {
		t.Fatalf("behind a write: %v, %d sent, %d queued", st, len(b.net.Sent), p.Queued)
	}
	if !b.SendBatchBeforeWrite(1, p) || b.SendBatchBeforeWrite(2, &b.Peers[2]) {
		t.Error("which PE has operations that wait?")
	}
	b.Drive(1)
	if p.Queued != 2 {
		t.Errorf("%d are queued, and the write may not be posted", p.Queued)
	}
	b.may = call.Done
	b.Drive(1)
	if !slices.Equal(b.resumed, []fabric.Token{token}) || len(b.net.Sent) != 1 || p.Queued != 0 {
		t.Errorf("resumed %v, %d sent, %d queued", b.resumed, len(b.net.Sent), p.Queued)
	}
}

// TestFenceOfWrites holds a message behind writes without a number from before a fence.
func TestFenceOfWrites(t *testing.T) {
	b := openSender(t, inject)
	p := &b.Peers[1]
	p.Bare = 1
	if b.add(1); len(b.net.Sent) != 1 {
		t.Error("a message of the same epoch waits")
	}
	b.Epoch++
	if b.add(2); len(b.net.Sent) != 1 || p.Queued != 1 {
		t.Errorf("%d are sent, %d wait behind a write from before the fence", len(b.net.Sent), p.Queued)
	}
	p.Bare = 0
	if b.Drive(1); len(b.net.Sent) != 2 || p.Queued != 0 {
		t.Errorf("%d are sent after the write, %d wait", len(b.net.Sent), p.Queued)
	}
}

// TestBatch lets the operations of a burst share a message, which leaves when it is let go or a
// fence comes.
func TestBatch(t *testing.T) {
	b := openSender(t, inject)
	p := &b.Peers[1]
	b.Burst = layout.BurstAfter
	b.Net.Armed = true
	for i := range uint64(4) {
		b.add(i)
	}
	if len(b.net.Sent) != 0 || p.Count[layout.Merged] != 4 || b.Held != 1 || b.net.Woken != 1 {
		t.Fatalf("%d sent, %d merged, %d held, woken %d times", len(b.net.Sent), p.Count[layout.Merged], b.Held, b.net.Woken)
	}
	if b.bursts.NoneSinceLastCall() || !b.bursts.NoneSinceLastCall() {
		t.Error("a burst is over when it has not grown since the last look")
	}
	b.SendBatches()
	if h := b.net.Header(-1); len(b.net.Sent) != 1 || h.Kind != layout.KindBatch || b.Held != 0 {
		t.Errorf("%d sent, the last %+v, %d held", len(b.net.Sent), h, b.Held)
	}
	if n := len(b.net.Sent[0]); n != layout.HeaderSize+4*layout.RecordSize {
		t.Errorf("4 operations take %d bytes", n)
	}
	b.add(5)
	b.Epoch++
	b.add(6)
	if len(b.net.Sent) != 2 {
		t.Errorf("%d are sent, and a fence separates two operations", len(b.net.Sent))
	}
}

// TestSignalsShareMessage puts the signals of many writes into one message.
func TestSignalsShareMessage(t *testing.T) {
	b := openSender(t, inject)
	p := &b.Peers[1]
	p.Writes, p.Count[layout.Writes] = manyWrites, manyWrites
	for i := range uint64(maxSignals) {
		_, s := b.AllocateToken(useWrite, p, 1)
		s.Epoch, s.After = b.Epoch, layout.Header{Kind: layout.KindAMO, Op: fabric.OpSet, Width: 8, Operand: i}
		if b.Follow(s, p); i < maxSignals-1 && len(b.net.Sent) != 0 {
			t.Fatalf("signal %d was not held", i)
		}
	}
	if len(b.net.Sent) != 1 || b.net.Header(0).Kind != layout.KindBatch {
		t.Errorf("%d messages for %d signals", len(b.net.Sent), maxSignals)
	}
	p.Writes = 1
	_, s := b.AllocateToken(useWrite, p, 1)
	s.Epoch, s.After = b.Epoch, layout.Header{Kind: layout.KindAMO}
	if b.Follow(s, p); len(b.net.Sent) != 2 || b.net.Header(1).Kind != layout.KindAMO {
		t.Errorf("the signal of a single write: %d sent", len(b.net.Sent))
	}
}

// TestDrop forgets what waits for a lost PE, and nothing of another.
func TestDrop(t *testing.T) {
	b := openSender(t, inject)
	b.net.Refuses = fabric.ErrAgain
	for _, pe := range []libshmem.PE{1, 2, 1} {
		b.sendOwn(pe, 0, noParity, layout.Header{Kind: layout.KindReply, Operand: uint64(pe)})
	}
	b.Drop(1, &b.Peers[1])
	b.net.Refuses = nil
	b.Retry()
	if len(b.net.Sent) != 1 || b.net.Header(0).Operand != 2 || b.Quiets.Pending != [3]int{} {
		t.Errorf("%d sent, pending %v", len(b.net.Sent), b.Quiets.Pending)
	}
}
