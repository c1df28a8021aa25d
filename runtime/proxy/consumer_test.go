package proxy

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/queue/queuetest"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/loop"
)

// ringJob is a job whose PEs have rings. The test itself is the producer, and lets the consumers
// run whenever it waits.
type ringJob struct {
	*job
	rigs      [][]*queuetest.Rig // by PE
	rings     [][]*queue.Ring
	locals    []*loop.Locals
	consumers []*loop.Consumer
	mu        sync.Mutex // around reports, where loops run
	reports   [][]error
	inLoop    int // operations that C took
}

const testSlots = queue.MinSlots

func newRingJob(t testing.TB, m mode, seed uint64, n, rings, heap int) *ringJob {
	t.Helper()
	j := &ringJob{job: newJob(t, m, seed, n, heap), rigs: make([][]*queuetest.Rig, n), rings: make([][]*queue.Ring, n), reports: make([][]error, n)}
	for i, p := range j.pes {
		for range rings {
			rig := queuetest.New(testSlots, 0)
			ring, err := queue.New(rig.Memory(), testSlots)
			if err != nil {
				t.Fatal(err)
			}
			j.rigs[i], j.rings[i] = append(j.rigs[i], rig), append(j.rings[i], ring)
		}
		j.locals = append(j.locals, loop.NewLocals())
		j.consumers = append(j.consumers, loop.NewConsumer(p.Engine, j.rings[i], j.locals[i], func(err error) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.reports[i] = append(j.reports[i], err)
		}))
	}
	return j
}

// step runs one PE's proxy.
func (j *ringJob) step() {
	i := j.rng.IntN(len(j.pes))
	switch c := j.consumers[i]; j.rng.IntN(3) {
	case 0:
		c.Drain()
	case 1:
		j.pes[i].poll()
	default:
		if c.ServableInC() {
			j.inC(i)
		} else {
			c.Drain()
		}
	}
}

// inC lets C serve the rings of a PE until it finds no more work.
func (j *ringJob) inC(i int) {
	j.t.Helper()
	p, c := j.pes[i], j.consumers[i]
	if err := p.ops.Net.Provider.(*boxed).arrive(); err != nil {
		j.t.Fatal(err)
	}
	a, held, err := c.Run(time.Hour, 0)
	if err != nil {
		j.t.Fatal(err)
	}
	if held {
		p.Unlock()
	}
	j.inLoop += a.Taken
	if p.applied != nil {
		p.applied()
	}
}

func (j *ringJob) until(what string, cond func() bool) {
	j.t.Helper()
	for range 400_000 {
		if cond() {
			return
		}
		j.step()
	}
	j.t.Fatalf("%s: still not so after many steps (mode %s)", what, j.net.mode.name)
}

// push waits for room as a producer does.
func (j *ringJob) push(pe, ring int, op queue.Op) uint64 {
	j.t.Helper()
	var w [2 * queue.MaxSlots]uint64
	n := op.Pack(&w)
	rig := j.rigs[pe][ring]
	p := rig.Reserve(n)
	j.until("room in the ring", func() bool { return rig.Free(p + uint64(n)) })
	rig.Store(p, &op)
	return p
}

// awaitRings is the test's shmemi_await_rings_read.
func (j *ringJob) awaitRings(pe, mine int) {
	j.t.Helper()
	for i, rig := range j.rigs[pe] {
		if i != mine {
			head := rig.Reserve(0)
			j.until("rings taken", func() bool { return int64(head-rig.Line.Tail) <= 0 })
		}
	}
}

func (j *ringJob) quiet(pe, ring int) {
	j.t.Helper()
	j.awaitRings(pe, ring)
	p := j.push(pe, ring, queue.Op{Code: queue.CodeQuiet})
	j.until("quiet", func() bool { return j.rigs[pe][ring].Complete(p) })
}

func (j *ringJob) fence(pe, ring int) {
	j.t.Helper()
	j.awaitRings(pe, ring)
	p := j.push(pe, ring, queue.Op{Code: queue.CodeFence})
	if len(j.rigs[pe]) > 1 {
		j.until("fence", func() bool { return int64(j.rigs[pe][ring].Line.Fenced-p) > 0 })
	}
}

