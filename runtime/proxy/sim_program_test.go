package proxy

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// The programs write bytes that are never 0 over zeros, so that memory shows for each operation
// whether none, a part or all of it has arrived. They write pieces of one table.
var table = func() []byte {
	rng := rand.New(rand.NewPCG(5, 6))
	b := make([]byte, 1<<16)
	for i := range b {
		b[i] = byte(1 + rng.IntN(255))
	}
	return b
}()

var zeros = make([]byte, simLargest)

const (
	simLargest = 3 * layout.MaxPayload
	region     = 192 << 10          // of each PE in the heap of each other PE
	simShared  = 4096               // in front of them: counters that all PEs change
	pieces     = 1<<16 - simLargest // places in the table
)

// simEffect is the change by one operation in the memory of its target.
type simEffect struct {
	what  string
	at, n int
	from  int // of the table
	epoch uint64
	after int // put with signal: its bytes are that many effects before it; 0: none
	seen  bool

	notified bool // a counter counts it
}

func (f *simEffect) bytes() []byte { return table[f.from : f.from+f.n] }

// programFlow is all effects of one PE on another, in the order of its program.
type programFlow struct {
	writer, target int
	effects        []simEffect // the first may be visible; earlier ones are dropped
	epoch          uint64
	start, end     int       // the used part of the region
	counter        int       // the notification counter of this flow alone
	notified, came uint64    // notifications posted, and those whose bytes have been seen
	fetches        []*uint64 // results of non-blocking fetches of words that were 0
}

// check compares memory with what fences, signals and quiet allow: no effect of an epoch is there
// before all effects of the epochs before it, and no signal before its bytes.
func (s *programFlow) check(w *world) {
	heap := w.pes[s.target].heap
	missing := -1
	for i := range s.effects {
		f := &s.effects[i]
		if f.seen {
			continue
		}
		now := heap[f.at : f.at+f.n]
		all := bytes.Equal(now, f.bytes())
		some := all && f.n > 0 || !all && !bytes.Equal(now, zeros[:f.n])
		switch {
		case some && missing >= 0 && s.effects[missing].epoch < f.epoch:
			m := &s.effects[missing]
			w.fail("PE %d sees %s of PE %d (%d bytes at %#x, epoch %d) before %s (%d bytes at %#x, epoch %d)",
				s.target, f.what, s.writer, f.n, f.at, f.epoch, m.what, m.n, m.at, m.epoch)
		case some && f.after > 0 && !s.effects[i-f.after].seen:
			m := &s.effects[i-f.after]
			if !bytes.Equal(heap[m.at:m.at+m.n], m.bytes()) {
				w.fail("PE %d sees the signal of PE %d at %#x before its %d bytes at %#x", s.target, s.writer, f.at, m.n, m.at)
			}
		}
		if f.seen = all; !all && missing < 0 {
			missing = i // epochs ascend
		}
		if all && f.notified {
			s.came++
		}
	}
	if now := s.counted(w); now > s.came {
		w.fail("PE %d has counted %d puts of PE %d, and sees the bytes of %d", s.target, now, s.writer, s.came)
	}
	gone := 0
	for gone < len(s.effects) && s.effects[gone].seen {
		gone++
	}
	if gone < len(s.effects) && s.effects[gone].after > 0 {
		gone-- // a signal keeps its bytes
	}
	if gone > 32 || gone == len(s.effects) {
		s.effects = s.effects[:copy(s.effects, s.effects[gone:])]
	}
}

// counted returns the value of the flow's notification counter.
func (s *programFlow) counted(w *world) uint64 {
	return binary.NativeEndian.Uint64(w.pes[s.target].memory[simInternal+simCounterOffset+8*s.counter:])
}

func (s *programFlow) add(rng *rand.Rand, what string, n, align int) *simEffect {
	at := (s.end + align - 1) / align * align
	s.end = at + n
	s.effects = append(s.effects, simEffect{what: what, at: at, n: n, from: rng.IntN(pieces), epoch: s.epoch})
	return &s.effects[len(s.effects)-1]
}

