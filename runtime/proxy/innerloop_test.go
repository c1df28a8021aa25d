package proxy

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/queue/queuetest"
	"libshmem/runtime/proxy/loop"
	"libshmem/tests/need"
)

// native returns a network whose provider C can use.
func native(m mode) mode { return both(m)[1] }

// TestSimple checks which operations C takes and which it leaves to Go. Later operations of a ring
// stay with the one that is left.
func TestSimple(t *testing.T) {
	const heap = 1 << 16
	far := make([]byte, 64)
	j := newRingJob(t, native(modes[0]), 1, 2, 1, heap)
	mine := address(j.pes[0].heap)
	for name, row := range map[string]struct {
		op   queue.Op
		left bool
	}{
		"nop":             {queue.Op{Code: queue.CodeNop}, false},
		"p":               {queue.Op{Code: queue.CodeP, PE: 1, Dest: at(0), Width: 1}, false},
		"p wide":          {queue.Op{Code: queue.CodePWide, PE: 1, Dest: at(0)}, false},
		"bytes":           {queue.Op{Code: queue.CodePBytes, PE: 1, Dest: at(1), Size: 3}, false},
		"bytes, all":      {queue.Op{Code: queue.CodePBytes, PE: 1, Dest: at(0), Size: 16}, false},
		"bytes, signal":   {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Size: 16, Kind: uint8(fabric.OpAdd), SignalAt: at(64)}, false},
		"no bytes":        {queue.Op{Code: queue.CodePBytes, PE: 1, Dest: at(0)}, true},
		"17 bytes":        {queue.Op{Code: queue.CodePBytes, PE: 1, Dest: at(0), Size: 17}, true},
		"b. s. none":      {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Kind: uint8(fabric.OpSet), SignalAt: at(64)}, true},
		"b. s. 17":        {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Size: 17, Kind: uint8(fabric.OpSet), SignalAt: at(64)}, true},
		"b. s. outside":   {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(heap - 7), Size: 8, Kind: uint8(fabric.OpSet), SignalAt: at(64)}, true},
		"b. s. at end":    {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Size: 8, Kind: uint8(fabric.OpSet), SignalAt: at(heap)}, true},
		"b. s. at 4":      {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Size: 8, Kind: uint8(fabric.OpSet), SignalAt: at(4)}, true},
		"b. s. fetches":   {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Size: 8, Kind: uint8(fabric.OpXor), SignalAt: at(64)}, true},
		"amo":             {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: uint8(fabric.OpXor), Width: 3}, false},
		"amo wide":        {queue.Op{Code: queue.CodeAMOWide, PE: 1, Dest: at(0), Kind: uint8(fabric.OpOr), Width: 2}, false},
		"put":             {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: mine, Length: 24}, false},
		"put, answered":   {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: mine, Length: 24, Want: 1}, false},
		"signal":          {queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Local: mine, Length: 24, Kind: uint8(fabric.OpSet), SignalAt: at(64)}, false},
		"signal alone":    {queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Kind: uint8(fabric.OpSet), SignalAt: at(64)}, false},
		"fence":           {queue.Op{Code: queue.CodeFence}, false},
		"put of nothing":  {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0)}, true},
		"put, larger":     {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: mine, Length: 25}, true},
		"signal, larger":  {queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Local: mine, Length: 25, Kind: uint8(fabric.OpSet), SignalAt: at(64)}, true},
		"put from afar":   {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: j.address(far), Length: 8}, true},
		"get":             {queue.Op{Code: queue.CodeGet, PE: 1, Dest: at(0), Local: mine, Length: 8}, true},
		"fetch":           {queue.Op{Code: queue.CodeAMOWide, PE: 1, Dest: at(0), Kind: uint8(fabric.OpFetchAdd), Width: 3, Want: 1}, true},
		"quiet":           {queue.Op{Code: queue.CodeQuiet}, true},
		"unknown":         {queue.Op{Code: 31}, true},
		"PE":              {queue.Op{Code: queue.CodeP, PE: 2, Dest: at(0)}, true},
		"outside":         {queue.Op{Code: queue.CodePBytes, PE: 1, Dest: at(heap - 15), Size: 16}, true},
		"put outside":     {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(heap - 7), Local: mine, Length: 8}, true},
		"put from end":    {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: mine + heap - 7, Length: 8}, true},
		"source wraps":    {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: ^uint64(0) - 3, Length: 8}, true},
		"amo unaligned":   {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(4), Kind: uint8(fabric.OpAdd), Width: 3}, true},
		"amo narrow":      {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(4), Kind: uint8(fabric.OpAdd), Width: 1}, true},
		"amo 0":           {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Width: 3}, true},
		"amo fetches":     {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: uint8(fabric.OpFetch), Width: 3}, true},
		"signal fetches":  {queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Local: mine, Length: 8, Kind: uint8(fabric.OpXor), SignalAt: at(64)}, true},
		"signal at 4":     {queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Local: mine, Length: 8, Kind: uint8(fabric.OpSet), SignalAt: at(4)}, true},
		"signal outside":  {queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Local: mine, Length: 8, Kind: uint8(fabric.OpSet), SignalAt: at(heap)}, true},
		"reply":           {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: mine, Length: 8, Want: 1, Reply: queue.Replies}, true},
		"reply of signal": {queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Local: mine, Length: 8, Kind: uint8(fabric.OpSet), SignalAt: at(64), Want: 1, Reply: queue.Replies}, true},
	} {
		rig := j.rigs[0][0]
		answers := rig.Reply(0).Turn
		var p uint64
		if row.op.HasKnownCode() {
			p, _ = rig.Push(&row.op)
		} else {
			p = rig.Reserve(1)
			rig.Set(p, 0, uint64(row.op.Code)|rig.Lap(p))
			rig.Set(p, 1, rig.Lap(p))
		}
		rig.Push(&queue.Op{Code: queue.CodeNop})
		head, epoch := rig.Near.Head, j.pes[0].Epoch
		before := j.inLoop
		j.inC(0)
		if row.left {
			if j.inLoop != before || rig.Line.Tail != p || j.rings[0][0].Position() != p {
				t.Errorf("%s: C took %d operations, the tail is at %d, the next at %d, want %d", name, j.inLoop-before, rig.Line.Tail, j.rings[0][0].Position(), p)
			}
		} else if j.inLoop != before+2 || rig.Line.Tail != head {
			t.Errorf("%s: C took %d operations of 2", name, j.inLoop-before)
		}
		if row.op.Code == queue.CodeFence && (rig.Line.Fenced != p+1 || j.pes[0].Epoch != epoch+1) {
			t.Errorf("fence at %d: fenced %d, epoch %d after %d", p, rig.Line.Fenced, j.pes[0].Epoch, epoch)
		}
		if name == "put, answered" && (rig.Reply(0).Turn != answers+1 || rig.Reply(0).Status != 0) {
			t.Errorf("%s: %+v after %d answers", name, *rig.Reply(0), answers)
		}
		j.quiet(0, 0)
	}
	j.reports[0] = nil
	j.clean()
}