// ask pushes an operation with an answer and waits for the answer.
func (j *ringJob) ask(pe, ring int, op queue.Op) (uint64, int32) {
	j.t.Helper()
	rig := j.rigs[pe][ring]
	reply, turn, ok := rig.Claim()
	if !ok {
		j.t.Fatal("no reply is free")
	}
	op.Want, op.Reply = 1, reply
	j.push(pe, ring, op)
	var value uint64
	var status int32
	j.until("answer", func() bool {
		var came bool
		value, status, came = rig.Replied(reply, turn)
		return came
	})
	return value, status
}

func (j *ringJob) clean() {
	j.t.Helper()
	for i, errs := range j.reports {
		if len(errs) > 0 {
			j.t.Errorf("PE %d reports: %v", i, errors.Join(errs...))
		}
	}
	j.drain()
	j.close()
}

func stamp(b []byte, seed byte) {
	for i := range b {
		b[i] = seed + byte(i)*7 + byte(i>>8)
	}
}

func allModes() []mode {
	var out []mode
	for _, m := range modes {
		out = append(out, both(m)...)
		out = append(out, both(rough(m))...)
	}
	return out
}

// eachConsumer runs a test with the consumer in Go alone, and with the consumer that is partly in
// C.
func eachConsumer(t *testing.T, m mode, f func(t *testing.T, m mode)) {
	for _, m := range both(m) {
		t.Run(m.name, func(t *testing.T) { f(t, m) })
	}
}

