package channel

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"libshmem/queue"
	"libshmem/queue/queuetest"
)

// rig is a channel whose kernels and proxy are the test.
type rig struct {
	*Channel
	ring   *queue.Ring
	memory Memory
	issue  uint64 // position of the next request
}

// heapAt is the offset of the user heap in the tests.
const heapAt = 1 << 20

// newRig makes a channel whose next position is start, as if it had been used before, and a ring of
// slots.
func newRig(slots int, start uint64) *rig {
	block := make([]uint64, SharedBytes/8)
	m := Memory{Host: unsafe.Pointer(&block[0]), Device: 0x7000_0000_0000, Near: 0x7100_0000_0000}
	for at := start; at < start+requestBytes; at += entrySize {
		*m.word(at & (requestBytes - 1)) = at >> requestsLog2 & 1
	}
	ring, err := queue.New(queuetest.New(slots, 0).Memory(), slots)
	if err != nil {
		panic(err)
	}
	g := &rig{Channel: New(m, ring, heapAt), ring: ring, memory: m, issue: start}
	g.hold = 0
	g.taken.Store(start)
	g.complete, g.quiet.position = start, start
	atomic.StoreUint64(m.word(quietIssueAt), start)
	return g
}

// store stores the entries of a request, whose lowest bits are not set, at the next position.
func (g *rig) store(entries ...uint64) {
	for _, e := range entries {
		atomic.StoreUint64(g.memory.word(g.issue&(requestBytes-1)), e|^(g.issue>>requestsLog2)&1)
		g.issue += entrySize
	}
}

// once polls once, and fails the test on an error.
func (g *rig) once(t *testing.T) (worked bool) {
	t.Helper()
	worked, err := g.Poll()
	if err != nil {
		t.Fatal(err)
	}
	return worked
}

// poll polls until nothing is left to do.
func (g *rig) poll(t *testing.T) {
	t.Helper()
	for g.once(t) {
	}
}

// ops returns the operations in the ring, as the proxy takes them.
func (g *rig) ops() []queue.Op {
	var all [64]queue.Op
	n := g.ring.Read(all[:])
	g.ring.Publish()
	return all[:n]
}

func (g *rig) word(at uint64) uint64 { return atomic.LoadUint64(g.memory.word(at)) }

