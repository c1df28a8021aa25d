package proxy

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// receiverBench is a receiver whose sender only notes what it is asked for.
type receiverBench struct {
	receiver
	net     *notingNetwork
	numbers writeNumbers
	sent    []layout.Header
	driven  []libshmem.PE
	flushed []uint32 // tokens of answers to flushes
	refused []string
}

func (b *receiverBench) startPeer(_ libshmem.PE, p *layout.Peer) bool {
	p.Reachable = true
	return true
}
func (b *receiverBench) Drive(pe libshmem.PE) { b.driven = append(b.driven, pe) }

func (b *receiverBench) sendOwn(_ libshmem.PE, _ uint64, _ parity, h layout.Header) {
	b.sent = append(b.sent, h)
}

func (b *receiverBench) SendBytes(_ libshmem.PE, _ uint64, _ parity, h *layout.Header, _ unsafe.Pointer, _ int) call.Status {
	b.sent = append(b.sent, *h)
	return call.Done
}

func (b *receiverBench) HandleFlushReply(h *layout.Header) bool {
	b.flushed = append(b.flushed, h.Token)
	return h.Token>>16 == 1
}

// openReceiver returns the receiver of PE 0 of four. On an unordered network writes have numbers.
func openReceiver(t *testing.T, caps fabric.Caps) *receiverBench { return openReceiverOf(t, 4, caps) }

func openReceiverOf(t *testing.T, npes int, caps fabric.Caps) *receiverBench {
	o, net := newOperations(t, npes, caps)
	o.Quiets = newGenerations(nil, o.State, o.Peers, make([]libshmem.PE, npes))
	b := &receiverBench{net: net}
	b.numbers.Advertise(o.Net, npes)
	b.numbers.Open(o.Net)
	b.receiver = newReceiver(o, b, &b.numbers)
	to := new(Report)
	to.ReportTo(func(err error) { b.refused = append(b.refused, err.Error()) })
	b.Open(to, o.Peers)
	if b.numbers.On {
		b.OpenNumbers(2)
	}
	return b
}

// take gives the receiver a message with a payload.
func (b *receiverBench) take(h layout.Header, payload ...byte) {
	m := make([]byte, layout.MessageSize)
	*(*layout.Header)(unsafe.Pointer(&m[0])) = h
	n := layout.HeaderSize + copy(m[layout.HeaderSize:], payload)
	b.Receive((*layout.Header)(unsafe.Pointer(&m[0])), unsafe.Pointer(&m[0]), n)
}

// puts returns a message of PE 1 that puts a byte at an offset of that number.
func puts(seq uint32) layout.Header {
	return layout.Header{Kind: layout.KindPut, From: 1, Seq: seq, Offset: libshmem.Offset(seq)}
}

// fails checks what the job has failed with; "": it goes on.
func (b *receiverBench) fails(t *testing.T, with string) {
	t.Helper()
	switch {
	case with == "" && len(b.net.Fatals) > 0, with != "" && len(b.net.Fatals) != 1:
		t.Errorf("the job failed with %v, want %q", b.net.Fatals, with)
	case with != "" && !strings.Contains(b.net.Fatals[0].Error(), with):
		t.Errorf("the job failed with %v, want %q", b.net.Fatals[0], with)
	}
	b.net.Fatals = nil
}

// TestOrder applies messages in the order of posting, however they come, and each once.
func TestOrder(t *testing.T) {
	b := openReceiver(t, fabric.Caps{SendAfterWrite: true})
	for _, seq := range []uint32{2, 2, 3, 5, 1, 2, 4, 6, 1} {
		b.take(puts(seq), byte(seq))
		if due, n := b.Peers[1].Received+1, b.Early.Len(); n != int(b.Peers[1].Early) || b.Early.Has(1, due) {
			t.Errorf("after message %d: %d is due, and %d are kept", seq, due, n)
		}
	}
	if want := []byte{0, 1, 2, 3, 4, 5, 6, 0}; !slices.Equal(b.net.Memory[:8], want) {
		t.Errorf("memory %v, want %v", b.net.Memory[:8], want)
	}
	if p := &b.Peers[1]; p.Received != 6 || p.Count[layout.Early] != 3 || p.Count[layout.Received] != 6 {
		t.Errorf("%d received, %d early, %d counted", p.Received, p.Count[layout.Early], p.Count[layout.Received])
	}
	if len(b.refused) != 2 || !strings.Contains(b.refused[0], "message 2 of PE 1, which has arrived before") {
		t.Errorf("refused %q", b.refused)
	}
	if len(b.driven) != 6 {
		t.Errorf("queues were driven %d times", len(b.driven))
	}
	b.fails(t, "")
}

