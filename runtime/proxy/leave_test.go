package proxy

import (
	"slices"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
)

// TestPlayedLeave has PEs that post to each other and end at some moment without finalize, and with
// it their engines. When a PE ends, all that it has sent has taken effect at the PEs that go on,
// whose quiets end after it, too.
func TestPlayedLeave(t *testing.T) {
	for i := range 16 {
		m := combination(i)
		t.Run(m.name, func(t *testing.T) {
			seeds(4, func(seed uint64) {
				defer described(t, seed)
				playLeave(t, newJob(t, m, seed, 3, 32<<10))
			})
		})
	}
}

// TestPlayedStagedLeave is the same with heaps and buffers in GPU memory.
func TestPlayedStagedLeave(t *testing.T) {
	for name, g := range gpuModels {
		for i := range 16 {
			m := combination(i)
			m.gpus = &g
			t.Run(name+"/"+m.name, func(t *testing.T) {
				seeds(5, func(seed uint64) {
					defer described(t, seed)
					playLeave(t, newJob(t, m, seed, 3, 32<<10))
				})
			})
		}
	}
}

// A PE that leaves has no messages with a PE whose heap it has mapped, and waits for its copies to
// it.
func TestLeaveCopies(t *testing.T) {
	m := modes[0]
	m.gpus = &gpus{mapped: true, atomics: stream.AllAtomics, delay: 8, chunk: gpustage.LeastChunk, chunks: 2}
	j := newJob(t, m, 1, 2, 1<<16)
	a, b := j.pes[0], j.pes[1]
	data := fill(j.rng, 3*layout.MaxPayload)
	at, _ := a.card.local(data)
	a.post(func() Status { return a.Put(1, 0, at, uint64(len(data)), nil) })
	for !a.Leave() {
		a.poll()
	}
	differ(t, "bytes", b.heap[:len(data)], data)
}

// A PE that leaves does not wait until a PE that has left takes its bytes.
func TestLeaveBehind(t *testing.T) {
	m := modes[0]
	m.gpus = &gpus{atomics: stream.AllAtomics, chunk: gpustage.LeastChunk, chunks: 2}
	j := newJob(t, m, 1, 2, 1<<16)
	a := j.pes[0]
	at, _ := a.card.local(make([]byte, 8*layout.MessageSize))
	a.post(func() Status { return a.Put(1, 0, at, 8*layout.MessageSize, nil) })
	for range 100 {
		a.poll() // chunks are full of bytes that nobody reads
	}
	if a.Leave() {
		t.Fatal("a put to a PE that has not left is under way")
	}
	a.ops.Peers[1].Left = true
	if !a.Leave() {
		t.Errorf("it waits for PE 1: %v", a.stage.CheckIdle())
	}
}

// leaver is a PE of TestPlayedLeave.
type leaver struct {
	traffic
	ends  int // the turn after which the others post nothing to it
	quiet Ticket
	asks  bool // for the answers
	gone  bool
}

func playLeave(t *testing.T, j *job) {
	t.Helper()
	var all []*leaver
	for _, p := range j.pes {
		g := traffic{pe: p, source: make([]byte, 3*layout.MaxPayload), posted: make([]uint64, len(j.pes))}
		if p.card != nil && j.rng.IntN(2) == 0 {
			at, _ := p.card.local(g.source)
			g.source = unsafe.Slice((*byte)(at), len(g.source))
		}
		all = append(all, &leaver{traffic: g, ends: 1 + j.rng.IntN(300)})
	}
	turn, left := 0, 0
	for polls := 0; left < len(all); polls++ {
		if turn > 0 || !slices.ContainsFunc(all, func(l *leaver) bool { return !l.hasHeard() }) {
			turn++
		}
		if polls > 200_000 {
			t.Fatalf("%d of %d PEs have ended", left, len(all))
		}
		for _, l := range all {
			if l.gone || j.rng.IntN(len(all)) > 0 {
				continue
			}
			l.poll()
			if l.act(t, all, turn) {
				l.gone = true
				left++
				l.judge(t, all)
			}
		}
	}
}

// act does what comes next in a PE's life, and reports whether it ends.
func (l *leaver) act(t *testing.T, all []*leaver, turn int) bool {
	switch {
	case l.asks:
		return l.Leave()
	case l.quiet != 0: // as in a collective call
		if st := l.QuietDone(l.quiet); st == Failed {
			t.Fatalf("PE %d: quiet: %v", l.me, l.Err())
		} else {
			l.asks = st == Done
		}
	case turn >= l.ends && l.isAlone(all) && l.j.rng.IntN(2) == 0:
		l.asks = true
	case turn >= l.ends && l.isAlone(all):
		l.nod()
		l.quiet = l.QuietBegin()
	default:
		for pe := range l.posted {
			if pe != int(l.me) && turn < all[pe].ends {
				l.add(t, pe)
			}
		}
	}
	return false
}

// hasHeard reports whether a message of each other PE has come. A program has had a collective call
// before it ends.
func (l *leaver) hasHeard() bool {
	for i := range l.ops.Peers {
		if i != int(l.me) && l.ops.Peers[i].Received == 0 {
			return false
		}
	}
	return true
}

// isAlone reports whether no PE waits for an answer of this one, or for room to post to it.
func (l *leaver) isAlone(all []*leaver) bool {
	for _, o := range all {
		if p := &o.ops.Peers[l.me]; !o.gone && o != l && (p.Tokens > 0 || p.Queued > 0) {
			return false
		}
	}
	return true
}

// add posts an operation to a PE, if there is room.
func (l *leaver) add(t *testing.T, to int) {
	l.n = (to - int(l.me) - 1 + len(l.posted)) % len(l.posted) // post takes that PE
	l.post(t)
}

// nod posts an operation to PEs that have said that they leave, as a collective call may that needs
// no answer.
func (l *leaver) nod() {
	for i := range l.ops.Peers {
		if l.ops.Peers[i].Left {
			l.AMO(libshmem.PE(i), 128, fabric.OpAdd, 8, 1, 0, nil, nil)
		}
	}
}

// judge compares what a PE has sent, when it ends, with the memory of the PEs that go on.
func (l *leaver) judge(t *testing.T, all []*leaver) {
	t.Helper()
	for pe, o := range all {
		if o != l && !o.asks && l.applied(o.me) != l.posted[pe] {
			t.Errorf("PE %d has ended, and PE %d has applied %d of its %d operations", l.me, pe, l.applied(o.me), l.posted[pe])
		}
	}
}