// TestRequests: each request becomes its operation of the ring, also those that go around the end of
// the buffer.
func TestRequests(t *testing.T) {
	const dest, pe = 0xab_cdef_0128, 0x1234
	base := func(code uint64) uint64 { return dest<<24 | code<<16 | 1<<8 }
	move := func(code uint64) []uint64 {
		return []uint64{base(code), 0x7fff_1234_5600, 0x1_0000_0040<<16 | 0x78<<8, 9<<32 | pe<<16}
	}
	amo := func(code uint64, op, value, compare, size uint64) []uint64 {
		e := []uint64{base(code), value<<32 | pe<<16 | op<<8, value&^0xffffffff | size<<16 | compare&0xff<<8, compare &^ 0xff, 77 << 8}
		if code > ofQueue {
			e = append(e, 5<<32)
		}
		return e
	}
	at := uint64(heapAt + dest)
	moved := queue.Op{PE: pe, Dest: at, Local: 0x7fff_1234_5678, Length: 0x1_0000_0040}
	with := func(op queue.Op, set func(*queue.Op)) queue.Op {
		set(&op)
		return op
	}
	cases := []struct {
		name    string
		entries []uint64
		want    queue.Op
	}{
		{"put", move(1), with(moved, func(o *queue.Op) { o.Code = queue.CodePut })},
		{"put on a pair", move(101), with(moved, func(o *queue.Op) { o.Code = queue.CodePut })},
		{"get", move(4), with(moved, func(o *queue.Op) { o.Code = queue.CodeGet })},
		{"g", move(105), with(moved, func(o *queue.Op) { o.Code = queue.CodeGet })},
		{
			"put with signal", append(move(3), 0xcd_0000_0008<<24|10<<16|0xef<<8, 0x8765_4321_0000_0000),
			with(moved, func(o *queue.Op) {
				o.Code, o.Kind, o.Signal, o.SignalAt = queue.CodePutSignal, queue.KindAdd, 0x8765_4321_0000_00ef, heapAt+0xcd_0000_0008
			}),
		},
		{"p of 2", []uint64{base(2), 0xbeef<<32 | pe<<16, 2 << 16}, queue.Op{Code: queue.CodeP, PE: pe, Dest: at, Width: 1, Value: 0xbeef}},
		{"p of 8", []uint64{base(102), 0x9abc_def0<<32 | pe<<16, 0xf234_5678<<32 | 8<<16, 3 << 32}, queue.Op{Code: queue.CodePWide, PE: pe, Dest: at, Value: 0xf234_5678_9abc_def0}},
		{"inc", amo(7, 2, 0, 0, 8), queue.Op{Code: queue.CodeAMO, Kind: queue.KindAdd, Width: 3, PE: pe, Dest: at, Value: 1}},
		{"add", amo(107, 4, ^uint64(4), 0, 8), queue.Op{Code: queue.CodeAMO, Kind: queue.KindAdd, Width: 3, PE: pe, Dest: at, Value: ^uint64(4)}},
		{"or of 4", amo(7, 6, 0xf000_0001, 0, 4), queue.Op{Code: queue.CodeAMO, Kind: queue.KindOr, Width: 2, PE: pe, Dest: at, Value: 0xffff_ffff_f000_0001}},
		{"wide set", amo(7, 3, 1<<40, 0, 8), queue.Op{Code: queue.CodeAMOWide, Kind: queue.KindSet, Width: 3, PE: pe, Dest: at, Value: 1 << 40}},
		{"float set", amo(107, 3|ofFloat, 1<<62, 0, 8), queue.Op{Code: queue.CodeAMOWide, Kind: queue.KindSet, Width: 3, PE: pe, Dest: at, Value: 1 << 62}},
		{"signal", amo(7, 9, 3, 0, 8), queue.Op{Code: queue.CodeAMO, Kind: queue.KindSet, Width: 3, PE: pe, Dest: at, Value: 3}},
		{
			"compare and swap", amo(107, 19, 1<<63, 0xfedc_ba98_7654_3210, 8),
			queue.Op{Code: queue.CodeAMOWide, Kind: queue.KindCSwap, Width: 3, PE: pe, Dest: at, Value: 1 << 63, Value2: 0xfedc_ba98_7654_3210, Want: 1, Reply: queue.Replies - 1},
		},
		{"quiet of a pair", []uint64{1<<32 | 108<<16, 1 << 32}, queue.Op{Code: queue.CodeQuiet}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for last := range len(c.entries) {
				g := newRig(queue.MinSlots, 3*requestBytes-uint64(last)*entrySize)
				g.poll(t)
				for i := range c.entries { // the proxy waits for the last entry to be stored
					if len(g.ops()) != 0 || !g.Taken() && i == 0 {
						t.Fatal("an operation before its request")
					}
					g.store(c.entries[i])
					g.poll(t)
				}
				got := g.ops()
				if len(got) != 1 || !g.Taken() {
					t.Fatalf("the ring has %+v", got)
				}
				ignore(&got[0])
				if want := c.want; got[0] != want {
					t.Errorf("the ring has\n%+v, not\n%+v", got[0], want)
				}
			}
		})
	}
}

// ignore clears what the operation of a ring does not have: its decoder leaves other bits there.
func ignore(o *queue.Op) {
	switch o.Code {
	case queue.CodePut, queue.CodeGet, queue.CodePutSignal:
		o.Value, o.Width = 0, 0
		if o.Code != queue.CodePutSignal {
			o.Kind = 0
		}
	case queue.CodeQuiet:
		*o = queue.Op{Code: o.Code}
	}
}

