package proxy

import (
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/layout"
)

// TestCounts does a known number of operations and checks every counter, at both ends.
func TestCounts(t *testing.T) {
	j := newJob(t, modes[0], 1, 3, 1<<16)
	a, b := j.pes[0], j.pes[1]
	for i := range 3 {
		a.put(1, libshmem.Offset(8*i), make([]byte, 8), true)
	}
	for range 2 {
		a.put(1, 64, make([]byte, 100), true)
	}
	a.put(1, 4096, make([]byte, 5000), true)
	a.putSignal(1, 512, make([]byte, 30), 1024, 1, fabric.OpAdd, true)
	for range 4 {
		a.post(func() Status { return a.AMO(1, 2048, fabric.OpAdd, 8, 1, 0, nil, nil) })
	}
	a.do(func(r *Request) Status { return a.AMO(1, 2048, fabric.OpFetchAdd, 8, 1, 0, nil, r) })
	into := make([]byte, 48)
	for i := range 2 {
		a.post(func() Status { return a.Get(1, 0, unsafe.Pointer(&into[24*i]), 24, nil) })
	}
	a.quiet()
	j.drain()

	const (
		asked = layout.HeaderSize*(3+2+1+5) + 2*100 + 30 // one more is a flush
		all   = asked + layout.HeaderSize
	)
	want := [layout.Counted]uint64{
		layout.MessageBytes: all, layout.Elements: 3, layout.Puts: 2, layout.PutSignals: 1, layout.Atomics: 5, layout.Control: 1,
		layout.Received: 2, layout.ReceivedBytes: 2 * layout.HeaderSize, // for the fetch, and for the flush
		layout.Writes: 1, layout.WriteBytes: 5000, layout.Reads: 2, layout.ReadBytes: 48,
		layout.MostUnderWay: 3, layout.MostUnacknowledged: 11, // the two puts that are not injected, and the write
	}
	if got := a.Report.CountOf(1); got != want {
		t.Errorf("for PE 1\n%v, want\n%v", got, want)
	}
	if got := a.Report.Count(); got != want {
		t.Errorf("for all\n%v, want\n%v", got, want)
	}
	want = [layout.Counted]uint64{layout.MessageBytes: 2 * layout.HeaderSize, layout.Control: 2, layout.Received: 12, layout.ReceivedBytes: all}
	if got := b.Report.CountOf(0); got != want {
		t.Errorf("at the target\n%v, want\n%v", got, want)
	}
	if none := [layout.Counted]uint64{}; a.Report.CountOf(2) != none || b.Report.CountOf(1) != none {
		t.Errorf("for PEs that were not asked: %v, %v", a.Report.CountOf(2), b.Report.CountOf(1))
	}
	j.close()
}

// TestLargestMessage: up to 4104 bytes a put with signal is one message, and above it a
// write and the signal behind it.
func TestLargestMessage(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 1<<16)
	a := j.pes[0]
	before := a.Report.CountOf(1)
	for _, c := range []struct {
		n                           int
		putSignals, writes, atomics uint64
	}{{4096, 1, 0, 0}, {4104, 1, 0, 0}, {4105, 0, 1, 1}, {4160, 0, 1, 1}} {
		a.putSignal(1, 512, make([]byte, c.n), 8192, 1, fabric.OpAdd, true)
		a.quiet()
		got := a.Report.CountOf(1)
		if s, w, m := got[layout.PutSignals]-before[layout.PutSignals], got[layout.Writes]-before[layout.Writes], got[layout.Atomics]-before[layout.Atomics]; s != c.putSignals || w != c.writes || m != c.atomics {
			t.Errorf("put with signal of %d bytes: %d whole messages, %d writes, %d signals, want %d, %d, %d", c.n, s, w, m, c.putSignals, c.writes, c.atomics)
		}
		before = got
	}
	j.close()
}