// TestSimpleFar checks that C reads memory outside the segment once Go has found it, and leaves it
// to Go again after Go has read the memory map anew.
func TestSimpleFar(t *testing.T) {
	j := newRingJob(t, native(modes[0]), 1, 2, 1, 1<<16)
	defer j.clean()
	far := guarded(t, 1<<16)
	stamp(far, 3)
	put := queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: j.address(far), Length: 8}
	for i, inC := range []int{0, 1, 1, 0, 1} {
		if i == 3 {
			if err := j.locals[0].Check(64, 8, false); err == nil { // this reads the list
				t.Error("8 bytes at 64 can be read")
			}
		}
		before := j.inLoop
		j.rigs[0][0].Push(&put)
		if j.inC(0); j.inLoop-before != inC {
			t.Errorf("put %d: C took %d, want %d", i, j.inLoop-before, inC)
		}
		j.quiet(0, 0)
		put.Local, put.Dest = put.Local+16, put.Dest+16
	}
	put.Local = j.address(far) + uint64(len(far)) - 7
	j.rigs[0][0].Push(&put)
	j.quiet(0, 0)
	if len(j.reports[0]) != 1 || !strings.Contains(j.reports[0][0].Error(), "cannot be read") {
		t.Errorf("reports: %v", j.reports[0])
	}
	for i := range 5 {
		if !bytes.Equal(j.pes[1].heap[i*16:i*16+8], far[i*16:i*16+8]) {
			t.Errorf("put %d did not arrive", i)
		}
	}
	j.reports[0] = nil
}