// TestConsumerOperations pushes each operation once, on every kind of network.
func TestConsumerOperations(t *testing.T) {
	for _, m := range allModes() {
		t.Run(m.name, func(t *testing.T) {
			j := newRingJob(t, m, 1, 2, 2, 1<<20)
			defer j.clean()
			mine, theirs := j.pes[0].heap, j.pes[1].heap

			stamp(mine[:300_000], 1)
			j.push(0, 0, queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: j.address(mine), Length: 100})
			j.push(0, 1, queue.Op{Code: queue.CodePut, PE: 1, Dest: at(4096), Local: j.address(mine), Length: 300_000})
			outside := make([]byte, 5000)
			stamp(outside, 9)
			j.push(0, 0, queue.Op{Code: queue.CodePut, PE: 1, Dest: at(400_000), Local: j.address(outside), Length: 5000})
			j.push(0, 0, queue.Op{Code: queue.CodeP, PE: 1, Dest: at(500_001), Width: 0, Value: 0xAB})
			j.push(0, 0, queue.Op{Code: queue.CodeP, PE: 1, Dest: at(500_004), Width: 2, Value: 0x80000001})
			j.push(0, 0, queue.Op{Code: queue.CodePWide, PE: 1, Dest: at(500_008), Value: 0xFEDCBA9876543210})
			j.push(0, 0, queue.Op{Code: queue.CodePBytes, PE: 1, Dest: at(500_016), Size: 16, Value: 1 << 63, Value2: 3})
			j.push(0, 1, queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(500_032), Kind: uint8(fabric.OpAdd), Width: 3, Value: ^uint64(4)}) // -5
			j.push(0, 1, queue.Op{Code: queue.CodeAMOWide, PE: 1, Dest: at(500_032), Kind: uint8(fabric.OpAdd), Width: 3, Value: 1 << 40})
			j.push(0, 1, queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(600_000), Local: j.address(mine), Length: 200_000,
				Kind: uint8(fabric.OpSet), Signal: 1<<63 | 5, SignalAt: at(500_040)})
			j.push(0, 1, queue.Op{Code: queue.CodePBytes, PE: 1, Dest: at(500_049), Size: 3, Value: 0xFF030201})
			j.push(0, 1, queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(500_056), Size: 11, Value: 1<<63 | 7, Value2: 0xFF0A0908,
				Kind: uint8(fabric.OpAdd), Signal: 1<<63 | 9, SignalAt: at(500_072)})
			j.push(0, 1, queue.Op{Code: queue.CodeNop})
			j.quiet(0, 0)
			word := func(offset int) uint64 { return binary.NativeEndian.Uint64(theirs[offset:]) }
			if string(theirs[:100]) != string(mine[:100]) || string(theirs[4096:304_096]) != string(mine[:300_000]) ||
				string(theirs[400_000:405_000]) != string(outside) || string(theirs[600_000:800_000]) != string(mine[:200_000]) {
				t.Error("a put is not there after the quiet")
			}
			if theirs[500_001] != 0xAB || binary.NativeEndian.Uint32(theirs[500_004:]) != 0x80000001 || word(500_008) != 0xFEDCBA9876543210 ||
				word(500_016) != 1<<63 || word(500_024) != 3 {
				t.Errorf("an element is not there after the quiet: % x", theirs[500_000:500_032])
			}
			if got := word(500_032); got != 1<<40-5 {
				t.Errorf("atomics made %#x", got)
			}
			if word(500_048) != 0x03020100 || word(500_056) != 1<<63|7 || word(500_064) != 0x0A0908 || word(500_072) != 1<<63|9 {
				t.Errorf("bytes that were in slots are not there after the quiet: % x", theirs[500_048:500_080])
			}
			if got := word(500_040); got != 1<<63|5 {
				t.Errorf("signal is %#x", got)
			}

			old, st := j.ask(0, 0, queue.Op{Code: queue.CodeAMOWide, PE: 1, Dest: at(500_032), Kind: uint8(fabric.OpCompareSwap), Width: 3, Value: 7, Value2: 1<<40 - 5})
			if old != 1<<40-5 || st != 0 || word(500_032) != 7 {
				t.Errorf("compare-and-swap fetched %#x, status %d, left %d", old, st, word(500_032))
			}
			back := make([]byte, 300_000)
			if _, st := j.ask(0, 1, queue.Op{Code: queue.CodeGet, PE: 1, Dest: at(4096), Local: j.address(back), Length: 300_000}); st != 0 || string(back) != string(mine[:300_000]) {
				t.Errorf("get: status %d", st)
			}
			source := make([]byte, 200_000)
			stamp(source, 77)
			want := string(source)
			if _, st := j.ask(0, 0, queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: j.address(source), Length: 200_000}); st != 0 {
				t.Errorf("put: status %d", st)
			}
			spoil(source) // the answer said that it may be reused
			clear(back)
			j.quiet(0, 0)
			j.push(0, 0, queue.Op{Code: queue.CodeGet, PE: 1, Dest: at(4096), Local: j.address(back), Length: 1000})
			j.quiet(0, 1)
			if string(theirs[:200_000]) != want || string(back[:1000]) != want[4096:5096] {
				t.Error("after the second quiet something is missing")
			}
			if _, st := j.ask(0, 0, queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: 0, Length: 0}); st != 0 {
				t.Errorf("put of nothing: status %d", st)
			}
		})
	}
}