// TestFences: a fence goes before the next operation if others went before it. A put, a fence and a
// signal are one operation, with a fence before it for what went before and one after it for what
// comes.
func TestFences(t *testing.T) {
	put := func(pe uint64) []uint64 { return []uint64{1 << 16, 0x1000, 64 << 16, pe << 16} }
	amo := func(op, pe, size uint64) []uint64 { return []uint64{7 << 16, 3<<32 | pe<<16 | op<<8, size << 16, 0, 0} }
	fence, pairs := []uint64{6 << 16}, []uint64{2<<32 | 106<<16, 1 << 32, 2 << 32}
	for _, c := range []struct {
		name     string
		requests [][]uint64
		want     string
	}{
		{"none before", [][]uint64{fence, put(1)}, "put"},
		{"between", [][]uint64{put(1), fence, fence, put(2), pairs, put(1)}, "put fence put fence put"},
		{"at the end", [][]uint64{put(1), fence}, "put"},
		{"signal", [][]uint64{put(1), fence, amo(9, 1, 8), put(2), put(3)}, "put_signal fence put put"},
		{"after others", [][]uint64{put(2), put(1), fence, amo(10, 1, 8), amo(4, 1, 8)}, "put fence put_signal fence amo"},
		{"signals", [][]uint64{put(1), fence, amo(9, 1, 8), put(1), fence, amo(9, 1, 8)}, "put_signal fence put_signal"},
		{"of another PE", [][]uint64{put(1), fence, amo(9, 2, 8)}, "put fence amo"},
		{"no signal", [][]uint64{put(1), fence, amo(5, 1, 8), put(1), fence, amo(9, 1, 4)}, "put fence amo put fence amo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, together := range []bool{true, false} {
				g := newRig(queue.MinSlots, requestBytes-48)
				g.hold = time.Hour
				for _, r := range c.requests {
					if g.store(r...); !together { // the rest comes at once, while the put is held
						g.once(t)
					}
				}
				g.hold = 0
				g.poll(t)
				var is []string
				for _, op := range g.ops() {
					is = append(is, op.Code.String())
				}
				if got := strings.Join(is, " "); got != c.want || !g.Taken() {
					t.Errorf("stored together %v: %s, not %s", together, got, c.want)
				}
			}
		})
	}
}

// TestHeld: a put is not held for a signal for ever, nor while a kernel waits for it.
func TestHeld(t *testing.T) {
	g := newRig(queue.MinSlots, 0)
	put := []uint64{1 << 16, 0x1000, 64 << 16, 1 << 16}
	g.store(put...)
	g.hold = time.Hour
	if !g.once(t) || g.Taken() {
		t.Fatal("a put is in the ring, or the goroutine may sleep")
	}
	g.hold = holdTime
	if g.poll(t); !g.Taken() {
		t.Error("a put is held for ever")
	}
	g.hold = time.Hour
	g.store(put...)
	atomic.StoreUint64(g.memory.word(quietIssueAt), g.issue)
	if g.once(t); !g.Taken() {
		t.Error("a put is held while a kernel waits for it")
	}
}

// TestElements: an address within the elements is that of this process.
func TestElements(t *testing.T) {
	g := newRig(queue.MinSlots, 0)
	a := g.memory.Addresses()
	for _, at := range []uint64{a.Elements + 32, a.Coalesced + 256} {
		g.store(5<<16, at&^0xff, 8<<16|at&0xff<<8, 1<<16)
		g.poll(t)
		if ops := g.ops(); len(ops) != 1 || ops[0].Local != at-g.memory.Device+uint64(uintptr(g.memory.Host)) {
			t.Errorf("a get to %#x: %+v", at, ops)
		}
	}
}