// TestSimpleMerges checks that C makes one message of neighbouring puts, and leaves the first of
// them to Go when they grow too large for one.
func TestSimpleMerges(t *testing.T) {
	j := newRingJob(t, native(modes[1]), 1, 2, 1, 1<<16)
	defer j.clean()
	p, rig := j.pes[0], j.rigs[0][0]
	stamp(p.heap[:4096], 5)
	push := func(n int, length uint64) {
		for i := range uint64(n) {
			rig.Push(&queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0) + i*length, Local: address(p.heap) + i*length, Length: length})
		}
	}
	push(11, 16) // 176 bytes and a header are injected
	before := p.Report.Messages()
	if j.inC(0); j.inLoop != 11 || p.Report.Messages() != before+1 {
		t.Errorf("C took %d operations of 11 and sent %d messages", j.inLoop, p.Report.Messages()-before)
	}
	push(13, 16)
	if j.inC(0); j.inLoop != 11 || rig.Line.Tail != 22 {
		t.Errorf("C took %d operations of 11, the tail is at %d", j.inLoop, rig.Line.Tail)
	}
	j.quiet(0, 0)
	if p.Report.Messages() != before+3 { // and the flush
		t.Errorf("%d messages, want 3", p.Report.Messages()-before)
	}
	if !bytes.Equal(j.pes[1].heap[:208], p.heap[:208]) {
		t.Error("not all of it arrived")
	}
}

// TestWindowInC makes C ask for an answer at half the window, and leave operations to Go at the
// whole.
func TestWindowInC(t *testing.T) {
	m := native(modes[0])
	stuck := true
	m.stuck = func(o *work) bool { return stuck }
	j := newRingJob(t, m, 1, 2, 1, 1<<16)
	defer j.clean()
	p, rig := j.pes[0], j.rigs[0][0]
	peer := &p.ops.Peers[1]
	for i := range messageWindow + 10 {
		rig.Push(&queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: uint8(fabric.OpAdd), Width: 3, Value: 1})
		if j.inC(0); peer.Flushing != (i >= messageWindow/2) {
			t.Fatalf("message %d: flushing %v", i, peer.Flushing)
		}
		if i >= messageWindow {
			break
		}
	}
	if j.inLoop != messageWindow || peer.Charged != messageWindow || p.NDirty != 1 {
		t.Errorf("C took %d, the PE was asked %d times, %d PEs are dirty", j.inLoop, peer.Charged, p.NDirty)
	}
	j.consumers[0].Drain()
	if !j.consumers[0].Holds() || j.consumers[0].ServableInC() {
		t.Error("what finds no room was to wait in Go")
	}
	stuck = false
	// The target answers in C, the answer comes in C.
	j.until("the answer", func() bool { return !peer.Flushing })
	j.quiet(0, 0)
	if got := binary.NativeEndian.Uint64(j.pes[1].heap); got != messageWindow+1 {
		t.Errorf("%d messages arrived", got)
	}
}

