package proxy

import (
	"fmt"
	"slices"
	"structs"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// pull is bytes that another PE has in memory that the fabric reads, on their way
// here: offered to be put, offered as a part of a get, or of a get from a PE whose
// memory needs no help.
type pull struct {
	pe     fabric.PE
	remote uint64
	key    uint64
	size   uint64 // that were offered
	n      uint64 // of them, less what is given up
	begun  uint64
	landed uint64 // in place, or in StreamIn
	dest   unsafe.Pointer
	desc   uintptr // of dest in main memory
	gpu    bool    // dest is GPU memory
	token  uint32  // that the offer had; 0: nobody waits to hear of it
	get    uint32  // question of the get that it belongs to; 0: a put
	err    int32
	done   bool
	lost   bool                         // the PE is, and the provider has reads of it
	after  struct{ pulls, held uint64 } // of its line, that have to be done first
}

// read is one read of a pull, by token.
type read struct {
	of    *pull
	at    uint64
	n     uint64
	chunk uint16
}

// get is a get under way that needs staging, by token.
type get struct {
	dest   unsafe.Pointer
	n      uint64
	left   uint64
	reads  int    // of a lost PE, that the provider has
	slot   uint16 // for what comes in a message; only of GPU memory
	gpu    bool
	status int32
}

// offered is the payload of an offer.
type offered struct {
	_     structs.HostLayout
	N     uint64
	Fence uint32 // epoch of the sender: offers of one are not ordered
	Get   uint32 // question of the get; 0: a put
}

const offeredSize = 16

var _ [offeredSize]byte = [unsafe.Sizeof(offered{})]byte{}

// takeOffer begins to pull what a PE offers.
func (e *Engine) takeOffer(h *layout.Header, payload unsafe.Pointer, n int) {
	if n != offeredSize || !e.staged() {
		e.malformed(h)
		return
	}
	var o offered
	mem.Copy(unsafe.Pointer(&o), payload, n)
	if o.Get != 0 {
		e.takeOfferOfGet(h, &o)
		return
	}
	at := e.target(h, h.Offset, o.N)
	if at == nil {
		return
	}
	e.settleWrites()
	s := e.stage
	l := &s.lines[h.From]
	if o.Fence != l.fence || l.pullsAll == 0 {
		l.fence = o.Fence
		l.behind.pulls, l.behind.held = l.pullsAll, l.heldAll
	}
	p := s.newPull(fabric.PE(h.From), h.Operand, h.Extra, o.N, at)
	p.gpu = e.segment.Heap != nil && h.Offset >= 0
	p.desc, p.token, p.after = e.region.Desc, h.Token, l.behind
	l.pulls.Push(p)
	l.pullsAll++
	e.listen(l, h.From)
	e.startPulls()
}

// takeOfferOfGet is the same for a part of what this PE asked for.
func (e *Engine) takeOfferOfGet(h *layout.Header, o *offered) {
	g, s := e.getOf(h, o.Get)
	if g == nil {
		return
	}
	if uint64(h.Offset) > g.n || o.N > g.n-uint64(h.Offset) {
		e.malformed(h)
		return
	}
	p := e.stage.newPull(fabric.PE(h.From), h.Operand, h.Extra, o.N, unsafe.Add(g.dest, h.Offset))
	p.gpu, p.token, p.get = g.gpu, h.Token, o.Get
	if p.desc = e.region.Desc; s.registered {
		p.desc = s.memory.Region.Desc
	}
	e.startPulls()
}

// getOf finds the get that a PE answers.
func (e *Engine) getOf(h *layout.Header, question uint32) (*get, *slot) {
	t := fabric.Token(question & 0xffff)
	if t >= tokens || e.question(t) != question || uint32(e.slots[t].pe) != h.From || e.slots[t].use != useGet {
		e.unasked(h)
		return nil, nil
	}
	return &e.stage.gets[t], &e.slots[t]
}

func (s *stage) newPull(pe fabric.PE, remote, key, n uint64, dest unsafe.Pointer) *pull {
	var p *pull
	if last := len(s.pulled) - 1; last >= 0 {
		p, s.pulled = s.pulled[last], s.pulled[:last]
	} else {
		p = new(pull)
	}
	*p = pull{pe: pe, remote: remote, key: key, size: n, n: n, dest: dest}
	s.pulls = append(s.pulls, p)
	s.under++
	return p
}

// startPulls posts reads while there is room. A PE that has none does not keep
// the others from theirs.
func (e *Engine) startPulls() {
	s := e.stage
	if len(s.pulls) == 0 {
		return
	}
	s.pass++
	work := s.pulls
	still := work[:0]
	for _, p := range work {
		l := &s.lines[p.pe]
		if l.blocked == s.pass || !e.pullNow(l, p) || !e.startPull(l, p) {
			still = append(still, p)
		}
	}
	clear(work[len(still):])
	s.pulls = still
}

// pullNow tells whether what a fence puts before the pull is done.
func (e *Engine) pullNow(l *line, p *pull) bool {
	if p.get != 0 || p.token == 0 {
		return true
	}
	if l.pullDone < p.after.pulls || l.heldDone < p.after.held {
		return false
	}
	return p.gpu || l.issued <= e.stage.tracks[StreamIn].passed
}

// startPull posts what it can of a pull; true: all of it.
func (e *Engine) startPull(l *line, p *pull) bool {
	s := e.stage
	for p.begun < p.n && p.err == 0 {
		r := read{of: p, at: p.begun, n: min(p.n-p.begun, e.caps.MaxMessage)}
		to, desc := unsafe.Add(p.dest, r.at), p.desc
		if p.gpu {
			i, ok := s.landing.takeFor(&l.landing)
			if !ok {
				return false // a chunk that gets free calls for the next turn
			}
			r.chunk, r.n = i, min(r.n, s.landing.size)
			to, desc = s.landing.at(i), s.pinned.Desc
		}
		if !e.postRead(p, to, desc, &r) {
			if p.gpu {
				s.landing.give(r.chunk)
				l.landing--
			}
			if p.err == 0 {
				l.blocked, s.waits = s.pass, true
				return false
			}
			break
		}
		p.begun += r.n
	}
	if p.err != 0 {
		p.n = p.begun // no more of it
		e.pulledSome(p, 0)
	}
	return true
}

func (e *Engine) postRead(p *pull, to unsafe.Pointer, desc uintptr, r *read) bool {
	t, slot := e.take(usePull, &e.peers[p.pe], p.pe)
	if slot == nil {
		return false
	}
	op := &e.moving
	op.PE, op.Token, op.Local, op.Len, op.Desc = p.pe, t, to, r.n, desc
	op.Remote, op.Key = p.remote+r.at, p.key
	if err := e.prov.Read(op); err != nil {
		if e.refused(t, slot, err) == Failed {
			p.err = -1
		}
		return false
	}
	e.stage.reads[t] = *r
	from := &e.peers[p.pe].Count
	from[layout.Reads]++
	from[layout.ReadBytes] += r.n
	return true
}

// landed comes when a read is complete, or has failed.
func (e *Engine) landed(t fabric.Token, failed int32) {
	s := e.stage
	r := s.reads[t]
	p := r.of
	if p.lost {
		e.landedLost(&r)
		return
	}
	l := &s.lines[p.pe]
	if failed != 0 {
		p.err = failed
	}
	switch in := &s.tracks[StreamIn]; {
	case !p.gpu:
	case failed != 0:
		s.landing.give(r.chunk)
		l.landing--
	default:
		e.runs(p.errand(), p.pe)
		e.copyGPU(StreamIn, unsafe.Add(p.dest, r.at), s.landing.at(r.chunk), r.n)
		if p.get == 0 {
			l.issued = in.last()
		}
		in.later(chore{what: taskLanded, index: r.chunk, pe: uint32(p.pe)})
	}
	e.pulledSome(p, r.n)
}

// pulledSome ends the pull when all of it has come.
func (e *Engine) pulledSome(p *pull, n uint64) {
	s := e.stage
	if p.landed += n; p.landed < p.n && p.err == 0 || p.landed < p.begun {
		return
	}
	if p.begun < p.n { // failed, and the rest was not begun
		p.n = p.begun
		if i := slices.Index(s.pulls, p); i >= 0 {
			s.pulls = slices.Delete(s.pulls, i, i+1)
		}
	}
	if p.token != 0 {
		e.own(p.pe, e.Epoch, noLane, &layout.Header{Kind: layout.KindTaken, Token: p.token, Operand: uint64(uint32(p.err))})
	}
	s.under--
	if p.get != 0 {
		status := p.err
		if p.gpu && status == 0 {
			s.tracks[StreamIn].later(chore{what: taskCame, token: p.get, value: p.size, pe: uint32(p.pe)})
		} else {
			e.gotSome(p.get, p.size, status)
		}
		s.pulled = append(s.pulled, p)
		return
	}
	p.done = true
	l := &s.lines[p.pe]
	for l.pulls.Len() > 0 && (*l.pulls.At(0)).done {
		s.pulled = append(s.pulled, l.pulls.Pop())
		l.pullDone++
	}
}

// gotSome counts bytes of a get that are in place, or will not come.
func (e *Engine) gotSome(question uint32, n uint64, status int32) {
	t := fabric.Token(question & 0xffff)
	g, s := &e.stage.gets[t], &e.slots[t]
	if status != 0 && g.status == 0 {
		g.status = status
		e.err = fmt.Errorf("PE %d: %s: error %d", s.pe, s.use, status)
	}
	if g.left -= n; g.left == 0 {
		e.endGet(t)
	}
}

// endGet ends a get of which everything is in place, or will not come.
func (e *Engine) endGet(t fabric.Token) {
	g, s := &e.stage.gets[t], &e.slots[t]
	lost := e.isLost(s.pe)
	if lost {
		e.err, g.status = e.losses[s.pe], int32(Failed)
	}
	if g.gpu {
		e.stage.coming.give(g.slot)
	}
	if s.registered && !lost {
		g.status = max(g.status, e.dropRegion(s, g.status == 0))
	}
	if s.request != nil {
		e.finish(s.request, g.status, 0)
	} else {
		e.pending[s.lane]--
		if g.status != 0 {
			e.lose(s.lane, e.err)
		}
	}
	if lost {
		s.request, s.ended = nil, true
		if g.reads == 0 {
			e.tookEnded(t)
		}
		return
	}
	e.give(t)
}

// takeData takes a small part of a get that came in a message.
func (e *Engine) takeData(h *layout.Header, payload unsafe.Pointer, n int) {
	if !e.staged() {
		e.malformed(h)
		return
	}
	g, _ := e.getOf(h, h.Token)
	if g == nil {
		return
	}
	if uint64(h.Offset) > g.n || uint64(n) > g.n-uint64(h.Offset) {
		e.malformed(h)
		return
	}
	to := unsafe.Add(g.dest, h.Offset)
	if !g.gpu {
		mem.Copy(to, payload, n)
		e.gotSome(h.Token, uint64(n), 0)
		return
	}
	s := e.stage
	slot := s.coming.at(g.slot)
	mem.Copy(slot, payload, n)
	e.runs(errandGet, fabric.PE(h.From))
	e.copyGPU(StreamIn, to, slot, uint64(n))
	s.tracks[StreamIn].later(chore{what: taskCame, token: h.Token, value: uint64(n), pe: h.From})
}

// stageGet is Get where one of the two sides is GPU memory. Not ok: neither is.
func (e *Engine) stageGet(pe fabric.PE, offset int64, dest unsafe.Pointer, n uint64, r *Request) (st Status, ok bool) {
	s := e.stage
	l, p := &s.lines[pe], &e.peers[pe]
	if e.isLost(pe) {
		return e.fail(e.losses[pe]), true
	}
	gpu := e.onGPU(dest, n)
	far := l.device && offset >= 0
	if far && l.mapped != nil {
		return e.copyGet(pe, offset, dest, n, gpu, r), true
	}
	switch {
	case e.reaches(l, offset, far, dest, n, gpu):
		return 0, false
	case !e.routed(p, pe):
		return e.fail(errNoRoute), true
	case e.held(p), !e.room(p, n):
		return Again, true
	}
	var small uint16
	if gpu {
		if small, ok = s.coming.take(); !ok {
			return Again, true
		}
	}
	t, slot := e.take(useGet, p, pe)
	if slot == nil {
		st = Again
	} else {
		slot.request = r
		s.gets[t] = get{dest: dest, n: n, left: n, slot: small, gpu: gpu}
		st = e.askFor(t, slot, pe, offset, far && l.extents.find(offset, n) == nil)
	}
	if st != Done {
		if gpu {
			s.coming.give(small)
		}
		return st, true
	}
	e.hold(slot, n)
	if r == nil {
		e.pending[slot.lane]++
	}
	e.startPulls()
	return Pending, true
}

// askFor begins a get: by a message where the other side has to copy, else by
// reading.
func (e *Engine) askFor(t fabric.Token, slot *slot, pe fabric.PE, offset int64, far bool) Status {
	s, p := e.stage, &e.peers[pe]
	g := &s.gets[t]
	if !far {
		op := e.move(p, pe, offset, g.dest, g.n, t)
		q := s.newPull(pe, op.Remote, op.Key, g.n, g.dest)
		q.gpu, q.get = true, e.question(t)
		return Done
	}
	if !g.gpu && !e.segment.Contains(g.dest, g.n) {
		op := &e.moving
		op.Local, op.Len, op.Desc = g.dest, g.n, 0
		if st := e.localRegion(slot, op); st != Done {
			e.give(t)
			return st
		}
		g.dest = op.Local
	}
	st := e.sendCopy(pe, &layout.Header{Kind: layout.KindFetch, Token: e.question(t), Offset: offset, Operand: g.n})
	if st != Done {
		if slot.registered {
			e.dropRegion(slot, false)
		}
		e.give(t)
	}
	return st
}