// TestResults: results go to their elements, in rounds; no more operations are in the ring than it
// has replies.
func TestResults(t *testing.T) {
	g := newRig(1<<13, 0)
	const all = queue.Replies + 10
	for i := range uint64(all) {
		g.store(7<<16, i<<32|1<<16|14<<8, 8<<16, 0, (i+elementBytes/elementSize-3)<<8)
	}
	g.poll(t)
	var ops []queue.Op
	for more := g.ops(); len(more) > 0; more = g.ops() {
		ops = append(ops, more...)
	}
	if len(ops) != queue.Replies || g.Taken() || g.Idle() {
		t.Fatalf("%d operations in the ring, all taken: %v", len(ops), g.Taken())
	}
	for _, o := range slices.Backward(ops) {
		status := int32(0)
		if o.Value == 5 {
			status = -1
		}
		g.ring.Reply(o.Reply, o.Value+100, status)
	}
	g.poll(t)
	for _, o := range g.ops() {
		g.ring.Reply(o.Reply, o.Value+100, 0)
	}
	g.poll(t)
	for i := range uint64(all) {
		number := i + elementBytes/elementSize - 3
		value, flag := i+100, uint64(3)
		if number < elementBytes/elementSize {
			flag = 1
		}
		if i == 5 {
			value = 0 // the operation failed
		}
		at := elementsAt + number*elementSize&(elementBytes-1)
		if g.word(at) != value || g.word(at+8) != flag {
			t.Fatalf("element %d has %d and flag %d, not %d and %d", number, g.word(at), g.word(at+8), value, flag)
		}
	}
	if !g.Idle() {
		t.Error("something is left to do")
	}
}

// TestQuiets: a position is acknowledged when a quiet is complete that was pushed after all requests
// below it, and complete passes a quiet of queue pairs only then.
func TestQuiets(t *testing.T) {
	g := newRig(queue.MinSlots, 0)
	put := []uint64{1 << 16, 0x1000, 64 << 16, 1 << 16}
	g.store(put...)
	g.poll(t)
	atomic.StoreUint64(g.memory.word(quietIssueAt), 64) // a request that is not stored yet is before it
	g.poll(t)
	if ops := g.ops(); len(ops) != 1 || ops[0].Code != queue.CodePut || !g.Idle() {
		t.Fatalf("%+v; idle: %v", ops, g.Idle())
	}
	g.store(put...)
	g.poll(t)
	ops := g.ops()
	if len(ops) != 2 || ops[1].Code != queue.CodeQuiet || g.word(quietAckAt) != 0 || g.Idle() {
		t.Fatalf("%+v, acknowledged up to %d", ops, g.word(quietAckAt))
	}
	first := g.ring.Position()
	g.store(1<<32|108<<16, 1<<32)
	g.store(put...)
	g.poll(t)
	if g.word(completeAt) != 64 || g.word(quietAckAt) != 0 {
		t.Fatalf("complete is %d, acknowledged %d", g.word(completeAt), g.word(quietAckAt))
	}
	g.ops()
	g.ring.PublishDone(first)
	g.poll(t)
	if g.word(completeAt) != 64 || g.word(quietAckAt) != 64 || g.Idle() {
		t.Fatalf("complete is %d, acknowledged %d", g.word(completeAt), g.word(quietAckAt))
	}
	g.ring.PublishDone(g.ring.Position())
	atomic.StoreUint64(g.memory.word(cstIssueAt), 48)
	g.poll(t)
	if g.word(completeAt) != g.issue || g.word(cstAckAt) != 48 || !g.Idle() {
		t.Fatalf("complete is %d, not %d", g.word(completeAt), g.issue)
	}
}

// TestFullRing: requests wait for room in the ring, and kernels for room in the channel.
func TestFullRing(t *testing.T) {
	g := newRig(queue.MinSlots, 0)
	for range queue.MinSlots {
		g.store(2<<16, 5<<32|1<<16, 4<<16)
	}
	g.poll(t)
	taken := g.word(completeAt) / entrySize / 3
	if taken >= queue.MinSlots || taken < queue.MinSlots-2*mostSlots || g.Taken() {
		t.Fatalf("%d of %d requests taken", taken, queue.MinSlots)
	}
	n := 0
	for {
		ops := g.ops()
		if n += len(ops); len(ops) == 0 {
			break
		}
		g.poll(t)
	}
	if n != queue.MinSlots || !g.Taken() {
		t.Errorf("%d of %d requests taken", n, queue.MinSlots)
	}
}