// TestAsInGo gives the same operations, good and bad, to a consumer in Go alone and to one that is
// partly in C, on all kinds of networks. Their effects in memory and their reports are the same.
func TestAsInGo(t *testing.T) {
	const heap, small = 1 << 16, 256
	where := regexp.MustCompile(`position \d+`)
	run := func(m mode, seed uint64) ([][]byte, []string, int) {
		j := newRingJob(t, m, seed, 3, 1, heap)
		rng := rand.New(rand.NewPCG(seed, 7)) // not the job's: its steps draw numbers, too
		when := rand.New(rand.NewPCG(seed, 8))
		mine := j.pes[0].heap[heap/2:]
		stamp(mine, byte(seed))
		var last queue.Op
		for range 400 {
			op := queue.Op{PE: 1 + rng.Uint32N(2), Dest: at(rng.IntN(small/8) * 8), Value: rng.Uint64(), Value2: rng.Uint64()}
			local := j.address(mine) + rng.Uint64N(1024)
			switch rng.IntN(13) {
			case 0, 1:
				op.Code, op.Width, op.Dest = queue.CodeP, uint8(rng.IntN(3)), op.Dest+rng.Uint64N(4)
			case 2:
				op.Code, op.Dest = queue.CodePWide, op.Dest+rng.Uint64N(8)
			case 3:
				op.Code, op.Size, op.Dest = queue.CodePBytes, uint8(rng.IntN(18)), op.Dest+rng.Uint64N(3)
			case 4:
				op.Code, op.Kind, op.Width = queue.CodeAMO, uint8(rng.IntN(7)), uint8(1+rng.IntN(3))
			case 5:
				op.Code, op.Kind, op.Width = queue.CodeAMOWide, uint8(rng.IntN(6)), uint8(1+rng.IntN(3))
			case 6:
				op.Code, op.Local, op.Length = queue.CodePut, local, rng.Uint64N(100)
			case 7: // continues the last one
				op.Code, op.PE, op.Local, op.Dest, op.Length = queue.CodePut, last.PE, last.Local+last.Length, last.Dest+last.Length, rng.Uint64N(40)
				if last.Code != queue.CodePut || op.Dest > at(small) {
					op.Code = queue.CodeNop
				}
			case 8:
				op.Code, op.Local, op.Length = queue.CodePutSignal, local, rng.Uint64N(60)
				op.Kind, op.Signal, op.SignalAt = uint8(1+rng.IntN(3)), rng.Uint64(), at(small+rng.IntN(17)*4)
			case 12:
				op.Code, op.Size, op.Dest = queue.CodePSignal, uint8(rng.IntN(18)), op.Dest+rng.Uint64N(3)
				op.Kind, op.Signal, op.SignalAt = uint8(1+rng.IntN(3)), rng.Uint64(), at(small+rng.IntN(17)*4)
			case 9:
				op.Code, op.Dest = queue.CodeP, at(heap-2)+rng.Uint64N(4)
			case 10:
				op.Code = queue.CodeFence
			case 11: // larger than a message, at a place of its own
				op.Code, op.Local, op.Dest, op.Length = queue.CodePut, local, at(1024+rng.IntN(8)*8192), 8000
			}
			if rng.IntN(40) == 0 {
				op.PE = 3
			}
			j.push(0, 0, op)
			if m.native && when.IntN(8) == 0 && j.consumers[0].ServableInC() {
				j.inC(0)
			}
			if last = op; op.Length > 4000 {
				j.quiet(0, 0) // they have no order among each other
			}
		}
		j.quiet(0, 0)
		var heaps [][]byte
		for _, p := range j.pes[1:] {
			heaps = append(heaps, bytes.Clone(p.heap))
		}
		var reports []string
		for _, err := range j.reports[0] {
			reports = append(reports, where.ReplaceAllString(err.Error(), "position"))
		}
		slices.Sort(reports) // a waiting operation may be refused late
		j.reports[0] = nil
		j.clean()
		return heaps, reports, j.inLoop
	}
	inC := 0
	for _, m := range append(slices.Clone(modes), rough(modes[0]), rough(modes[1]), rough(modes[2]), rough(modes[4])) {
		seeds(4, func(seed uint64) {
			heaps, reports, _ := run(m, seed)
			heapsC, reportsC, n := run(native(m), seed)
			inC += n
			if !slices.EqualFunc(heaps, heapsC, bytes.Equal) {
				t.Errorf("mode %s seed %d: the memories differ", m.name, seed)
			}
			if !slices.Equal(reports, reportsC) {
				t.Errorf("mode %s seed %d: reports\n%s\nand in C\n%s", m.name, seed, strings.Join(reports, "\n"), strings.Join(reportsC, "\n"))
			}
		})
	}
	if inC < 1000 {
		t.Errorf("C took %d operations only", inC)
	}
}

