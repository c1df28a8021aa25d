package pair

import (
	"bytes"
	"flag"
	"testing"

	"libshmem"
	"libshmem/fabric/ofi/handshake"
	"libshmem/tests/need"
)

var seeds = flag.Int("pair.seeds", 0, "number of seeds for each search; 0: the load of this run")

// each runs a search for every seed.
func each(t *testing.T, n int, search func(*world)) {
	t.Helper()
	count := *seeds
	if count == 0 {
		count = need.Load("pair")
	}
	for seed := range uint64(count) {
		search(newWorld(t, n, seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// joined finds that two PEs use one link, which both have.
func (w *world) joined(a, b *end) {
	w.t.Helper()
	l, m := a.using[b.pe], b.using[a.pe]
	if l == nil || l != m {
		w.fatal("PE %d uses %p and PE %d uses %p", a.pe, l, b.pe, m)
	}
	if l.down[0] || l.down[1] {
		w.fatal("PEs %d and %d use a link that is closed", a.pe, b.pe)
	}
}

// open counts the links that are open at some side.
func (w *world) open() (n int) {
	for _, l := range w.links {
		if l.accepted && !(l.down[0] && l.down[1]) {
			n++
		}
	}
	return n
}

// TestCrossing has all PEs ask all others, at any moments. Each two use one connection, no other
// one stays, and no PE is lost.
func TestCrossing(t *testing.T) {
	each(t, 3, func(w *world) {
		wants := [][2]int{{0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1}}
		w.rng.Shuffle(len(wants), func(i, j int) { wants[i], wants[j] = wants[j], wants[i] })
		for _, x := range wants {
			for range w.rng.IntN(5) {
				w.step()
			}
			if w.ends[x[0]].using[libshmem.PE(x[1])] == nil {
				w.ends[x[0]].m.Want(libshmem.PE(x[1]))
			}
		}
		w.settle()
		for i, a := range w.ends {
			for _, b := range w.ends[:i] {
				w.joined(a, b)
			}
			if len(a.losses) > 0 || a.m.Strangers > 0 {
				w.fatal("PE %d has lost %v and refused %d", a.pe, a.losses, a.m.Strangers)
			}
		}
		if n := w.open(); n != 3 {
			w.fatal("%d links are open", n)
		}
	})
}

// TestOneSide has one PE ask: the other uses the connection, too, and asks for none.
func TestOneSide(t *testing.T) {
	each(t, 2, func(w *world) {
		from := w.ends[w.rng.IntN(2)]
		from.m.Want(1 - from.pe)
		w.settle()
		w.joined(w.ends[0], w.ends[1])
		if len(w.links) != 1 {
			w.fatal("%d links", len(w.links))
		}
	})
}

// TestChangedWords has words changed on their way, up to some number of them. Both sides come to
// use their connection all the same, and lose nothing.
func TestChangedWords(t *testing.T) {
	again := 0
	each(t, 2, func(w *world) {
		w.noise = 1 + w.rng.IntN(3)
		from := w.ends[w.rng.IntN(2)]
		to := w.ends[1-from.pe]
		from.m.Want(to.pe)
		for range w.rng.IntN(10) {
			w.step()
		}
		if to.using[from.pe] == nil {
			to.m.Want(from.pe)
		}
		w.settle()
		w.joined(from, to)
		for _, e := range w.ends {
			again += int(e.m.Strangers)
			if len(e.losses) > 0 {
				w.fatal("PE %d has lost %v", e.pe, e.losses)
			}
		}
	})
	if again == 0 {
		t.Error("no word was changed")
	}
}

// TestSelf has a PE ask itself. When the connection breaks, both of its ends are closed.
func TestSelf(t *testing.T) {
	each(t, 1, func(w *world) {
		e := w.ends[0]
		e.m.Want(0)
		w.settle()
		if e.using[0] == nil || len(e.losses) > 0 || e.m.Strangers > 0 {
			w.fatal("uses %p, lost %v, refused %d", e.using[0], e.losses, e.m.Strangers)
		}
		if w.rng.IntN(2) == 0 {
			w.breaks(w.links[0])
			if w.settle(); len(e.using) > 0 || e.losses[0] == "" || w.open() > 0 {
				w.fatal("uses %d, lost %v, %d links are open", len(e.using), e.losses, w.open())
			}
		}
		w.close(e)
		if w.settle(); w.open() > 0 {
			w.fatal("a link stays open")
		}
	})
}

// TestBroken breaks links at any moments, and lets calls of the system fail. A pair that was not in
// use is made again; where one was, both sides lose each other. None waits without an end.
func TestBroken(t *testing.T) {
	remade := 0
	each(t, 2, func(w *world) {
		a, b := w.ends[0], w.ends[1]
		w.errors = w.rng.IntN(2) * (2 + w.rng.IntN(8))
		for breaks := 1 + w.rng.IntN(2); breaks > 0; breaks-- {
			for _, e := range w.ends {
				if w.rng.IntN(3) > 0 && e.using[1-e.pe] == nil {
					e.m.Want(1 - e.pe)
				}
			}
			for range w.rng.IntN(12) {
				w.step()
			}
			if len(w.links) > 0 {
				w.breaks(w.links[w.rng.IntN(len(w.links))])
			}
		}
		w.errors = 0
		for _, e := range w.ends { // what waits is repeated, as the operations are
			if e.using[1-e.pe] == nil {
				e.m.Want(1 - e.pe)
			}
		}
		w.settle()
		for _, e := range w.ends { // a PE whose peer is lost uses it no more, and learns of it
			if e.using[1-e.pe] == nil {
				e.m.Want(1 - e.pe)
			}
		}
		w.settle()
		if len(a.losses)+len(b.losses) == 0 {
			w.joined(a, b)
			remade += len(w.links) - 1
		} else if len(a.losses) != 1 || len(b.losses) != 1 || len(a.using)+len(b.using) > 0 || w.open() > 0 {
			w.fatal("PE 0 has lost %v and uses %d, PE 1 has lost %v and uses %d, %d links are open", a.losses, len(a.using), b.losses, len(b.using), w.open())
		}
	})
	if remade == 0 {
		t.Error("no connection was made again")
	}
}

// TestDeath kills a PE at any moment. A PE that wants to send to it loses it; one that does not has
// no connection with it.
func TestDeath(t *testing.T) {
	each(t, 2, func(w *world) {
		alive, dies := w.ends[w.rng.IntN(2)], (*end)(nil)
		dies = w.ends[1-alive.pe]
		wants := w.rng.IntN(2) == 0
		if wants {
			alive.m.Want(dies.pe)
		}
		if w.rng.IntN(2) == 0 {
			dies.m.Want(alive.pe)
		}
		for range w.rng.IntN(10) {
			w.step()
		}
		w.kill(dies)
		w.settle()
		if _, had := alive.losses[dies.pe]; had && !wants {
			w.fatal("PE %d loses a PE that it did not need", alive.pe)
		}
		if wants { // as an operation that is repeated, or the next one
			alive.m.Want(dies.pe)
			w.settle()
		}
		if wants && alive.losses[dies.pe] == "" {
			w.fatal("PE %d waits for a dead PE", alive.pe)
		}
		if len(alive.using) > 0 {
			w.fatal("PE %d uses a connection with a dead PE", alive.pe)
		}
	})
}

// TestClose closes endpoints in any order while handshakes are under way. The end of a peer that
// has said that it leaves is no loss, until an operation needs it.
func TestClose(t *testing.T) {
	quiet := 0
	each(t, 3, func(w *world) {
		for range 2 + w.rng.IntN(4) {
			from, to := w.rng.IntN(3), w.rng.IntN(3)
			if from != to && w.ends[from].using[libshmem.PE(to)] == nil {
				w.ends[from].m.Want(libshmem.PE(to))
			}
			for range w.rng.IntN(8) {
				w.step()
			}
		}
		if w.rng.IntN(2) == 0 {
			w.settle()
		}
		for _, i := range w.rng.Perm(3) {
			e := w.ends[i]
			var joined []*end
			for pe, l := range e.using {
				if other := w.ends[pe]; other.using[e.pe] == l && !other.closed {
					joined = append(joined, other)
				}
			}
			w.close(e)
			for range w.rng.IntN(10) {
				w.step()
			}
			w.settle()
			for _, other := range joined {
				quiet++
				if why, had := other.losses[e.pe]; had {
					w.fatal("PE %d loses PE %d, which has left: %s", other.pe, e.pe, why)
				}
				if other.m.Want(e.pe); other.losses[e.pe] == "" {
					w.fatal("PE %d waits for PE %d, which has left", other.pe, e.pe)
				}
			}
		}
		if w.open() > 0 {
			w.fatal("a link stays open")
		}
	})
	if quiet == 0 {
		t.Error("no connection was in use")
	}
}

// TestRequestAfterClose refuses requests that the network still delivers while the endpoint closes:
// of a PE that it has talked to, and of another one.
func TestRequestAfterClose(t *testing.T) {
	each(t, 3, func(w *world) {
		e := w.ends[0]
		if w.rng.IntN(2) == 0 {
			e.m.Want(1)
			w.settle()
		}
		e.m.Close()
		for pe := libshmem.PE(1); pe < 3; pe++ {
			if w.ends[pe].using[0] == nil {
				w.ends[pe].m.Want(0)
			}
		}
		w.settle()
		if n := w.open(); n > 0 || len(e.using) > 0 && e.m.Moving() {
			w.fatal("%d links are open", n)
		}
	})
}

// TestStranger sends requests that are repeated, changed, random, or of another job, at any
// moments. Each is refused and counted, and the PEs connect all the same.
func TestStranger(t *testing.T) {
	each(t, 2, func(w *world) {
		other := handshake.Key{9}
		a, b := w.ends[0], w.ends[1]
		a.m.Want(1)
		if w.rng.IntN(2) == 0 {
			b.m.Want(0)
		}
		sent := [2]uint64{}
		for range 20 {
			for range w.rng.IntN(4) {
				w.step()
			}
			to := w.ends[w.rng.IntN(2)]
			data := bytes.Clone(w.junk[w.rng.IntN(len(w.junk))])
			seen := false // a request that the end has not had yet is the PE's own
			for _, l := range w.links {
				seen = seen || l.to == to && bytes.Equal(l.request, data) && (l.accepted || l.over)
			}
			switch w.rng.IntN(5) {
			case 0:
				data = make([]byte, 40)
			case 1:
				data[w.rng.IntN(len(data))] ^= 1 << w.rng.IntN(8)
			case 2:
				data = data[:w.rng.IntN(len(data))]
			case 3:
				r := handshake.Request{From: 1 - to.pe, To: to.pe, Number: 1 << 40}
				data = other.Request(&r, w.ends[1-to.pe].id, to.id)
			default:
				if !seen {
					continue
				}
			}
			w.links = append(w.links, &link{to: to, request: data, queue: [2][]event{1: {{kind: "request", data: data}}}})
			sent[to.pe]++
		}
		w.settle()
		w.joined(a, b)
		for _, e := range w.ends {
			if e.m.Strangers != sent[e.pe] || len(e.losses) > 0 {
				w.fatal("PE %d refused %d of %d, and lost %v", e.pe, e.m.Strangers, sent[e.pe], e.losses)
			}
		}
		if n := w.open(); n != 1 {
			w.fatal("%d links are open", n)
		}
	})
}

// TestImpostor has a stranger listen at the port of a dead PE: whatever it answers, no connection
// with it is used, and the PE is lost.
func TestImpostor(t *testing.T) {
	each(t, 2, func(w *world) {
		a, b := w.ends[0], w.ends[1]
		b.dead = true
		a.m.Want(1)
		for n := 0; n < 1000 && a.losses[1] == ""; n++ {
			for _, l := range w.links {
				if l.down[0] || l.accepted {
					continue
				}
				answers := [][]byte{nil, make([]byte, handshake.Size), l.request, l.request[:40]}
				l.to, l.accepted = nil, true
				kind := []string{"answer", "reject", "shut"}[w.rng.IntN(3)]
				l.queue = [2][]event{{{kind: kind, data: answers[w.rng.IntN(len(answers))]}}, nil}
			}
			w.step()
		}
		if a.losses[1] == "" || len(a.using) > 0 {
			w.fatal("lost %v, uses %d", a.losses, len(a.using))
		}
		for _, word := range []handshake.Word{handshake.Confirmed, handshake.Leaving} {
			a.m.HandleWord(1, word, 7)
			a.m.HandleWord(5, word, 7)
		}
		if a.m.Strangers < 4 {
			w.fatal("%d words of strangers are counted", a.m.Strangers)
		}
	})
}