// TestQuietOfFullRing: a quiet finds room in the ring before requests that other kernels store.
func TestQuietOfFullRing(t *testing.T) {
	g := newRig(queue.MinSlots, 0)
	g.store(2<<16, 5<<32|1<<16, 4<<16) // takes one slot, and the others three each: three are left
	for range queue.MinSlots {
		g.store(3<<16, 0x1000, 64<<16, 1<<16, 9<<16, 0)
	}
	g.poll(t)
	atomic.StoreUint64(g.memory.word(quietIssueAt), g.taken.Load())
	g.poll(t)
	if !g.quiet.underway || g.Taken() {
		t.Errorf("the full ring has no quiet; %d slots are left", g.Channel.ring.Room())
	}
}

// TestPartOfARequest: what a kernel has left of a request when it ended keeps nothing busy.
func TestPartOfARequest(t *testing.T) {
	g := newRig(queue.MinSlots, 0)
	g.store(1 << 16)
	if g.poll(t); !g.Taken() || !g.Idle() {
		t.Errorf("all taken: %v, idle: %v", g.Taken(), g.Idle())
	}
}

// TestUnserved: what is not served is named, and the channel stays before it.
func TestUnserved(t *testing.T) {
	for want, entries := range map[string][]uint64{
		"batch region at position 0 of the proxy channel is not served": {9 << 16},
		"operation 77 at position 0":                                    {77 << 16},
		"quiet at position 0":                                           {8 << 16},
		"quiet of 4000000000 queue pairs":                               {4000000000<<32 | 108<<16},
		"p of 3 bytes for PE 2":                                         {2 << 16, 2 << 16, 3 << 16},
		"atomic operation with number 11 for PE 2 does not exist":       {7 << 16, 2<<16 | 11<<8, 8 << 16, 0, 0},
		"put_signal with number 0 for PE 2 does not exist":              {3 << 16, 0x1000, 8 << 16, 2 << 16, 0, 0},
		"atomic operation on 2 bytes of PE 2":                           {7 << 16, 2<<16 | 3<<8, 2 << 16, 0, 0},
		"atomic addition to floating-point numbers of PE 2, which has no request in this library (": {7 << 16, 2<<16 | (4|ofFloat)<<8, 8 << 16, 0, 0},
	} {
		g := newRig(queue.MinSlots, 0)
		g.store(entries...)
		_, err := g.Poll()
		if err == nil || !strings.Contains(err.Error(), want) || len(g.ops()) != 0 || g.Taken() {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

// FuzzRead: no bits in the requests crash the decoder, or make it pass what is not stored.
func FuzzRead(f *testing.F) {
	f.Add(uint64(1<<16|1), uint64(0x1001), uint64(64<<16|1), uint64(1<<16|1), uint64(1), uint64(1))
	f.Add(uint64(0x7fffffff<<32|108<<16|1), uint64(0), uint64(1), uint64(1), uint64(1), uint64(1))
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g uint64) {
		r := newRig(queue.MinSlots, 0)
		words := [6]uint64{a, b, c, d, e, g}
		for i, v := range words {
			atomic.StoreUint64(r.memory.word(uint64(i)*entrySize), v)
		}
		var q request
		n, err := r.memory.read(0, &q)
		if err != nil && n != 0 || n%entrySize != 0 || n > (mostPairs+1)*entrySize {
			t.Fatalf("%d bytes, error %v", n, err)
		}
		for i := range min(n/entrySize, uint64(len(words))) {
			if words[i]&1 == 0 {
				t.Fatalf("entry %d is not stored, and the request has %d bytes", i, n)
			}
		}
	})
}
