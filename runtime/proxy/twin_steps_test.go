package proxy

import (
	"bytes"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/fastpath/fastpathtest"
	"libshmem/runtime/proxy/layout"
	"libshmem/tests/need"
)

// TestPlayedTwins takes random steps with both jobs on networks of each kind.
func TestPlayedTwins(t *testing.T) {
	most, sent, served, calls := need.Load("twins"), 0, 0, 0
	run := func(seed uint64) {
		m := modes[seed%uint64(len(modes))]
		tw := newTwins(t, m, seed, 3)
		tw.prepare(seed)
		for range 4000 {
			tw.random()
		}
		sent += tw.sent
		for _, p := range tw.pes[1] {
			served += p.served
		}
		calls += tw.steps
		tw.close()
	}
	if *oneSeed != 0 {
		run(*oneSeed)
		return
	}
	for seed := uint64(1); sent < most**times; seed++ {
		run(seed)
	}
	t.Logf("%d messages in %d steps, of which C took %d", sent, calls, served)
}

// prepare sets small windows in two of three seeds, and counters close to their wrap in one of
// four.
func (tw *twins) prepare(seed uint64) {
	for _, side := range tw.pes {
		for _, p := range side {
			p.forEachContext(func(e *Engine) {
				if seed%3 != 0 {
					e.Window, e.Unit = 16, 6
					e.FlushAt = e.Window / 2
				}
			})
			if seed%4 == 1 {
				for pe := range p.ops.Peers {
					p.nearWrap(pe)
				}
			}
		}
	}
}

func (tw *twins) pe() libshmem.PE { return libshmem.PE(tw.rng.IntN(len(tw.pes[0]))) }

// context picks a context of PE i.
func (tw *twins) context(i libshmem.PE) uint32 {
	if len(tw.pes[0][i].others) == 0 {
		return 0
	}
	return tw.rng.Uint32N(twinContexts)
}

// random takes one step.
func (tw *twins) random() {
	i := tw.pe()
	switch n := tw.rng.IntN(100); {
	case n < 46:
		tw.post(i, tw.context(i), tw.pe(), false)
	case n < 78:
		tw.arrive()
	case n < 84:
		tw.end()
	case n < 88:
		tw.each(i, "poll", func(_ int, p *twin) any { p.Complete(nil); return nil })
	case n < 91:
		s := tw.context(i)
		tw.each(i, "fence", func(_ int, p *twin) any { return p.Context(s).Fence() })
	case n < 94:
		tw.quiet(i)
	case n < 96:
		room, shut := plenty, tw.rng.IntN(8) == 0
		if tw.rng.IntN(4) == 0 {
			room = tw.rng.IntN(4)
		}
		tw.each(i, "room", func(_ int, p *twin) any { p.wire.room, p.wire.shut = room, shut; return nil })
	case n < 98:
		tw.burst(i)
	default:
		tw.bad()
	}
}

// place picks an offset of n bytes in the heap or in the internal area.
func (tw *twins) place(n, align int) libshmem.Offset {
	if tw.rng.IntN(20) == 0 {
		return -libshmem.Offset(internal) + libshmem.Offset(tw.rng.IntN((internal-n%internal)/align)*align)
	}
	return libshmem.Offset(tw.rng.IntN((twinHeap-n)/align+1) * align)
}

// size picks the size of a put.
func (tw *twins) size() int {
	switch tw.rng.IntN(8) {
	case 0:
		return 1 << tw.rng.IntN(4)
	case 1:
		return tw.rng.IntN(layout.MergeMost + 10)
	case 2:
		return layout.MaxPayload - 2 + tw.rng.IntN(5)
	}
	return 1 + tw.rng.IntN(40)
}