// TestStrangers drops messages of PEs that are not in the job, and of lost ones.
func TestStrangers(t *testing.T) {
	b := openReceiver(t, fabric.Caps{SendAfterWrite: true})
	b.take(layout.Header{Kind: layout.KindPut, From: 9, Seq: 1}, 1)
	b.Net.MarkLost(1, 4, "has ended")
	b.take(puts(1), 1)
	if len(b.refused) != 1 || b.net.Memory[0] != 0 || b.net.Memory[1] != 0 || b.Peers[1].Received != 0 {
		t.Errorf("refused %q, %d received", b.refused, b.Peers[1].Received)
	}
	b.take(layout.Header{Kind: layout.KindPut, From: 2, Seq: furthest + 1}, 1)
	b.fails(t, "lost messages")
}

// TestApply changes memory, answers, and fails the job because of a message that does not fit.
func TestApply(t *testing.T) {
	for _, c := range []struct {
		name    string
		h       layout.Header
		payload []byte
		at      int
		memory  []byte
		answer  *layout.Header
		fails   string
	}{
		{name: "store", h: layout.Header{Kind: layout.KindStore, Width: 2, Offset: 4, Operand: 0x0201}, at: 4, memory: []byte{1, 2, 0}},
		{
			name: "fetch and add", h: layout.Header{Kind: layout.KindAMO, Op: fabric.OpFetchAdd, Width: 4, Offset: 8, Operand: 3, Fetch: 1, Token: 70},
			at: 8, memory: []byte{3, 0, 0, 0}, answer: &layout.Header{Kind: layout.KindReply, Token: 70},
		},
		{
			name: "put with signal", h: layout.Header{Kind: layout.KindPutSignal, Op: fabric.OpSet, Offset: 16, Operand: 9, Extra: 24},
			payload: []byte{7, 8}, at: 16, memory: []byte{7, 8, 0, 0, 0, 0, 0, 0, 9},
		},
		{name: "flush", h: layout.Header{Kind: layout.KindFlush, Token: 5}, answer: &layout.Header{Kind: layout.KindReply, Token: 5}},
		{name: "outside", h: layout.Header{Kind: layout.KindPut, Offset: 1<<16 - 1}, payload: []byte{1, 2}, fails: "outside this PE's heap"},
		{name: "odd width", h: layout.Header{Kind: layout.KindStore, Width: 3}, fails: "not one of this job"},
		{name: "odd place", h: layout.Header{Kind: layout.KindAMO, Op: fabric.OpAdd, Width: 8, Offset: 4}, fails: "not aligned"},
		{name: "odd kind", h: layout.Header{Kind: 200}, fails: "kind 200"},
		{name: "odd answer", h: layout.Header{Kind: layout.KindReply, Token: layout.Receives}, fails: "was not sent"},
		{name: "odd answer to a flush", h: layout.Header{Kind: layout.KindReply, Token: layout.FlushToken}, fails: "was not sent"},
		{name: "half a batch", h: layout.Header{Kind: layout.KindBatch}, payload: make([]byte, layout.RecordSize-1), fails: "not one of this job"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := openReceiver(t, fabric.Caps{SendAfterWrite: true})
			c.h.From, c.h.Seq = 1, 1
			b.take(c.h, c.payload...)
			b.fails(t, c.fails)
			if got := b.net.Memory[c.at : c.at+len(c.memory)]; !slices.Equal(got, c.memory) {
				t.Errorf("memory %v, want %v", got, c.memory)
			}
			if c.answer == nil && len(b.sent) > 0 || c.answer != nil && !slices.Equal(b.sent, []layout.Header{*c.answer}) {
				t.Errorf("sent %+v, want %+v", b.sent, c.answer)
			}
		})
	}
}

