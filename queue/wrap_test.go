package queue_test

import (
	"testing"

	"libshmem/queue"
	"libshmem/queue/queuetest"
)

// starts returns first positions from which a short run passes every width at which
// a counter turns: the ring's index, its lap, 32 bits, the sign of a distance
// and the counter itself.
func starts(size uint64) []uint64 {
	var all []uint64
	for _, at := range []uint64{size, 2 * size, 4 * size, 1 << 31, 1 << 32, 1 << 62, 1 << 63, 0} {
		for back := range uint64(4) {
			all = append(all, at-size-back, at-back)
		}
	}
	return all
}

// TestWrap runs operations of each length over each turn, in a ring that is
// filled to the brim each time, and reads each one once and in order.
func TestWrap(t *testing.T) {
	codes := []queue.Code{queue.CodeNop, queue.CodePWide, queue.CodePutSignal}
	for _, size := range []int{4, 8, queue.MinSlots} {
		for _, start := range starts(uint64(size)) {
			g := queuetest.New(size, start)
			r := queue.NewAt(g.Memory(), size, start)
			var op queue.Op
			if found := r.Next(&op); found != queue.Empty || r.StoredAhead(size) {
				t.Fatalf("size %d from %#x: the new ring is not empty", size, start)
			}
			next := start
			for round := range uint64(8) {
				var pushed []queue.Op
				for used := 0; ; {
					op := queue.Op{Code: codes[(uint64(len(pushed))+round)%3], Value: round, Signal: next, Local: next}
					n := queue.SlotsOf(op.Code)
					if used += n; used > size {
						break
					}
					if p := g.Reserve(n); p != next || !g.Free(p+uint64(n)) {
						t.Fatalf("size %d from %#x: position %#x, want %#x, or no room", size, start, p, next)
					}
					g.Store(next, &op)
					next += uint64(n)
					pushed = append(pushed, op)
				}
				if full := r.Progress().Tail + uint64(size); !g.Free(full) || g.Free(full+1) {
					t.Fatalf("size %d from %#x: room past the tail %#x is not the ring's size", size, start, r.Progress().Tail)
				}
				for i, want := range pushed {
					var op queue.Op
					if found := r.Next(&op); found != queue.Found || op.Code != want.Code || op.Signal != want.Signal && want.Code == queue.CodePutSignal {
						t.Fatalf("size %d from %#x, round %d, operation %d: result %d, %+v, want %+v", size, start, round, i, found, op, want)
					}
				}
				if found := r.Next(&op); found != queue.Empty || r.Position() != next {
					t.Fatalf("size %d from %#x: position %#x, want %#x, or not empty", size, start, r.Position(), next)
				}
				r.Publish()
			}
		}
	}
}

// TestDoneWraps holds the comparison of a quiet's position with done.
func TestDoneWraps(t *testing.T) {
	for _, start := range starts(8) {
		g := queuetest.New(8, start)
		r := queue.NewAt(g.Memory(), 8, start)
		var waits []uint64
		for range 5 {
			p, _ := g.Push(&queue.Op{Code: queue.CodeQuiet})
			waits = append(waits, p)
		}
		for i, p := range waits {
			var op queue.Op
			r.Next(&op)
			if g.Complete(p) {
				t.Fatalf("from %#x: quiet %d complete before done", start, i)
			}
			r.PublishDone(r.Position())
			for j, q := range waits {
				if g.Complete(q) != (j <= i) {
					t.Fatalf("from %#x: quiet %d complete is %v after quiet %d", start, j, g.Complete(q), i)
				}
			}
		}
	}
}

// TestTurnWraps holds that an answer's count may pass 2^32.
func TestTurnWraps(t *testing.T) {
	g := queuetest.New(8, 0)
	r := queue.NewAt(g.Memory(), 8, 0)
	g.Reply(0).Turn = 1<<32 - 3
	for round := range uint64(6) {
		i, turn, ok := g.Claim()
		if !ok || i != 0 {
			t.Fatalf("round %d: place %d", round, i)
		}
		if _, _, ok := g.Replied(i, turn); ok {
			t.Fatalf("round %d: answered before", round)
		}
		r.Reply(i, round<<60, -int32(round))
		if v, status, ok := g.Replied(i, turn); !ok || v != round<<60 || status != -int32(round) {
			t.Fatalf("round %d: answer %#x, status %d, %v", round, v, status, ok)
		}
	}
	if turn := g.Reply(0).Turn; turn != 3 {
		t.Errorf("turn is %d after six from 2^32-3", turn)
	}
}

// TestReplies holds that answers go to their own place, whatever number the
// slot had, and that a thousand may be open at once.
func TestReplies(t *testing.T) {
	g := queuetest.New(8, 0)
	r := queue.NewAt(g.Memory(), 8, 0)
	for n := range queue.Replies {
		if i, _, ok := g.Claim(); !ok || int(i) != n {
			t.Fatalf("claim %d gave place %d", n, i)
		}
	}
	if _, _, ok := g.Claim(); ok {
		t.Error("more places than there are")
	}
	for n := range 1 << 16 { // any number may stand in a slot
		r.Reply(uint16(n), uint64(n), 0)
	}
	for n := range uint16(queue.Replies) {
		want := uint64(n) + (1<<16 - queue.Replies)
		if v, _, ok := g.Replied(n, 0); !ok || v != want || g.Reply(n).Turn != 1<<16/queue.Replies {
			t.Fatalf("place %d has %d, want %d", n, v, want)
		}
	}
}

// TestLine holds the proxy's other words: asleep, stopped, and a tail that is not written when it
// has not moved.
func TestLine(t *testing.T) {
	g := queuetest.New(8, 0)
	r := queue.NewAt(g.Memory(), 8, 0)
	r.Sleep(true)
	if g.Line.Asleep != 1 {
		t.Error("asleep is not announced")
	}
	r.Sleep(false)
	r.Stop()
	if g.Line.Asleep != 0 || !g.Stopped() {
		t.Errorf("line is %+v", *g.Line)
	}
	word, lap := r.HeadSlot()
	*word = 4711
	if lap != 1<<63 || g.Word(0, 0) != 4711 {
		t.Errorf("head slot is another, or its lap is %#x", lap)
	}
}

// TestAhead takes away one word of one slot at a time: whatever is missing, a
// part that is there shows.
func TestAhead(t *testing.T) {
	op := queue.Op{Code: queue.CodePutSignal, Length: 1}
	for missing := range 6 {
		g := queuetest.New(8, 5)
		r := queue.NewAt(g.Memory(), 8, 5)
		p := g.Reserve(3)
		g.Store(p, &op)
		at, i := p+uint64(missing/2), missing%2
		kept := g.Word(at, i)
		g.Set(at, i, kept^1<<63)
		var got queue.Op
		if found := r.Next(&got); found != queue.Empty || !r.StoredAhead(3) {
			t.Errorf("without word %d: result %d, ahead %v", missing, found, r.StoredAhead(3))
		}
		g.Set(at, i, kept)
		if found := r.Next(&got); found != queue.Found || r.StoredAhead(8) {
			t.Errorf("with word %d: result %d, ahead %v", missing, found, r.StoredAhead(8))
		}
	}
	g := queuetest.New(8, 0)
	r := queue.NewAt(g.Memory(), 8, 0)
	g.Reserve(7)
	g.Store(g.Reserve(1), &queue.Op{Code: queue.CodeNop})
	if r.StoredAhead(6) || !r.StoredAhead(7) || !r.StoredAhead(1<<20) {
		t.Error("the seventh slot after the next shows too early or not at all")
	}
}