// TestTwoConsumers has two engines of a PE, each with its own rings and thread, and threads that
// fence and quiet across both: a reader that sees a flag sees the bytes that were put through the
// other engine before the fence.
func TestTwoConsumers(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		memories := [][]byte{guarded(t, internal+1<<16), guarded(t, internal+1<<16)}
		var jobs []*job
		var consumers []*loop.Consumer
		var rigs []*queuetest.Rig
		var wakes []func()
		for i := range 2 {
			j := newJobOn(t, m, uint64(i+1), memories)
			rig := queuetest.New(testSlots, 0)
			ring, err := queue.New(rig.Memory(), testSlots)
			if err != nil {
				t.Fatal(err)
			}
			jobs, rigs = append(jobs, j), append(rigs, rig)
			consumers = append(consumers, loop.NewConsumer(j.pes[0].Engine, []*queue.Ring{ring}, loop.NewLocals(), func(err error) { t.Error(err) }))
			wakes = append(wakes, j.pes[0].Rouse)
		}
		loop.Join(consumers, wakes)
		for i, j := range jobs {
			for _, p := range j.pes {
				go p.Loop()
			}
			j.pes[0].Attach(consumers[i], false)
		}
		push := func(i int, op queue.Op) uint64 { return pushAwake(jobs[i].pes[0].Engine, rigs[i], &op) }
		taken := func(i int) {
			head := rigs[i].Reserve(0)
			need.Eventually(t, "rings taken", func() bool { return int64(head-atomic.LoadUint64(&rigs[i].Line.Tail)) <= 0 })
		}
		word := func(offset int) *uint64 { return (*uint64)(unsafe.Pointer(&memories[1][internal+offset])) }
		var wg sync.WaitGroup
		var done atomic.Bool
		wg.Go(func() {
			for !done.Load() {
				flag := atomic.LoadUint64(word(8))
				if value := atomic.LoadUint64(word(0)); value < flag {
					t.Errorf("flag %d and value %d", flag, value)
					return
				}
				runtime.Gosched()
			}
		})
		for n := uint64(1); n <= 40; n++ {
			value, flag := int(n%2), int(1-n%2)
			push(value, queue.Op{Code: queue.CodePWide, PE: 1, Dest: at(0), Value: n})
			taken(value)
			p := push(flag, queue.Op{Code: queue.CodeFence})
			need.Eventually(t, "fence", func() bool { return passed(&rigs[flag].Line.Fenced, p) })
			push(flag, queue.Op{Code: queue.CodePWide, PE: 1, Dest: at(8), Value: n})
			if n%10 == 0 {
				taken(flag)
				p := push(value, queue.Op{Code: queue.CodeQuiet})
				need.Eventually(t, "quiet", func() bool { return passed(&rigs[value].Line.Done, p) })
				if got := atomic.LoadUint64(word(8)); got != n {
					t.Errorf("after quiet %d the flag is %d", n, got)
				}
			}
		}
		done.Store(true)
		wg.Wait()
		for _, c := range consumers {
			c.Finish()
		}
		for _, j := range jobs {
			for _, p := range j.pes {
				p.Stop()
			}
			j.close()
		}
	})
}
