package proxy

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	flow "libshmem/runtime/sequence"
)

// Each message names the writes that it follows: those before the last fence, those up to the bytes
// of a signal, and no others.
func TestNeeds(t *testing.T) {
	m := modes[5]
	m.caps.WriteAfterWrite = true // so that no write waits
	m.stuck = func(*work) bool { return true }
	j := newJob(t, m, 1, 2, 1<<20)
	a := j.pes[0]
	buf := make([]byte, 10000)
	at := unsafe.Pointer(&buf[0])
	for _, step := range []struct {
		what string
		need uint32
	}{
		{"write", 0},
		{"element", 0},
		{"fence", 0},
		{"write", 0},
		{"signal", 3}, // posts a write, the third
		{"element", 3},
		{"write", 0},
		{"element", 3},
		{"fence", 0},
		{"element", 4},
	} {
		before := len(j.net.flying)
		switch step.what {
		case "fence":
			a.fence()
			// No message before it waits to be applied, so a write may follow at once.
			p := &a.ops.Peers[1]
			p.Acked = p.Charged
			continue
		case "write":
			if st := a.Put(1, 0, at, 10000, nil); st != Pending || a.ops.Peers[1].Queued > 0 {
				t.Fatalf("write: %d, %d queued", st, a.ops.Peers[1].Queued)
			}
			continue
		case "signal":
			if st := a.PutSignal(1, 0, at, 10000, 16384, 1, fabric.OpSet, nil); st != Pending || a.ops.Peers[1].Queued > 0 {
				t.Fatalf("signal: %d, %d queued", st, a.ops.Peers[1].Queued)
			}
		default:
			a.Store(1, 0, 8, 1)
		}
		o := j.net.flying[len(j.net.flying)-1]
		if h := (*layout.Header)(unsafe.Pointer(&o.data[0])); o.kind != fabric.KindSend || len(j.net.flying) == before || h.Need != step.need {
			t.Errorf("%s: follows %d writes, want %d", step.what, h.Need, step.need)
		}
	}
}

// numberedJob lets PE 0 put to PE 1 until its writes have numbers, which are counted up to edge;
// put puts once more. report gets the messages that PE 1 drops.
func numberedJob(t *testing.T, source bool, report func(error)) (j *job, put func(), edge uint32) {
	m := modes[5]
	m.caps.Source = source
	j = newJob(t, m, 1, 2, 1<<20)
	a, b := j.pes[0], j.pes[1]
	b.Report.ReportTo(report)
	buf := make([]byte, 10000)
	put = func() { a.post(func() Status { return a.Put(1, 0, unsafe.Pointer(&buf[0]), 10000, nil) }) }
	put()
	j.await("stream", func() bool { return a.ops.Peers[1].Stream == sequenceGranted })
	put()
	a.quiet()
	edge = 1 // the first went before the answer with the sequence stream
	if source {
		edge = 2
	}
	j.await("arrival", func() bool { return b.ops.Peers[0].Edge == edge })
	return j, put, edge
}

// Immediate data that makes no sense is dropped, and valid data beside it is not.
func TestStrangeData(t *testing.T) {
	for _, source := range []bool{true, false} {
		said := 0
		j, put, number := numberedJob(t, source, func(error) { said++ })
		a, b := j.pes[0], j.pes[1]
		for i, c := range []struct {
			data uint32
			from libshmem.PE
		}{
			{number - 1, 0},           // it has come before
			{number + 5000, 0},        // beyond the window
			{number | 7<<16, 0},       // a stream that no PE has
			{number | 0xffff<<16, 77}, // not a PE
			{number | 0xffff<<16, libshmem.NoPE},
		} {
			data := fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindData, Data: c.data}
			data.SetFrom(c.from)
			if b.Complete([]fabric.Completion{data}); b.Report.Refused() != uint64(i+1) || b.ops.Peers[0].Edge != number {
				t.Errorf("source %v, %+v: %d refused, the edge is %d, was %d", source, c, b.Report.Refused(), b.ops.Peers[0].Edge, number)
			}
		}
		if said != 3 { // of 1, 2 and 4
			t.Errorf("source %v: told %d times", source, said)
		}
		put()
		a.quiet()
		j.await("arrival of the next", func() bool { return b.ops.Peers[0].Edge == number+1 })
		j.close()
	}
}

