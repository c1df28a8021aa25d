package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/layout"
)

// texts returns the events of a PE with another one, without the times.
func (p *pe) texts(of libshmem.PE) (all []string) {
	for _, r := range p.Report.Events(of) {
		all = append(all, r.String())
	}
	return all
}

func (p *pe) records(of libshmem.PE, want ...string) {
	p.j.t.Helper()
	if got := p.texts(of); !slices.Equal(got, want) {
		p.j.t.Errorf("PE %d has recorded of PE %d:\n\t%s\nwant:\n\t%s", p.me, of, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestRecord follows an exchange in Go: messages, a write, a read and a quiet.
func TestRecord(t *testing.T) {
	j := newJob(t, modes[0], 1, 3, 1<<16)
	defer j.close()
	a := j.pes[0]
	a.records(1)
	a.Store(1, 0, 8, 7)
	a.do(func(r *Request) Status { return a.Put(1, 4096, unsafe.Pointer(&a.heap[0]), 8192, r) })
	a.do(func(r *Request) Status { return a.Get(1, 0, unsafe.Pointer(&a.heap[0]), 16, r) })
	a.quiet()
	j.drain()
	a.records(
		1,
		"sent message 1: element, 56 bytes",
		"posted write of 8192 bytes, token 64", "token 64 is complete",
		"posted read of 16 bytes, token 64", "token 64 is complete",
		"sent message 2: flush, 56 bytes", "the PE has applied 1 units, 0 are unacknowledged", "applied message 1: reply, 56 bytes",
	)
	j.pes[1].records(0, "applied message 1: element, 56 bytes", "sent message 1: reply, 56 bytes", "applied message 2: flush, 56 bytes")
	a.records(2)
	// The PE with the latest events comes first, and PEs with operations under way before that.
	a.Store(2, 0, 8, 7)
	if got := fmt.Sprint(a.Report.Latest(5), a.Report.Latest(1)); got != "[2 1] [2]" {
		t.Errorf("the PEs of the latest events are %s", got)
	}
	j.drain()
	a.Store(1, 0, 8, 7)
	a.ops.Peers[2].Tokens++
	if got := fmt.Sprint(a.Report.Latest(5)); got != "[2 1]" {
		t.Errorf("with operations of PE 2 under way the PEs are %s", got)
	}
	a.ops.Peers[2].Tokens--
}

// TestRecordRings checks that only PEs that were met have rings, side by side.
func TestRecordRings(t *testing.T) {
	e := newNull(t, 100, fabric.Caps{MaxMessage: 1 << 30, MaxInject: 64, WriteAfterWrite: true, SendAfterWrite: true, SendAfterSend: true})
	had := e.Rings
	for _, pe := range []libshmem.PE{70, 30, 70} {
		if st := e.Store(pe, 0, 8, 7); st != Done {
			t.Fatal(st, e.Err())
		}
	}
	if e.ops.Peers[70].Ring != had || e.ops.Peers[30].Ring != had+1 || e.Rings != had+2 {
		t.Errorf("rings are %d of PE 70 and %d of PE 30, %d of them", e.ops.Peers[70].Ring, e.ops.Peers[30].Ring, e.Rings)
	}
}

// TestRecordRefused checks that repeated tries leave earlier events in the ring.
func TestRecordRefused(t *testing.T) {
	m := modes[0]
	stuck := true
	m.stuck = func(*work) bool { return stuck }
	j := newJob(t, m, 1, 2, 1<<20)
	defer j.close()
	defer func() { stuck = false }()
	a := j.pes[0]
	for i := 0; a.Put(1, 0, unsafe.Pointer(&a.heap[0]), 8192, nil) == Pending; i++ {
		if i == layout.Tokens {
			t.Fatal("tokens have no end")
		}
	}
	before := a.ops.Peers[1].Recorded
	for range 100 {
		a.Put(1, 0, unsafe.Pointer(&a.heap[0]), 8192, nil)
	}
	got := a.texts(1)
	if n := len(got); a.ops.Peers[1].Recorded != before || got[n-1] != "refused an operation for lack of credit, 101 times in a row" ||
		!strings.HasPrefix(got[n-2], "posted write of 8192 bytes, token ") {
		t.Errorf("after %d events and 101 refusals:\n\t%s", before, strings.Join(got[n-2:], "\n\t"))
	}
}

// TestRecordWraps checks that the ring keeps the last events, as many as it has room for.
func TestRecordWraps(t *testing.T) {
	for _, m := range both(modes[0]) {
		j := newRingJob(t, m, 1, 2, 1, 1<<16)
		a := j.pes[0]
		a.Store(1, 0, 8, 0)
		for i := range 3 * layout.RingEvents {
			j.rigs[0][0].Push(&queue.Op{Code: queue.CodePWide, PE: 1, Dest: at(0), Value: uint64(i)})
			if m.native {
				j.inC(0)
			} else {
				j.consumers[0].Drain()
			}
		}
		var want []string
		for i := range layout.RingEvents {
			want = append(want, fmt.Sprintf("sent message %d: element, 56 bytes", 2*layout.RingEvents+2+i))
		}
		a.records(1, want...)
		if a.Tick != 0 {
			t.Errorf("%s: the time of a turn outlives it", m.name)
		}
		j.quiet(0, 0)
		j.clean()
	}
}

// TestRecordInC checks that C records as Go does.
func TestRecordInC(t *testing.T) {
	var logs [2]string
	for i, m := range both(modes[0]) {
		j := newRingJob(t, m, 1, 2, 1, 1<<16)
		j.pes[0].Store(1, 0, 8, 0) // Go finds the PE reachable
		j.pes[1].Store(0, 0, 8, 0)
		j.drain()
		turn := func(pe int) {
			if m.native {
				j.inC(pe)
			} else {
				j.consumers[pe].Drain()
				j.pes[pe].poll()
			}
		}
		rig := j.rigs[0][0]
		stamp(j.pes[0].heap[:24], 1)
		rig.Push(&queue.Op{Code: queue.CodeP, PE: 1, Dest: at(0), Width: 3, Value: 3})
		rig.Push(&queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: uint8(fabric.OpAdd), Width: 3, Value: 1})
		rig.Push(&queue.Op{Code: queue.CodePut, PE: 1, Dest: at(64), Local: address(j.pes[0].heap), Length: 24})
		rig.Push(&queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(128), Local: address(j.pes[0].heap), Length: 16, Kind: uint8(fabric.OpSet), SignalAt: at(8)})
		turn(0)
		if inC := j.inLoop == 4; inC != m.native {
			t.Errorf("%s: C took %d operations", m.name, j.inLoop)
		}
		for turns := 0; j.pes[1].ops.Peers[0].Received < j.pes[0].ops.Peers[1].Sent; turns++ {
			turn(0)
			if turn(1); turns > 1000 {
				t.Fatal("the messages do not come")
			}
		}
		j.pes[0].out.Flush(1)
		for turns := 0; j.pes[0].ops.Peers[1].Flushing; turns++ {
			turn(1)
			if turn(0); turns > 1000 {
				t.Fatal("the answer does not come")
			}
		}
		logs[i] = strings.Join(j.pes[0].texts(1), "\n") + "\n\n" + strings.Join(j.pes[1].texts(0), "\n")
		j.clean()
	}
	if logs[0] != logs[1] || !strings.Contains(logs[1], "put with signal, 72 bytes") || !strings.Contains(logs[1], "the PE has applied") {
		t.Errorf("Go has recorded\n%s\n\nand C\n%s", logs[0], logs[1])
	}
}

// TestRecordContexts checks that events of contexts are among those of their PE.
func TestRecordContexts(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 1<<16)
	defer j.close()
	a := j.pes[0]
	if n, err := a.OpenContext(3); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	a.Store(1, 0, 8, 7)
	a.Context(3).Store(1, 0, 8, 7)
	a.Store(1, 0, 8, 7)
	a.records(1, "sent message 1: element, 56 bytes", "sent message 1: element, 56 bytes, context 3", "sent message 2: element, 56 bytes")
	c := a.Context(3)
	for t := c.QuietBegin(); c.QuietDone(t) == Pending; {
		for _, p := range j.pes {
			p.poll()
		}
	}
}

// TestRecordOwn checks that an idle proxy keeps its earlier events, and that its events stand among
// those of a PE by their times.
func TestRecordOwn(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 1<<16)
	defer j.close()
	a := j.pes[0]
	a.ops.Recorder.NoteOwn(layout.EventNap) // before the first event of the PE, so it is left out
	a.Store(1, 0, 8, 7)
	a.ops.Recorder.NoteOwn(layout.EventSleep)
	a.ops.Recorder.NoteOwn(layout.EventWoken)
	a.Store(1, 0, 8, 7)
	for range 100 {
		a.ops.Recorder.NoteOwn(layout.EventSleep)
		a.ops.Recorder.NoteOwn(layout.EventLimit)
	}
	a.ops.Recorder.NoteOwn(layout.EventSleep)
	a.records(
		1, "sent message 1: element, 56 bytes", "the proxy sleeps", "the network wakes the proxy", "sent message 2: element, 56 bytes",
		"the proxy sleeps", "the proxy slept and nothing came, 100 times in a row",
	)
}