// TestPlayedConsumerOrder sends numbered blocks. The number follows its block behind a fence, or
// comes with it: a reader that sees a number sees a block at least as new. The two may come from
// different rings if a fence is between them.
func TestPlayedConsumerOrder(t *testing.T) {
	const blocks, size = 4, 6000
	short := modes[3] // so that a block is two writes
	short.caps.MaxMessage = 4500
	for _, m := range append(allModes(), both(rough(short))...) {
		seeds(6, func(seed uint64) {
			j := newRingJob(t, m, seed, 3, 1+int(seed%3), 1<<18)
			defer j.clean()
			block := func(heap []byte, from, k int) []byte { return heap[from*65536+k*size*2:][:size] }
			number := func(heap []byte, from, k int) uint64 {
				return binary.NativeEndian.Uint64(heap[from*65536+blocks*size*2+k*8:])
			}
			for to, p := range j.pes {
				p.applied = func() {
					for from := range j.pes {
						for k := range blocks {
							n := number(p.heap, from, k)
							b := block(p.heap, from, k)
							if first, last := binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[size-8:]); first < n || last < n {
								t.Fatalf("mode %s seed %d: PE %d sees number %d of PE %d's block %d, whose ends have %d and %d", m.name, seed, to, n, from, k, first, last)
							}
						}
					}
				}
			}
			sources := map[int][]byte{}
			for i := 1; i <= 60; i++ {
				from, to, k := j.rng.IntN(3), j.rng.IntN(3), j.rng.IntN(blocks)
				if from == to {
					continue
				}
				key := from*100 + to*10 + k
				if sources[key] == nil {
					sources[key] = make([]byte, size)
				} else {
					j.quiet(from, 0) // the source is used again
				}
				s := sources[key]
				binary.NativeEndian.PutUint64(s, uint64(i))
				binary.NativeEndian.PutUint64(s[size-8:], uint64(i))
				put := queue.Op{Code: queue.CodePut, PE: uint32(to), Local: j.address(s), Length: size, Dest: at(from*65536 + k*size*2)}
				numberAt := at(from*65536 + blocks*size*2 + k*8)
				rings := len(j.rigs[from])
				switch j.rng.IntN(3) {
				case 0:
					put.Code, put.Kind, put.Signal, put.SignalAt = queue.CodePutSignal, uint8(fabric.OpSet), uint64(i), numberAt
					j.push(from, j.rng.IntN(rings), put)
				case 1: // in two halves
					half := put
					half.Length = size / 2
					j.push(from, j.rng.IntN(rings), half)
					half.Local, half.Dest = half.Local+size/2, half.Dest+size/2
					j.push(from, j.rng.IntN(rings), half)
					j.fence(from, j.rng.IntN(rings))
					j.push(from, j.rng.IntN(rings), queue.Op{Code: queue.CodePWide, PE: uint32(to), Dest: numberAt, Value: uint64(i)})
				case 2:
					j.push(from, j.rng.IntN(rings), put)
					j.fence(from, j.rng.IntN(rings))
					j.push(from, j.rng.IntN(rings), queue.Op{Code: queue.CodeAMO, PE: uint32(to), Dest: numberAt, Kind: uint8(fabric.OpSet), Width: 3, Value: uint64(i)})
				}
			}
			for pe := range j.pes {
				j.quiet(pe, 0)
			}
		})
	}
}

// TestConsumerMerges checks that neighbours become one write.
func TestConsumerMerges(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		j := newRingJob(t, m, 1, 2, 1, 1<<20)
		defer j.clean()
		mine := j.pes[0].heap
		stamp(mine[:320_000], 3)
		for i := range uint64(32) {
			j.rigs[0][0].Push(&queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0) + i*10_000, Local: j.address(mine) + i*10_000, Length: 10_000})
		}
		j.quiet(0, 0)
		if n := j.pes[0].Report.Count()[layout.Writes]; n != 1 {
			t.Errorf("32 puts to neighbouring addresses made %d writes", n)
		}
		if string(j.pes[1].heap[:320_000]) != string(mine[:320_000]) {
			t.Error("not all of it arrived")
		}
	})
}

// TestConsumerStuckPeer checks that a PE that takes no messages stops only operations on it.
func TestConsumerStuckPeer(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		stuck := true
		m.stuck = func(o *work) bool { return stuck && o.to == 2 }
		j := newRingJob(t, m, 1, 3, 2, 1<<20)
		defer j.clean()
		mine := j.pes[0].heap
		for i := range 600 {
			mine[i] = byte(i) | 1
			for to := uint32(1); to <= 2; to++ {
				j.push(0, i%2, queue.Op{Code: queue.CodePut, PE: to, Dest: at(0) + uint64(i)*16, Local: j.address(mine[i:]), Length: 1})
				j.push(0, i%2, queue.Op{Code: queue.CodePut, PE: to, Dest: at(65536), Local: j.address(mine), Length: 8000})
			}
		}
		j.until("what is for PE 1 arrives", func() bool { return j.pes[1].heap[599*16] == mine[599] })
		if j.pes[2].heap[599*16] != 0 {
			t.Fatal("PE 2 was to be stuck")
		}
		stuck = false
		j.quiet(0, 0)
		for i := range 600 {
			if j.pes[2].heap[i*16] != mine[i] {
				t.Fatalf("put %d for PE 2 got lost", i)
			}
		}
	})
}