// simProgram is a random sequence of operations of one PE.
type simProgram struct {
	*proc
	w      *world
	left   int
	done   int
	to     []*programFlow // by target; nil: itself
	step   func() bool
	holds  [][]byte // sources that may not be reused before quiet
	fences bool     // false: the program counts fences and calls none
	count  uint64   // its sum in each counter
	pool   [][]byte
	stage  []byte // in the PE's own heap: sources that the fabric reaches
	used   int

	notifies bool // most operations are puts with notifications
}

// heapSize returns the size of the heap for n PEs.
func heapSize(n int) int { return simShared + n*region + staging }

// heapSizeOn returns the size with that many contexts beside the default one.
func heapSizeOn(n, contexts int) int { return simShared + (1+contexts)*(n*region+staging) }

// staging is the part of a heap that its owner uses for sources.
const staging = 64 << 10

func newProgram(w *world, p *proc, length int) *simProgram { return newProgramOn(w, p, 0, length) }

// newProgramOn makes a program on a context of the PE, beside the programs on its other contexts.
// Each has its own memory everywhere but for the counters.
func newProgramOn(w *world, p *proc, context, length int) *simProgram {
	end := len(p.heap) - context*staging
	g := &simProgram{proc: p.on(w, context), w: w, left: length, fences: true, stage: p.heap[end-staging : end]}
	for t := range w.pes {
		if t == p.me {
			g.to = append(g.to, nil)
			continue
		}
		start := simShared + (context*len(w.pes)+p.me)*region
		g.to = append(g.to, &programFlow{writer: p.me, target: t, start: start, end: start, counter: context*len(w.pes) + p.me})
	}
	return g
}

// source returns memory with the bytes of an effect: in the heap or not, aligned or not.
func (g *simProgram) source(b []byte) []byte {
	if g.w.rng.IntN(3) == 0 && g.used+len(b) <= len(g.stage) {
		s := g.stage[g.used : g.used+len(b) : g.used+len(b)] // spoil knows the others by their cap
		g.used += len(b)
		copy(s, b)
		return s
	}
	if k := len(g.pool); k > 0 && len(b) <= cap(g.pool[k-1]) {
		s := g.pool[k-1][:len(b)]
		g.pool = g.pool[:k-1]
		copy(s, b)
		return s
	}
	s := make([]byte, len(b), simLargest)
	copy(s, b)
	return s
}

// spoil overwrites a source that may be reused: a late read of it gets zeros, which no effect has.
func (g *simProgram) spoil(b []byte) {
	clear(b)
	if cap(b) == simLargest {
		g.pool = append(g.pool, b[:0])
	}
}