// post posts one operation in both jobs. As in capi/core, C is asked unless a burst is under way
// and the PE has no open batch. A small operation may share a message with others.
func (tw *twins) post(i libshmem.PE, s uint32, to libshmem.PE, small bool) {
	rng := tw.rng
	n, what, value, operand := tw.size(), rng.IntN(12), rng.Uint64(), rng.Uint64()
	if small {
		n, what = 1+rng.IntN(300), rng.IntN(10)
	}
	from := unsafe.Pointer(&tw.source[rng.IntN(len(tw.source)-n)])
	op, width := fabric.Op(1+rng.IntN(5)), uint8(4<<rng.IntN(2))
	word := tw.place(8, 8)
	at := tw.place(n, 1)
	var r asked
	inC := func(p *twin, call func(f *fastpathtest.Path) bool) bool {
		e := p.Context(s)
		return (e.Burst < layout.BurstAfter || e.ops.Peers[to].Batch != nil) && p.inC(call)
	}
	if rng.IntN(3) == 0 {
		r = asked{new(Request), new(Request)}
	}
	count := rng.IntN(len(twin{}.fetched))
	switch what {
	case 0, 1, 2:
		width = 1 << rng.IntN(4)
		tw.each(i, "store", func(_ int, p *twin) any {
			if inC(p, func(f *fastpathtest.Path) bool { return f.Store(s, to, word, width, value) }) {
				return Done
			}
			return p.Context(s).Store(to, word, width, value)
		})
		return
	case 3, 4, 5:
		tw.each(i, "atomic", func(_ int, p *twin) any {
			if inC(p, func(f *fastpathtest.Path) bool { return f.AMO(s, to, word, op, width, value, operand) }) {
				return Done
			}
			return p.Context(s).AMO(to, word, op, width, value, operand, nil, nil)
		})
		return
	case 6, 7:
		n = max(n, 1) // an empty put posts nothing
		tw.each(i, "put", func(side int, p *twin) any {
			if inC(p, func(f *fastpathtest.Path) bool { return f.Put(s, to, at, from, uint64(n)) }) {
				return Done
			}
			return p.Context(s).Put(to, at, from, uint64(n), r[side])
		})
	case 8, 9:
		tw.each(i, "put with signal", func(side int, p *twin) any {
			if inC(p, func(f *fastpathtest.Path) bool { return f.PutSignal(s, to, at, from, uint64(n), word, value, op) }) {
				return Done
			}
			return p.Context(s).PutSignal(to, at, from, uint64(n), word, value, op, r[side])
		})
	case 10:
		op += fabric.OpSwap - fabric.OpSet
		tw.each(i, "fetch", func(side int, p *twin) any {
			return p.Context(s).AMO(to, word, op, width, value, operand, unsafe.Pointer(&p.fetched[count]), r[side])
		})
	case 11:
		tw.each(i, "get", func(side int, p *twin) any {
			return p.Context(s).Get(to, word, unsafe.Pointer(&p.fetched[count]), 8, r[side])
		})
	}
	if r[0] != nil {
		tw.asked = append(tw.asked, r)
	}
}

func (tw *twins) quiet(i libshmem.PE) {
	s := tw.context(i)
	e := tw.pes[0][i].Context(s)
	t := e.ops.Quiets.Open - 1
	if tw.rng.IntN(2) == 0 {
		tw.each(i, "quiet", func(_ int, p *twin) any { return p.Context(s).QuietBegin() })
	} else if t > 0 {
		tw.each(i, "end of a quiet", func(_ int, p *twin) any { return p.Context(s).QuietDone(t) })
	}
}

// burst begins or ends a burst. Some bursts fill a batch at once.
func (tw *twins) burst(i libshmem.PE) {
	s, burst := tw.context(i), uint32(tw.rng.IntN(2)*layout.BurstAfter)
	tw.each(i, "burst", func(_ int, p *twin) any {
		if burst == 0 {
			p.Release()
		}
		p.Context(s).Burst = burst
		return nil
	})
	if burst > 0 && tw.rng.IntN(4) == 0 {
		to := tw.pe()
		for range tw.rng.IntN(100) {
			tw.post(i, s, to, true)
		}
	}
}

// end delivers one of the owed completions, now and then with an error.
func (tw *twins) end() {
	if len(tw.owed) == 0 {
		return
	}
	k := tw.rng.IntN(len(tw.owed))
	o := tw.owed[k]
	tw.owed[k] = tw.owed[len(tw.owed)-1]
	tw.owed = tw.owed[:len(tw.owed)-1]
	if o.c.Kind != fabric.KindSend && tw.rng.IntN(200) == 0 {
		o.c.Err = 5
	}
	tw.complete(o.pe, "completion", o.c)
}

// complete delivers a completion: to C if the twin has a path, and to Go if C declines.
func (tw *twins) complete(i libshmem.PE, step string, c fabric.Completion) {
	tw.each(i, step, func(_ int, p *twin) any {
		if !p.inC(func(f *fastpathtest.Path) bool { return f.Receive(&c) }) {
			p.Complete([]fabric.Completion{c})
		} else if p.NUnposted > 0 || p.Stuck != 0 || len(p.stuckContexts)+len(p.closingContexts) > 0 {
			p.Complete(nil) // in Go alone Complete has done this already
		}
		return nil
	})
}

// arrive lets up to three operations arrive, mostly in the order of posting.
func (tw *twins) arrive() {
	for range 1 + tw.rng.IntN(3) {
		if len(tw.flying) == 0 {
			return
		}
		k := tw.rng.IntN(len(tw.flying))
		if f := tw.flying[k]; tw.rng.IntN(16) != 0 {
			for l, g := range tw.flying[:k] {
				if g.from == f.from && g.of[0].to == f.of[0].to {
					k = l
					break
				}
			}
		}
		tw.arrives(k)
	}
}