// TestConsumerTail checks that the tail passes an operation only when it is posted or waits for
// room, because a quiet in another ring relies on that. Here more operations come for a stuck PE
// than may wait.
func TestConsumerTail(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		stuck := true
		m.stuck = func(o *work) bool { return stuck && o.to == 1 }
		j := newRingJob(t, m, 1, 2, 2, 1<<20)
		defer j.clean()
		c, g := j.consumers[0], j.rigs[0][1]
		op := queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: address(j.pes[0].heap), Length: 8000}
		const slots = 2
		tails := 0
		for range 4 * loop.WaitingMax {
			p := g.Reserve(slots)
			for range 50 {
				if g.Free(p + slots) {
					break
				}
				j.step()
				if taken, _ := c.Counts(); g.Line.Tail > slots*taken {
					t.Fatalf("the tail is at %d when %d operations were started", g.Line.Tail, taken)
				}
			}
			if !g.Free(p + slots) {
				stuck = false // the consumer is full, as it should be
				tails++
				j.until("room", func() bool { return g.Free(p + slots) })
			}
			g.Store(p, &op)
			op.Dest ^= 16384 // no neighbours
		}
		if tails == 0 {
			t.Error("the ring was never full: nothing was kept")
		}
		j.quiet(0, 0)
		if c.Holds() {
			t.Error("something waits after the quiet")
		}
	})
}

// TestPlayedConsumerFullBothWays fills the rings of two PEs that send to each other. Each PE goes
// on while the other's ring is full.
func TestPlayedConsumerFullBothWays(t *testing.T) {
	eachConsumer(t, rough(modes[2]), func(t *testing.T, m mode) {
		j := newRingJob(t, m, 3, 2, 1, 1<<16)
		defer j.clean()
		for i := range 20 * testSlots {
			for pe := range 2 {
				j.push(pe, 0, queue.Op{Code: queue.CodeAMO, PE: uint32(1 - pe), Dest: at(i % 64 * 8), Kind: uint8(fabric.OpAdd), Width: 3, Value: 1})
			}
		}
		j.quiet(0, 0)
		j.quiet(1, 0)
		for pe := range 2 {
			sum := uint64(0)
			for i := range 64 {
				sum += binary.NativeEndian.Uint64(j.pes[pe].heap[i*8:])
			}
			if sum != 20*testSlots {
				t.Errorf("PE %d was added to %d times, want %d", pe, sum, 20*testSlots)
			}
		}
	})
}

// TestConsumerAllocates checks that nothing is allocated in the steady state.
func TestConsumerAllocates(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		j := newRingJob(t, m, 1, 2, 2, 1<<20)
		rig := j.rigs[0][0]
		mine := j.pes[0].heap
		ops := []queue.Op{
			{Code: queue.CodePut, PE: 1, Dest: at(0), Local: j.address(mine), Length: 16_384},
			{Code: queue.CodePut, PE: 1, Dest: at(65536), Local: j.address(mine), Length: 100},
			{Code: queue.CodePWide, PE: 1, Dest: at(8), Value: 5},
			{Code: queue.CodePBytes, PE: 1, Dest: at(16), Size: 16, Value: 5, Value2: 6},
			{Code: queue.CodePSignal, PE: 1, Dest: at(16), Size: 9, Value: 5, Value2: 6, Kind: uint8(fabric.OpAdd), Signal: 1, SignalAt: at(40)},
			{Code: queue.CodeAMO, PE: 1, Dest: at(8), Kind: uint8(fabric.OpAdd), Width: 3, Value: 1},
			{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Local: j.address(mine), Length: 8192, Kind: uint8(fabric.OpAdd), Signal: 1, SignalAt: at(8)},
			{Code: queue.CodeFence}, {Code: queue.CodeQuiet},
		}
		round := func() {
			for i := range ops {
				rig.Push(&ops[i])
			}
			for range 40 {
				if j.consumers[0].ServableInC() {
					j.inC(0)
				}
				j.consumers[0].Drain()
				j.pes[0].Poll()
				j.pes[1].Poll()
			}
		}
		for range 100 {
			round()
		}
		if n := testing.AllocsPerRun(100, round); n > 0 {
			t.Errorf("%v allocations a round", n)
		}
		j.clean()
	})
}
