package proxy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// effect is the change by one operation in the memory of one PE: bytes where only zeros were.
type effect struct {
	what  string
	at    int
	bytes []byte
	epoch int     // of its writer towards this target
	after *effect // put with signal: the bytes that the signal follows
	seen  bool    // all of it was seen
}

// landedIn reports whether all, and whether any, of it is in memory.
func (f *effect) landedIn(heap []byte) (all, some bool) {
	now := heap[f.at : f.at+len(f.bytes)]
	if bytes.Equal(now, f.bytes) {
		return true, len(now) > 0 // of no bytes none is ever seen too early
	}
	return false, bytes.Count(now, []byte{0}) < len(now)
}

// history is all effects of one PE on another, in order.
type history struct {
	writer, target libshmem.PE
	effects        []*effect
	epoch          int
	end            int // of the used memory
	limit          int
	fetches        []*uint64 // nbi fetches: each must be 1 after quiet
}

// check compares memory with what fences allow: no effect of an epoch is there before all effects
// of the epochs before it.
func (h *history) check(j *job) {
	heap := j.pes[h.target].heap
	var missing *effect
	live := h.effects[:0:0]
	for _, f := range h.effects {
		if f.seen {
			continue
		}
		all, some := f.landedIn(heap)
		switch {
		case some && missing != nil && missing.epoch < f.epoch:
			j.t.Fatalf("PE %d sees %s of PE %d (epoch %d) before %s (epoch %d)",
				h.target, f.what, h.writer, f.epoch, missing.what, missing.epoch)
		case some && f.after != nil && !f.after.seen:
			if done, _ := f.after.landedIn(heap); !done {
				j.t.Fatalf("PE %d sees %s of PE %d before its bytes", h.target, f.what, h.writer)
			}
		}
		if f.seen = all; !all {
			live = append(live, f)
			if missing == nil {
				missing = f // epochs ascend
			}
		}
	}
	h.effects = live
}

// add notes an effect of n bytes at a multiple of align.
func (h *history) add(rng *rand.Rand, what string, n, align int) *effect {
	at := (h.end + align - 1) / align * align
	h.end = at + n
	f := &effect{what: fmt.Sprintf("%s of %d bytes at %#x", what, n, at), at: at, bytes: fill(rng, n), epoch: h.epoch}
	h.effects = append(h.effects, f)
	return f
}

// program is a random sequence of operations of one PE.
type program struct {
	*pe
	rng   *rand.Rand
	to    []*history // by target, nil: itself
	left  int
	step  func() bool // of the operation under way: reports whether it is done
	holds [][]byte    // sources that may not be reused before quiet
	row   int         // large puts to the same target that come next
	same  *history
}

const (
	largest  = 3 * layout.MaxPayload
	pairHeap = 256 << 10
	shared   = 4096 // the first bytes of each heap: counters that all PEs change
)

func newPrograms(j *job, length int) []*program {
	var ps []*program
	for _, p := range j.pes {
		g := &program{pe: p, rng: j.rng, left: length}
		for t := range j.pes {
			var h *history
			if t != int(p.me) {
				start := shared + int(p.me)*pairHeap
				h = &history{writer: p.me, target: libshmem.PE(t), end: start, limit: start + pairHeap}
			}
			g.to = append(g.to, h)
		}
		ps = append(ps, g)
	}
	return ps
}

// posting returns the step of an operation: post until there is room, then
// wait if it blocks.
func (g *program) posting(source []byte, blocking bool, post func(r *Request) Status) func() bool {
	var r *Request
	if blocking {
		r = new(Request)
	}
	waiting := false
	return func() bool {
		if !waiting {
			switch st := post(r); st {
			case Again:
				return false
			case Failed:
				g.j.t.Fatalf("PE %d: post: %v", g.me, g.Err())
			case Done:
				spoil(source)
				return true
			case Pending:
				if waiting = true; r == nil {
					g.holds = append(g.holds, source)
					return true
				}
			}
		}
		if r.Done == 0 {
			return false
		}
		spoil(source)
		return true
	}
}

// source copies b to a buffer: of the GPU, if a row of puts has to wait together.
func (g *program) source(b []byte) (unsafe.Pointer, []byte) {
	if g.same != nil && g.card != nil {
		return g.card.local(b)
	}
	return g.local(b)
}