func simAt(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// posting returns the step of an operation: it posts until there is room, then waits if the
// operation blocks.
func (g *simProgram) posting(source []byte, blocking bool, post func(r *Request) Status, then func()) func() bool {
	var r *Request
	if blocking {
		r = new(Request)
	}
	waiting := false
	finish := func() bool {
		g.spoil(source)
		if then != nil {
			then()
		}
		return true
	}
	return func() bool {
		if waiting {
			if r.Done == 0 {
				return false
			}
			if r.Status != 0 {
				g.w.fail("PE %d: operation ended with %d: %v", g.me, r.Status, g.Err())
			}
			return finish()
		}
		switch post(r) {
		case Again:
			return false
		case Failed:
			g.w.fail("PE %d: post: %v", g.me, g.Err())
			return true
		case Done:
			return finish()
		}
		if waiting = true; r != nil {
			return false
		}
		if source != nil {
			g.holds = append(g.holds, source)
		}
		return true
	}
}

// room is the most that one operation may add to a region.
const room = 2*simLargest + 64

// next begins a random operation.
func (g *simProgram) next() {
	rng := g.w.rng
	if g.left--; g.left < 0 {
		g.step = g.quieting()
		return
	}
	s := g.to[rng.IntN(len(g.to))]
	for s == nil {
		s = g.to[rng.IntN(len(g.to))]
	}
	if s.end+room > s.start+region || g.used+simLargest > len(g.stage) {
		g.step = g.quieting()
		g.left++
		return
	}
	g.done++
	switch rng.IntN(12) { // a burst of the caller begins, or ends
	case 0:
		g.Burst = 100
	case 1:
		g.Burst = 0
	case 2:
		g.Release()
	}
	target := libshmem.PE(s.target)
	blocking := rng.IntN(4) == 0
	put := func(what string, n, align int) {
		f := s.add(rng, what, n, align)
		source, offset := g.source(f.bytes()), libshmem.Offset(f.at)
		g.step = g.posting(source, blocking, func(r *Request) Status {
			return g.Put(target, offset, simAt(source), uint64(n), r)
		}, nil)
	}
	large := min(layout.MaxPayload+1+rng.IntN(simLargest-layout.MaxPayload-1), int(g.PutMax()))
	kind := rng.IntN(100)
	if g.notifies && rng.IntN(8) > 0 {
		kind = 82
	}
	switch {
	case kind < 20:
		if g.fences {
			g.Fence()
		}
		for _, s := range g.to {
			if s != nil {
				s.epoch++
			}
		}
	case kind < 40:
		n := 1 << rng.IntN(4)
		put("an element", n, n)
	case kind < 52:
		put("a small put", 1+rng.IntN(256), 1)
	case kind < 56:
		put("a put", 1+rng.IntN(layout.MaxPayload), 1)
	case kind < 62:
		put("a large put", large, 1)
	case kind < 70:
		g.atomic(s, target)
	case kind < 76:
		g.fetching(s, target, blocking)
	case kind < 82:
		// Counters that all PEs change.
		word := libshmem.Offset(8 * rng.IntN(8))
		width := uint8(8)
		g.step = g.posting(nil, false, func(*Request) Status {
			return g.AMO(target, word, fabric.OpAdd, width, 1, 0, nil, nil)
		}, func() { g.count++ })
	case kind < 86:
		n := rng.IntN(200)
		if rng.IntN(2) == 0 {
			n = large
		}
		g.putNotify(s, target, n, blocking)
	case kind < 93:
		n := rng.IntN(200)
		switch rng.IntN(6) {
		case 0:
			n = large
		case 1:
			n = rng.IntN(layout.MaxPayload + 1)
		}
		g.putSignal(s, target, n, blocking)
	case kind < 97:
		g.get(s, target)
	default:
		g.step = g.quieting()
	}
}

func (g *simProgram) atomic(s *programFlow, target libshmem.PE) {
	f := s.add(g.w.rng, "an atomic operation", 8, 8)
	op := []fabric.Op{fabric.OpSet, fabric.OpAdd, fabric.OpOr, fabric.OpXor}[g.w.rng.IntN(4)]
	value, offset := binary.NativeEndian.Uint64(f.bytes()), libshmem.Offset(f.at)
	g.step = g.posting(nil, false, func(*Request) Status {
		return g.AMO(target, offset, op, 8, value, 0, nil, nil)
	}, nil)
}

func (g *simProgram) fetching(s *programFlow, target libshmem.PE, blocking bool) {
	f := s.add(g.w.rng, "a fetching atomic operation", 8, 8)
	op := []fabric.Op{fabric.OpFetchAdd, fabric.OpSwap, fabric.OpFetchXor, fabric.OpCompareSwap}[g.w.rng.IntN(4)]
	value, offset := binary.NativeEndian.Uint64(f.bytes()), libshmem.Offset(f.at)
	old := new(uint64)
	*old = ^uint64(0)
	if !blocking {
		s.fetches = append(s.fetches, old)
	}
	var answer *Request
	g.step = g.posting(nil, blocking, func(r *Request) Status {
		answer = r
		return g.AMO(target, offset, op, 8, value, 0, unsafe.Pointer(old), r)
	}, func() {
		if answer != nil && answer.Value != 0 {
			g.w.fail("PE %d: a fetching atomic operation on a word of PE %d that was 0 answered %#x", g.me, s.target, answer.Value)
		}
	})
}

func (g *simProgram) putSignal(s *programFlow, target libshmem.PE, n int, blocking bool) {
	data := *s.add(g.w.rng, "the bytes of put_signal", n, 1)
	signal := s.add(g.w.rng, "the signal of put_signal", 8, 8)
	signal.after = 1
	op := fabric.OpSet
	if g.w.rng.IntN(2) == 0 {
		op = fabric.OpAdd
	}
	source, value, offset := g.source(data.bytes()), binary.NativeEndian.Uint64(signal.bytes()), libshmem.Offset(signal.at)
	g.step = g.posting(source, blocking, func(r *Request) Status {
		return g.PutSignal(target, libshmem.Offset(data.at), simAt(source), uint64(n), offset, value, op, r)
	}, nil)
}

func (g *simProgram) putNotify(s *programFlow, target libshmem.PE, n int, blocking bool) {
	f := s.add(g.w.rng, "a put with a notification", n, 1)
	f.notified = true
	s.notified++
	source, offset, counter := g.source(f.bytes()), libshmem.Offset(f.at), simCounterOffset+8*libshmem.Offset(s.counter)
	g.step = g.posting(source, blocking, func(r *Request) Status {
		return g.PutSignal(target, offset, simAt(source), uint64(n), counter, 1, fabric.OpAdd, r)
	}, nil)
}

// get reads bytes that an earlier operation has written. They must be there if they were seen
// there.
func (g *simProgram) get(s *programFlow, target libshmem.PE) {
	n := 1 + g.w.rng.IntN(2000)
	var known *simEffect
	for i := range s.effects {
		if f := &s.effects[i]; f.seen && f.n > 0 {
			known = f
		}
	}
	offset := libshmem.Offset(0)
	var want []byte
	if known != nil {
		offset, n, want = libshmem.Offset(known.at), known.n, known.bytes()
	}
	to := make([]byte, n)
	g.step = g.posting(nil, true, func(r *Request) Status {
		return g.Get(target, offset, simAt(to), uint64(n), r)
	}, func() {
		if want != nil && !bytes.Equal(to, want) {
			g.w.fail("PE %d gets other bytes from PE %d at %#x than were seen there", g.me, s.target, offset)
		}
	})
}

// quieting is a quiet. After it all effects must be there, and a full region begins anew.
func (g *simProgram) quieting() func() bool {
	ticket := Ticket(0)
	return func() bool {
		if ticket == 0 {
			ticket = g.QuietBegin()
		}
		switch g.QuietDone(ticket) {
		case Pending:
			return false
		case Failed:
			g.w.fail("PE %d: quiet: %v", g.me, g.Err())
			return true
		}
		for _, b := range g.holds {
			g.spoil(b)
		}
		g.holds, g.used = g.holds[:0], 0
		for _, s := range g.to {
			if s == nil {
				continue
			}
			s.check(g.w)
			for i := range s.effects {
				if f := &s.effects[i]; !f.seen && f.n > 0 {
					g.w.fail("PE %d: after quiet PE %d does not see %s (%d bytes at %#x)", g.me, s.target, f.what, f.n, f.at)
				}
			}
			if now := s.counted(g.w); now != s.notified {
				g.w.fail("PE %d: after quiet PE %d has counted %d of %d puts", g.me, s.target, now, s.notified)
			}
			for _, f := range s.fetches {
				if *f != 0 {
					g.w.fail("PE %d: after quiet an atomic operation on a word of PE %d that was 0 has fetched %#x", g.me, s.target, *f)
				}
			}
			s.fetches = s.fetches[:0]
			if s.end+room > s.start+region {
				clear(g.w.pes[s.target].heap[s.start:s.end])
				s.end, s.effects = s.start, s.effects[:0]
			}
			s.epoch++
		}
		return true
	}
}