// Forged immediate data. Outside of the window it is dropped. Inside the window, the source
// distinguishes it from a PE's. Without the source a forged number takes the place of the PE's own,
// which is dropped when it comes: the job goes on, but messages that follow that write no longer
// wait for it.
func TestForgedNumbers(t *testing.T) {
	for _, source := range []bool{true, false} {
		j, put, next := numberedJob(t, source, nil) // refusals are counted below
		a, b := j.pes[0], j.pes[1]
		forge := func(number uint32) {
			data := fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindData, Data: number}
			data.SetFrom(libshmem.NoPE)
			b.Complete([]fabric.Completion{data})
		}
		refused := uint64(0)
		for _, number := range []uint32{next - 1, next + b.rma.Numbers.Space.Window, next + 2*b.rma.Numbers.Space.Window, 1<<b.rma.Numbers.Space.Bits - 1} {
			forge(number)
			if refused++; b.Report.Refused() != refused || b.ops.Peers[0].Edge != next {
				t.Errorf("source %v, number %d outside of the window: %d refused, the edge is %d, was %d", source, number, b.Report.Refused(), b.ops.Peers[0].Edge, next)
			}
		}
		forge(next)
		taken := next
		if !source {
			taken++
		} else {
			refused++
		}
		if b.Report.Refused() != refused || b.ops.Peers[0].Edge != taken {
			t.Errorf("source %v, number %d inside of the window: %d refused, want %d; the edge is %d, want %d", source, next, b.Report.Refused(), refused, b.ops.Peers[0].Edge, taken)
		}
		for range 3 {
			put()
		}
		a.quiet()
		j.await("arrival of the PE's own", func() bool { return b.ops.Peers[0].Edge == next+3 })
		if !source {
			refused++
		}
		if b.Report.Refused() != refused || len(a.fatals)+len(b.fatals) > 0 {
			t.Errorf("source %v: %d refused, want %d; %v, %v", source, b.Report.Refused(), refused, a.fatals, b.fatals)
		}
		j.close()
	}
}

// TestDroppedEntries: entries of the completion queue that the provider drops are counted, and
// reported at the first and each time that their number has doubled, the last time at the end.
func TestDroppedEntries(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 1<<20)
	b := j.pes[1]
	var said []string
	b.Report.ReportTo(func(err error) { said = append(said, err.Error()) })
	for _, n := range []uint64{0, 1, 1, 2, 3, 5, 9} {
		b.ops.Net.Provider.(*end).strangers = n
		if got := b.Report.Show().Strangers; got != n || b.Report.Refused() != n {
			t.Errorf("%d entries were dropped: the page has %d, Refused says %d", n, got, b.Report.Refused())
		}
	}
	b.ops.Net.Provider.(*end).strangers = 11
	const text = "poll: refused what came from outside of the job, %d so far (keep strangers off the network of %s)"
	var want []string
	for _, n := range []int{1, 2, 5, 11} {
		want = append(want, fmt.Sprintf(text, n, b.ops.Net.Caps.Domain))
	}
	j.close()
	if !slices.Equal(said, want) {
		t.Errorf("reported %q, want %q", said, want)
	}
}

// Flows for which there is no sequence stream go on without numbers, in order.
func TestSequencesRunOut(t *testing.T) {
	m := modes[5]
	m.caps.Source = false
	j := newJob(t, m, 1, 6, 1<<20)
	b := j.pes[0]

	b.in.Sequences = flow.NewStreams[uint32](2)
	buf := make([]byte, 10000)
	at := unsafe.Pointer(&buf[0])
	for range 4 {
		for i, a := range j.pes[1:] {
			a.post(func() Status { return a.Put(0, libshmem.Offset(16384*(i+1)), at, 10000, nil) })
			a.fence()
			a.post(func() Status { return a.PutSignal(0, libshmem.Offset(16384*(i+1)), at, 10000, 0, 1, fabric.OpAdd, nil) })
		}
		for _, a := range j.pes[1:] {
			a.quiet()
		}
	}
	given := ""
	for _, a := range j.pes[1:] {
		given += fmt.Sprint(min(a.ops.Peers[0].Stream, sequenceGranted), " ")
	}
	if want := fmt.Sprint(sequenceGranted, " ", sequenceGranted, " ", sequenceRefused, " ", sequenceRefused, " ", sequenceRefused, " "); given != want || b.heap[0] != 20 {
		t.Errorf("streams %s and %d signals, want %s and 20", given, b.heap[0], want)
	}
	j.close()
}

// TestFirstSignals: signals behind the first writes to a PE, which have no numbers yet, come in
// order, whichever write is complete first. Collective calls set counts so.
func TestFirstSignals(t *testing.T) {
	tried := 0
	for _, m := range modes {
		m := rough(m)
		m.caps.Source = false // a PE asks for a sequence stream
		t.Run(m.name, func(t *testing.T) {
			for seed := range uint64(200) {
				j := newJob(t, m, seed, 2, 1<<16)
				a, b := j.pes[0], j.pes[1]
				if !a.AllNumbered() {
					return
				}
				tried++
				for value := range uint64(3) {
					a.putSignal(1, libshmem.Offset(8192*(value+1)), make([]byte, 8000), 0, value+1, fabric.OpSet, false)
				}
				a.quiet()
				if got := b.heap[0]; got != 3 {
					t.Fatalf("seed %d: the signal is %d, and 3 was set last", seed, got)
				}
				j.close()
			}
		})
	}
	if tried < 200 {
		t.Errorf("%d jobs number all writes", tried)
	}
}
