package pair

import (
	"slices"
	"testing"
	"time"

	"libshmem/fabric/ofi/handshake"
)

// TestLateRequests has a PE that is busy for minutes. The other one asks again, at longer and longer
// intervals. The requests come in any order, and the last one counts: earlier ones are belated, and
// copies of them a stranger's.
func TestLateRequests(t *testing.T) {
	each(t, 2, func(w *world) {
		a, b := w.ends[0], w.ends[1]
		a.m.Want(1)
		var asked []time.Duration
		for w.now = 0; w.now < 200*time.Second; w.now += time.Second {
			if a.m.Tick(w.now); len(w.links) > len(asked) {
				asked = append(asked, w.now)
			}
		}
		if want := []time.Duration{0, 10 * time.Second, 30 * time.Second, 70 * time.Second, 150 * time.Second}; !slices.Equal(asked, want) {
			w.fatal("it asks at %v, want %v", asked, want)
		}
		for h := range w.links {
			w.deliver(len(w.links)-1-h, 1)
		}
		if b.m.Belated != 4 || b.m.Strangers != 0 {
			w.fatal("%d requests are belated and %d of strangers", b.m.Belated, b.m.Strangers)
		}
		for _, data := range slices.Clone(w.junk) {
			w.links = append(w.links, &link{to: b, request: data, queue: [2][]event{1: {{kind: "request", data: data}}}})
		}
		w.settle()
		w.joined(a, b)
		if b.m.Belated != 4 || b.m.Strangers != 5 {
			w.fatal("with copies %d requests are belated and %d of strangers", b.m.Belated, b.m.Strangers)
		}
	})
}

// TestEarlyWords has a reminder and a farewell come before the reply that proves them. Neither is a
// stranger's, and the PE has left.
func TestEarlyWords(t *testing.T) {
	each(t, 2, func(w *world) {
		a, b := w.ends[0], w.ends[1]
		a.m.Want(1)
		w.deliver(0, 1)
		b.m.Want(0)
		b.m.Tick(2 * yield)
		leaves := w.rng.IntN(2) == 0
		if leaves {
			w.close(b)
		}
		l := w.links[0]
		if l.queue[0][0].kind != "answer" || l.queue[0][1].word != handshake.Missing {
			w.fatal("no reminder follows the answer: %+v", l.queue[0])
		}
		answer := l.queue[0][0]
		at := 1
		for at < len(l.queue[0]) && l.queue[0][at].kind == "word" {
			at++
		}
		l.queue[0] = slices.Insert(slices.Clone(l.queue[0][1:]), at-1, answer)
		for range at {
			w.deliver(0, 0)
		}
		if a.m.Strangers > 0 || a.m.Belated > 0 || a.m.pairs[1].left != leaves {
			w.fatal("%d words of strangers, %d belated, and it has left: %v", a.m.Strangers, a.m.Belated, a.m.pairs[1].left)
		}
	})
}

// TestWordsOfDropped has words come by a connection that was dropped for want of a reply.
func TestWordsOfDropped(t *testing.T) {
	w := newWorld(t, 3, 1)
	a := w.ends[0]
	a.m.Want(1)
	a.m.Want(2)
	a.m.HandleWord(1, handshake.Missing, 7)
	if a.m.Tick(replyTimeout); a.m.Belated != 1 {
		t.Errorf("%d words are belated, want 1", a.m.Belated)
	}
	a.m.Remove(2)
	a.m.HandleWord(2, handshake.Missing, 7) // a PE that was given up
	if a.m.Belated != 1 || a.m.Strangers != 1 {
		t.Errorf("%d words are belated and %d of strangers, want 1 and 1", a.m.Belated, a.m.Strangers)
	}
}

// TestOldestMissing has the oldest request that a pair still remembers come: it is belated, once.
func TestOldestMissing(t *testing.T) {
	var m Machine
	p := &pair{seen: 100, missed: 1 << 63}
	for _, number := range []uint64{100 - 64, 100 - 64, 100 - 65, 100} {
		m.countOld(p, number)
	}
	if m.Belated != 1 || m.Strangers != 3 {
		t.Errorf("%d requests are belated and %d of strangers, want 1 and 3", m.Belated, m.Strangers)
	}
}