// next begins a random operation.
func (g *program) next() {
	g.left--
	if g.left < 0 {
		g.step = g.quieting()
		return
	}
	h := g.same
	for h == nil || h.end+2*largest > h.limit {
		g.row = 0
		h = g.to[g.rng.IntN(len(g.to))]
		if h != nil && h.end+2*largest > h.limit {
			g.step = g.quieting()
			return
		}
	}
	blocking := g.rng.IntN(3) == 0
	put := func(what string, n, align int) {
		f := h.add(g.rng, what, n, align)
		at, source := g.source(f.bytes)
		g.step = g.posting(source, blocking, func(r *Request) Status { return g.Put(h.target, libshmem.Offset(f.at), at, uint64(n), r) })
	}
	large := layout.MaxPayload + 1 + g.rng.IntN(largest-layout.MaxPayload-1)
	if uint64(large) > g.PutMax() {
		large = int(g.PutMax())
	}
	kind := g.rng.IntN(100)
	switch {
	case g.row > 0:
		g.row--
		blocking, kind = false, 50+g.rng.IntN(2)*29 // a large put, or one with a signal
	case g.j.burst > 0 && g.rng.IntN(4) == 0:
		g.row = g.rng.IntN(20)
	}
	if g.same = h; g.row == 0 {
		g.same = nil
	}
	switch {
	case kind < 25:
		g.step = func() bool {
			g.fence()
			for _, h := range g.to {
				if h != nil {
					h.epoch++
				}
			}
			return true
		}
	case kind < 35:
		n := 1 << g.rng.IntN(4)
		put("element", n, n)
	case kind < 50:
		put("small put", 1+g.rng.IntN(layout.MaxPayload), 1)
	case kind < 65:
		put("large put", large, 1)
	case kind < 72:
		f := h.add(g.rng, "atomic", 8, 8)
		op := []fabric.Op{fabric.OpSet, fabric.OpAdd, fabric.OpOr, fabric.OpXor}[g.rng.IntN(4)]
		g.step = g.posting(nil, false, func(*Request) Status {
			return g.AMO(h.target, libshmem.Offset(f.at), op, 8, binary.NativeEndian.Uint64(f.bytes), 0, nil, nil)
		})
	case kind < 78:
		f := h.add(g.rng, "fetching atomic", 8, 8)
		value := new(uint64)
		if *value = 1; !blocking {
			h.fetches = append(h.fetches, value)
		}
		g.step = g.posting(nil, blocking, func(r *Request) Status {
			return g.AMO(h.target, libshmem.Offset(f.at), fabric.OpFetchAdd, 8, binary.NativeEndian.Uint64(f.bytes), 0, unsafe.Pointer(value), r)
		})
	case kind < 90:
		n := large
		if kind%2 == 0 {
			n = g.rng.IntN(layout.MaxPayload + 1)
		}
		f := h.add(g.rng, "bytes of put_signal", n, 1)
		s := h.add(g.rng, "signal", 8, 8)
		s.after = f
		at, source := g.source(f.bytes)
		g.step = g.posting(source, blocking, func(r *Request) Status {
			return g.PutSignal(h.target, libshmem.Offset(f.at), at, uint64(n), libshmem.Offset(s.at), binary.NativeEndian.Uint64(s.bytes), fabric.OpSet, r)
		})
	case kind < 96:
		n := 1 + g.rng.IntN(int(min(g.PutMax(), largest)))
		at, _ := g.local(make([]byte, n))
		g.step = g.posting(nil, blocking, func(r *Request) Status {
			return g.Get(h.target, libshmem.Offset(g.rng.IntN(shared)), at, uint64(n), r)
		})
	default:
		g.step = g.quieting()
	}
}

// quieting is a quiet. After it all effects must be there.
func (g *program) quieting() func() bool {
	return func() bool {
		switch st := g.Quiet(); st {
		case Pending:
			return false
		case Failed:
			g.j.t.Fatalf("PE %d: quiet: %v", g.me, g.Err())
		}
		for _, b := range g.holds {
			spoil(b)
		}
		g.holds = nil
		for _, h := range g.to {
			if h == nil {
				continue
			}
			if h.check(g.j); len(h.effects) > 0 {
				g.j.t.Fatalf("PE %d: after quiet PE %d does not see %s", g.me, h.target, h.effects[0].what)
			}
			for _, v := range h.fetches {
				if *v != 0 {
					g.j.t.Fatalf("PE %d: after quiet an atomic on a word of PE %d fetched %#x", g.me, h.target, *v)
				}
			}
			h.fetches = nil
			if h.end+2*largest > h.limit { // begin anew
				clear(g.j.pes[h.target].heap[h.limit-pairHeap : h.limit])
				h.end = h.limit - pairHeap
			}
			h.epoch++
		}
		return true
	}
}

// runPrograms drives the PEs in random turns and checks memory whenever it may have changed.
func runPrograms(j *job, length int) {
	ps := newPrograms(j, length)
	check := func(target libshmem.PE) {
		for _, g := range ps {
			if h := g.to[target]; h != nil {
				h.check(j)
			}
		}
	}
	j.net.landed = check
	for _, p := range j.pes {
		p.applied = func() { check(p.me) }
		if p.card != nil {
			p.card.done = func(*testGPU, unsafe.Pointer) { check(p.me) }
		}
	}
	running := len(ps)
	j.await("end of the programs", func() bool {
		for range max(3, j.burst) {
			switch g := ps[j.rng.IntN(len(ps))]; {
			case g.step != nil:
				if g.step() {
					if g.step = nil; g.left < 0 {
						running--
					}
				}
			case g.left >= 0:
				g.next()
			}
		}
		return running == 0
	})
	j.close()
}

// described adds to a failure how to run it again.
func described(t *testing.T, seed uint64) {
	if t.Failed() {
		t.Logf("run again with -seed=%d", seed)
	}
}
