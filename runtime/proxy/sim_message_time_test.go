package proxy

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
)

// The ways of bytes from PE 0 to memory of PE 1, and when the test is over.
const (
	byNotify = iota // PE 0 knows the place: a put with a notification
	whole           // a record with the bytes
	read            // a request, and PE 1 reads
	asksBack        // a request, the answer of PE 1, and a put with a signal
	waysOfMessages
)

// The memory of the PEs in this test.
const (
	timeRecord = 0
	timeAnswer = 4096
	timeWord   = 4160
	timeBytes  = 8192
)

// messageTime returns the virtual time from the first post at PE 0 until PE 1 has n bytes, the
// least of some.
func messageTime(t *testing.T, m sim.Model, way, n int) sim.Time {
	t.Helper()
	mem := new(memories)
	w := newWorld(t, m, 1, 2, timeBytes+n, mem)
	defer w.close(mem)
	a, b := w.pes[0], w.pes[1]
	word := func(p *proc, at int) uint64 { return binary.NativeEndian.Uint64(p.heap[at:]) }
	// The PE that waits polls, the other one now and then: a poll of it may take until its next
	// completion, which the PE that waits does not need.
	until := func(p *proc, ok func() bool) {
		for !ok() && !w.ended {
			if w.poll(p); w.rng.IntN(6) == 0 {
				w.poll(w.pes[1-p.me])
			}
		}
	}
	post := func(p *proc, f func() Status) {
		until(p, func() bool { return f() != Again })
	}
	signal := func(p *proc, to libshmem.PE, dest, bytes, at_ int, value uint64) {
		post(p, func() Status {
			return p.PutSignal(to, libshmem.Offset(dest), simAt(p.heap[timeBytes:]), uint64(bytes), libshmem.Offset(at_), value, fabric.OpSet, nil)
		})
	}
	var took sim.Time
	const times = 40
	for k := uint64(1); k <= times; k++ {
		start := w.net.Now()
		switch way {
		case byNotify:
			post(a, func() Status {
				return a.PutSignal(1, timeBytes, simAt(a.heap[timeBytes:]), uint64(n), simCounterOffset, 1, fabric.OpAdd, nil)
			})
			until(b, func() bool { return binary.NativeEndian.Uint64(b.memory[simInternal+simCounterOffset:]) == k })
		case whole:
			signal(a, 1, timeRecord+8, 8+n, timeRecord, k)
			until(b, func() bool { return word(b, timeRecord) == k })
		case read:
			signal(a, 1, timeRecord+8, 24, timeRecord, k)
			until(b, func() bool { return word(b, timeRecord) == k })
			r := new(Request)
			post(b, func() Status { return b.Get(0, timeBytes, simAt(b.heap[timeBytes:]), uint64(n), r) })
			until(b, func() bool { return r.Done != 0 })
		case asksBack:
			signal(a, 1, timeRecord+8, 24, timeRecord, k)
			until(b, func() bool { return word(b, timeRecord) == k })
			signal(b, 0, timeAnswer+8, 32, timeAnswer, k)
			until(a, func() bool { return word(a, timeAnswer) == k })
			signal(a, 1, timeBytes, n, timeWord, k)
			until(b, func() bool { return word(b, timeWord) == k })
		}
		// The least: in some turns the other PE is polled at a bad time.
		if this := w.net.Now() - start; k == 1 || this < took {
			took = this
		}
		w.quiet(a)
		w.quiet(b)
	}
	return took
}

// TestSimMessageTimes: a short message takes no longer than a put with a notification, and a long
// one a round trip more. docs/decisions/0049 has the table.
func TestSimMessageTimes(t *testing.T) {
	sizes := []int{64, 4016, 8192, 65536, 1 << 20}
	t.Logf("| model | bytes | notification | whole | read | asked |")
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.Verbs(), sim.TCP()} {
		m.Post, m.Faults = post, faults.Faults{}
		latency := float64(m.Latency) / 1e3
		for _, n := range sizes {
			var us [waysOfMessages]float64
			cells := make([]string, waysOfMessages)
			for way := range waysOfMessages {
				if cells[way] = ""; way == whole && n > 4016 {
					continue
				}
				us[way] = float64(messageTime(t, m, way, n)) / 1e3
				cells[way] = fmt.Sprintf("%.1f", us[way])
			}
			t.Logf("| %s | %d | %s |", m.Name, n, strings.Join(cells, " | "))
			if n <= 4016 && us[whole] > us[byNotify]+latency/10 {
				t.Errorf("%s: a message of %d bytes takes %.1f us, a put with a notification %.1f", m.Name, n, us[whole], us[byNotify])
			}
			// 8 KiB with a signal take a latency more in the model of efa.
			trip := us[byNotify] + 2*latency + 4*float64(post)/1e3
			if us[read] > trip || us[asksBack] > trip+latency {
				t.Errorf("%s: a message of %d bytes takes %.1f us read and %.1f asked for, a put with a notification %.1f and the latency is %.1f",
					m.Name, n, us[read], us[asksBack], us[byNotify], latency)
			}
		}
	}
}
