package queue_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"libshmem/queue"
	"libshmem/queue/queuetest"
)

// TestWaiting counts the contents of a ring when it is full, empty, and in between, also at the end
// of a round.
func TestWaiting(t *testing.T) {
	const slots = queue.MinSlots
	for start := range uint64(3) {
		start += slots - 1
		rig := queuetest.New(slots, start)
		ring := queue.NewAt(rig.Memory(), slots, start)
		op := queue.Op{Code: queue.CodeP, PE: 1, Width: 3}
		for n := range slots + 1 {
			if got := ring.Waiting(); got != n {
				t.Fatalf("start %d: %d operations wait, want %d", start, got, n)
			}
			if n < slots {
				rig.Push(&op)
			}
		}
		for range slots {
			ring.Next(&op)
		}
		if ring.Publish(); ring.Waiting() != 0 {
			t.Errorf("start %d: %d operations wait in an empty ring", start, ring.Waiting())
		}
	}
}

// TestRead gives the same slots to two rings, of which one is emptied by Next
// and the other by Read in batches of every size: both must find the same, also
// where an operation is not whole yet, is unknown or goes over the end.
func TestRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const slots = queue.MinSlots
	for start := range uint64(40) {
		start += slots - 20 // the end of a round comes soon
		a, b := queuetest.New(slots, start), queuetest.New(slots, start)
		one, many := queue.NewAt(a.Memory(), slots, start), queue.NewAt(b.Memory(), slots, start)
		compared, pushed := 0, 0
		for range 300 {
			for range rng.IntN(20) {
				var w [2 * queue.MaxSlots]uint64
				op := queue.Op{Code: queue.Code(rng.IntN(int(queue.CodeFence) + 1)), PE: rng.Uint32N(1 << 20), Dest: rng.Uint64N(1 << 44),
					Value: rng.Uint64(), Value2: rng.Uint64(), Local: rng.Uint64(), Length: rng.Uint64N(1 << 44), Signal: rng.Uint64(), SignalAt: rng.Uint64N(1 << 44)}
				n := op.Pack(&w)
				pushed++
				if rng.IntN(20) == 0 {
					w[0], n = w[0]|31, 1 // no operation has this code
				}
				for _, g := range []*queuetest.Rig{a, b} {
					p := g.Reserve(n)
					if !g.Free(p + uint64(n)) {
						t.Fatal("no room")
					}
					for i := range uint64(n) {
						g.Set(p+i, 0, w[2*i]|g.Lap(p+i))
						g.Set(p+i, 1, w[2*i+1]|g.Lap(p+i))
					}
				}
			}
			if n := many.Waiting(); n != pushed {
				t.Fatalf("start %d: %d operations wait, want %d", start, n, pushed)
			}
			batch := make([]queue.Op, 1+rng.IntN(40))
			for {
				n := many.Read(batch)
				for i := range batch[:n] {
					var op queue.Op
					r := one.Next(&op)
					if r == queue.Empty || (r == queue.Found) != batch[i].HasKnownCode() || op.Code != batch[i].Code {
						t.Fatalf("start %d: Read found %+v, Next %d %+v", start, batch[i], r, op)
					}
					var x, y [2 * queue.MaxSlots]uint64
					if op.Pack(&x); batch[i].Pack(&y) != 0 && x != y {
						t.Fatalf("start %d: Read decoded %+v, Next %+v", start, batch[i], op)
					}
					compared++
				}
				if one.Position() != many.Position() {
					t.Fatalf("start %d: Read is at %d, Next at %d", start, many.Position(), one.Position())
				}
				if n < len(batch) {
					break
				}
			}
			var op queue.Op
			if one.Next(&op) != queue.Empty {
				t.Fatalf("start %d: Read left %+v", start, op)
			}
			if n := many.Waiting(); n != pushed {
				t.Fatalf("start %d: %d operations wait that were taken and not given back, want %d", start, n, pushed)
			}
			one.Publish()
			many.Publish()
			pushed = 0
		}
		if compared < 1000 {
			t.Fatalf("compared %d operations", compared)
		}
	}
}

// TestReadPartial stores an operation slot by slot: Read must not pass it before it is whole, and
// must then find the one behind it.
func TestReadPartial(t *testing.T) {
	for _, start := range []uint64{0, queue.MinSlots - 1, queue.MinSlots - 2, queue.MinSlots - 3} {
		g := queuetest.New(queue.MinSlots, start)
		r := queue.NewAt(g.Memory(), queue.MinSlots, start)
		op := queue.Op{Code: queue.CodePutSignal, PE: 5, Length: 77, Signal: 1 << 63}
		var w [2 * queue.MaxSlots]uint64
		n := uint64(op.Pack(&w))
		p := g.Reserve(int(n))
		g.Push(&queue.Op{Code: queue.CodeP, PE: 6})
		var ops [4]queue.Op
		for word := range 2 * n {
			if got := r.Read(ops[:]); got != 0 || r.Position() != start {
				t.Fatalf("start %d: with %d words Read found %d operations", start, word, got)
			}
			last := 2*n - 1 - word // backwards: the first word comes last
			g.Set(p+last/2, int(last%2), w[last]|g.Lap(p+last/2))
		}
		if got := r.Read(ops[:]); got != 2 || ops[0].PE != 5 || ops[0].Signal != 1<<63 || ops[0].Length != 77 || ops[1].PE != 6 {
			t.Fatalf("start %d: Read found %d operations: %+v", start, got, ops[:got])
		}
	}
}

// TestTaken: a thread other than the consumer learns from the tail and the slots alone whether
// something is left.
func TestTaken(t *testing.T) {
	for _, start := range []uint64{0, queue.MinSlots - 1, 1<<64 - 2} {
		g := queuetest.New(queue.MinSlots, start)
		r := queue.NewAt(g.Memory(), queue.MinSlots, start)
		atomic.StoreUint64(&r.Progress().Tail, start)
		op := queue.Op{Code: queue.CodePut}
		var got queue.Op
		for round := range 3 {
			if !r.Taken() || r.Tail() != r.Position() {
				t.Errorf("from %#x, round %d: something is left in an empty ring", start, round)
			}
			g.Push(&op)
			if r.Taken() {
				t.Errorf("from %#x, round %d: nothing is left of the pushed operation", start, round)
			}
			if r.Next(&got) != queue.Found || r.Taken() {
				t.Errorf("from %#x, round %d: taken before that was published", start, round)
			}
			r.Publish()
		}
	}
}