// TestCountsInC checks that C counts as Go does.
func TestCountsInC(t *testing.T) {
	var counts [2][2][layout.Counted]uint64
	for i, inC := range []bool{false, true} {
		j := newRingJob(t, native(modes[0]), 1, 2, 1, 1<<16)
		rig := j.rigs[0][0]
		push := func(n int, op queue.Op) {
			for k := range n {
				op.PE, op.Dest = 1, at(64*k)
				rig.Push(&op)
				if inC {
					j.inC(0)
				} else {
					j.consumers[0].Drain()
				}
			}
		}
		push(3, queue.Op{Code: queue.CodePWide, Value: 7})
		push(5, queue.Op{Code: queue.CodeAMO, Kind: uint8(fabric.OpAdd), Width: 3, Value: 1})
		push(2, queue.Op{Code: queue.CodePBytes, Size: 16, Value: 7})
		if inC && j.inLoop != 10 {
			t.Fatalf("C took %d operations of 10", j.inLoop)
		}
		if inC {
			j.inC(1) // it applies them
		}
		j.quiet(0, 0)
		j.drain()
		counts[i] = [2][layout.Counted]uint64{j.pes[0].Report.CountOf(1), j.pes[1].Report.CountOf(0)}
		if c := counts[i][0]; c[layout.Elements] != 3 || c[layout.Atomics] != 5 || c[layout.Puts] != 2 || c[layout.MessageBytes] != 11*layout.HeaderSize+2*16 || c[layout.MostUnacknowledged] != 10 {
			t.Errorf("in C %v: %v", inC, c)
		}
		j.clean()
	}
	if counts[0] != counts[1] {
		t.Errorf("Go counts\n%v, and C\n%v", counts[0], counts[1])
	}
}

// TestCountsOfRoughNetworks compares the counters with the operations that the network has seen.
func TestCountsOfRoughNetworks(t *testing.T) {
	everyMode(t, func(t *testing.T, m mode) {
		j := newJob(t, m, 3, 3, 1<<16)
		for range 200 {
			from := j.pes[j.rng.IntN(3)]
			to := (from.me + 2) % 3
			from.put(to, libshmem.Offset(j.rng.IntN(1000)), make([]byte, 1+j.rng.IntN(6000)), j.rng.IntN(2) == 0)
			if j.rng.IntN(8) == 0 {
				from.fence()
			}
		}
		j.drain()
		early := uint64(0)
		for _, p := range j.pes {
			to := j.pes[(p.me+2)%3]
			if got := p.Report.Count()[layout.Retries]; got != uint64(p.end.refusals) {
				t.Errorf("PE %d counts %d retries, the network refused it %d times", p.me, got, p.end.refusals)
			}
			sent, came := p.Report.CountOf(to.me), to.Report.CountOf(p.me)
			if came[layout.Received] != sent[layout.Atomics]+sent[layout.Elements]+sent[layout.Puts]+sent[layout.PutSignals]+sent[layout.Control]-sent[layout.Merged] || came[layout.ReceivedBytes] != sent[layout.MessageBytes] {
				t.Errorf("PE %d sent %v, PE %d has %v", p.me, sent, to.me, came)
			}
			early += came[layout.Early]
		}
		if rough := m.delay > 0; early > 0 != rough { // on any of them completions change places
			t.Errorf("%d messages came early", early)
		}
		j.close()
	})
}

// TestCountsOfRefusals: each refusal is counted once.
func TestCountsOfRefusals(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 1<<16)
	a := j.pes[0]
	add := func() Status { return a.AMO(1, 2048, fabric.OpAdd, 8, 1, 0, nil, nil) }
	posted, stuck := 0, false
	for add() == Done {
		posted++
	}
	if c := a.Report.CountOf(1); posted == 0 || c[layout.NoCredit] != 1 || c[layout.Atomics] != uint64(posted) || add() != Again || a.Report.CountOf(1)[layout.NoCredit] != 2 {
		t.Errorf("%d posted: %v", posted, c)
	}
	a.quiet()
	j.drain()
	add()
	a.fence()
	before := a.Report.CountOf(1)[layout.Waited]
	big := make([]byte, 8192)
	if st := a.Put(1, 0, unsafe.Pointer(&big[0]), 8192, nil); st != Pending || a.Report.CountOf(1)[layout.Waited] != before+1 {
		t.Errorf("a write in front of a message of before the fence: %d, %d wait", st, a.Report.CountOf(1)[layout.Waited]-before)
	}
	a.quiet()
	j.close()

	// An answer that finds no room is parked, and counted once for each try.
	m := modes[0]
	m.credits = 1
	m.stuck = func(o *work) bool { return o.from == 1 && stuck }
	j = newJob(t, m, 1, 2, 1<<16)
	a, stuck = j.pes[0], true
	b := j.pes[1]
	b.post(func() Status { return b.AMO(0, 2048, fabric.OpAdd, 8, 1, 0, nil, nil) }) // takes the only place
	a.post(func() Status { return a.AMO(1, 2048, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(&big[0]), nil) })
	j.await("the answer that is parked", func() bool { return b.Report.CountOf(0)[layout.Parked] > 0 })
	if c := b.Report.CountOf(0); c[layout.Retries] < c[layout.Parked] || b.ops.Peers[0].Parked != 1 {
		t.Errorf("%d times parked, %d times without room, %d parked now", c[layout.Parked], c[layout.Retries], b.ops.Peers[0].Parked)
	}
	stuck = false
	a.quiet()
	b.quiet()
	j.close()
}