func (tw *twins) arrives(k int) {
	f := tw.flying[k]
	o := &f.of[0]
	if o.kind == fabric.KindSend && len(tw.pes[0][o.to].wire.recvs) == 0 {
		return
	}
	tw.flying = append(tw.flying[:k], tw.flying[k+1:]...)
	local := fabric.Completion{Token: o.token, Kind: o.kind, Len: o.n}
	switch o.kind {
	case fabric.KindSend:
		tw.last = o.message
		tw.message(o.to, "message", o.message, len(o.message))
	case fabric.KindWrite:
		for side := range f.of {
			o := &f.of[side]
			copy(tw.pes[side][o.to].memory[o.remote:][:o.n], unsafe.Slice((*byte)(o.local), o.n))
		}
		if o.notify {
			c := fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindData, Data: o.data}
			c.SetFrom(f.from)
			tw.complete(o.to, "number of a write", c)
		}
		if !tw.bare {
			tw.owed = append(tw.owed, owed{f.from, local})
		}
	case fabric.KindRead:
		for side := range f.of {
			o := &f.of[side]
			copy(unsafe.Slice((*byte)(o.local), o.n), tw.pes[side][o.to].memory[o.remote:][:o.n])
		}
		tw.owed = append(tw.owed, owed{f.from, local})
	}
}

// message delivers a message in the next receive buffer of PE i.
func (tw *twins) message(i libshmem.PE, step string, m []byte, n int) {
	var c fabric.Completion
	for _, side := range tw.pes {
		w := side[i].wire
		if len(w.recvs) == 0 {
			return
		}
		b := w.recvs[0]
		w.recvs = append(w.recvs[:0], w.recvs[1:]...)
		copy(unsafe.Slice((*byte)(b.buf), b.n), m)
		c = fabric.Completion{Token: b.token, Kind: fabric.KindRecv, Len: uint64(n)}
	}
	tw.complete(i, step, c)
}

// bad changes a message that is under way, or delivers a message that the PE has to refuse.
func (tw *twins) bad() {
	rng := tw.rng
	if rng.IntN(2) == 0 {
		tw.stranger()
		return
	}
	if len(tw.flying) == 0 {
		return
	}
	f := &tw.flying[rng.IntN(len(tw.flying))].of
	if f[0].kind != fabric.KindSend {
		return
	}
	m := bytes.Clone(f[0].message)
	h := (*layout.Header)(unsafe.Pointer(&m[0]))
	if h.Kind == layout.KindFlush || h.Kind == layout.KindReply || h.Kind == layout.KindSequence || h.Kind == layout.KindSequenced || h.Fetch != 0 {
		return // the job would hang without them
	}
	switch rng.IntN(8) {
	case 0:
		h.Kind = layout.Kind(rng.IntN(int(layout.KindMember) + 2))
	case 1:
		h.Op = fabric.Op(rng.IntN(16))
	case 2:
		h.Width = uint8(rng.IntN(18))
	case 3:
		h.Offset = tw.edge()
	case 4:
		h.Extra = uint64(tw.edge())
	case 5:
		h.Token = rng.Uint32N(4)
	case 6:
		h.Fetch = 1
	case 7:
		if len(m) > layout.HeaderSize {
			m = m[:layout.HeaderSize+rng.IntN(len(m)-layout.HeaderSize)]
		}
	}
	// Without its seal it would be lost, and the job would hang.
	h.Job = tw.pes[0][0].TokenOf(h, f[0].to, len(m))
	f[0].message, f[1].message = m, m
}

// edge picks an offset near an end of the segment, inside it, or anywhere.
func (tw *twins) edge() libshmem.Offset {
	near := libshmem.Offset(tw.rng.IntN(32)) - 16
	switch tw.rng.IntN(6) {
	case 0:
		return near
	case 4:
		return libshmem.Offset(tw.rng.Int64N(twinHeap))
	case 1:
		return twinHeap + near
	case 2:
		return -internal + near
	case 3:
		return -1<<63 + near
	}
	return libshmem.Offset(tw.rng.Uint64())
}

// stranger delivers a message with a wrong sequence number, sender, job or length.
func (tw *twins) stranger() {
	rng := tw.rng
	if len(tw.last) == 0 {
		return
	}
	m, to := bytes.Clone(tw.last), tw.pe()
	h, n := (*layout.Header)(unsafe.Pointer(&m[0])), len(m)
	what := rng.IntN(7)
	switch what {
	case 0: // a duplicate
	case 1:
		h.Job ^= 1 << rng.IntN(64)
	case 2:
		h.From = uint32(len(tw.pes[0])) + rng.Uint32N(3)
	case 3:
		h.From |= (layout.ContextsOpen + rng.Uint32N(8)) << layout.ContextShift
	case 4:
		h.Seq += furthest + rng.Uint32N(10)
	case 5:
		h.Seq -= 1 + rng.Uint32N(1000)
	case 6:
		n = []int{0, 1, layout.HeaderSize - 1, layout.MessageSize + 1}[rng.IntN(4)]
	}
	if what != 1 && rng.IntN(2) == 0 { // else a message with seals has no other mistake than its seal
		h.Job = tw.pes[0][0].TokenOf(h, to, len(m))
	}
	tw.message(to, "bad message", m, n)
}