// TestAnswers ends the operation that an answer names, once.
func TestAnswers(t *testing.T) {
	b := openReceiver(t, fabric.Caps{SendAfterWrite: true})
	var value uint32
	var r call.Request
	for i, request := range []*call.Request{&r, nil} {
		token, s := b.AllocateToken(useReply, &b.Peers[1], 1)
		s.Request, s.Fetch, s.Width = request, unsafe.Pointer(&value), 4
		if request == nil {
			b.Quiets.Pending[s.Parity]++
		}
		b.take(layout.Header{Kind: layout.KindReply, From: 1, Seq: uint32(i) + 1, Token: b.Table.RequestID(token), Operand: 40 + uint64(i)})
	}
	if r.Done != 1 || r.Value != 40 || value != 41 || b.Quiets.Pending != [3]int{} || b.Peers[1].Tokens != 0 {
		t.Errorf("request %+v, value %d, pending %v", r, value, b.Quiets.Pending)
	}
	b.take(layout.Header{Kind: layout.KindReply, From: 1, Seq: 3, Token: 1<<16 | layout.FlushToken})
	if !slices.Equal(b.flushed, []uint32{1<<16 | layout.FlushToken}) {
		t.Errorf("answers to flushes: %v", b.flushed)
	}
	b.fails(t, "")
}

// overtaking is a network where messages overtake writes.
var overtaking = fabric.Caps{Data: 4, Source: true, Arrivals: 1 << 10, DeliveryComplete: true}

// write returns the completion of a write of PE 1 with a number.
func write(number uint32) *fabric.Completion {
	c := fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindData, Data: number}
	c.SetFrom(1)
	return &c
}

// TestWrites lets a message wait for the writes that it follows, in any order.
func TestWrites(t *testing.T) {
	b := openReceiver(t, overtaking)
	h := puts(1)
	h.Need = 2
	b.take(h, 1)
	b.take(puts(2), 2)
	b.HandleArrival(write(1))
	if b.net.Memory[1] != 0 || b.net.Memory[2] != 0 || b.Peers[1].Count[layout.Held] != 1 {
		t.Errorf("memory %v, %d held", b.net.Memory[:3], b.Peers[1].Count[layout.Held])
	}
	b.HandleArrival(write(0))
	if !slices.Equal(b.net.Memory[:3], []byte{0, 1, 2}) || b.Peers[1].Edge != 2 {
		t.Errorf("memory %v, %d writes are in", b.net.Memory[:3], b.Peers[1].Edge)
	}
	b.HandleArrival(write(0))
	if len(b.refused) != 1 {
		t.Errorf("refused %q", b.refused)
	}
	h = puts(3)
	h.Need = 3 + b.numbers.Window()
	b.take(h, 3)
	b.fails(t, "not one of this job")
}

// TestVoid drops the signal of a write that does not come, and nothing else.
func TestVoid(t *testing.T) {
	b := openReceiver(t, overtaking)
	add := layout.Header{Kind: layout.KindAMO, Op: fabric.OpAdd, Width: 8, From: 1, Offset: 64, Operand: 1}
	signal := add
	signal.Seq, signal.Need, signal.Token = 1, 1, 1 // of write 0
	b.take(signal)
	b.take(layout.Header{Kind: layout.KindVoid, From: 1, Seq: 2, Operand: 0, Fetch: 1})
	add.Seq, add.Need = 3, 1
	b.take(add)
	if b.net.Memory[64] != 1 || len(b.Dropped) != 0 || b.Peers[1].Received != 3 {
		t.Errorf("the word is %d, %d signals are dropped later, %d received", b.net.Memory[64], len(b.Dropped), b.Peers[1].Received)
	}
	b.fails(t, "")
}

// TestSequencesGiven gives sequence streams to the PEs that ask, while there are some.
func TestSequencesGiven(t *testing.T) {
	caps := overtaking
	caps.Source = false
	b := openReceiver(t, caps)
	for pe := uint32(1); pe < 4; pe++ {
		b.take(layout.Header{Kind: layout.KindSequence, From: pe, Seq: 1})
	}
	var got []uint64
	for _, h := range b.sent {
		got = append(got, h.Operand)
	}
	if !slices.Equal(got, []uint64{1, 2, 0}) {
		t.Errorf("the answers are %v", got)
	}
	c := write(0)
	c.Data |= 1 << b.numbers.Space.Bits
	b.HandleArrival(c)
	if b.Peers[2].Edge != 1 || b.Peers[1].Edge != 0 {
		t.Errorf("%d and %d writes are in", b.Peers[1].Edge, b.Peers[2].Edge)
	}
	c.Data |= 7 << b.numbers.Space.Bits
	if b.HandleArrival(c); len(b.refused) != 1 {
		t.Errorf("refused %q", b.refused)
	}
}
