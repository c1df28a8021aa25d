package gpustage

import (
	"fmt"
	"slices"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// pull is bytes on their way here, from memory of another PE that the fabric reads. A request to
// send announced them, for a put or as a part of a get; or they belong to a get from a PE whose
// memory the fabric reads directly.
type pull struct {
	pe     fabric.PE
	remote uint64
	key    uint64
	size   uint64 // bytes announced
	n      uint64 // bytes to read; less than size after a failure
	begun  uint64
	landed uint64 // bytes in place, or in StreamIn
	dest   unsafe.Pointer
	desc   uintptr // of dest in main memory
	gpu    bool    // dest is GPU memory
	token  uint32  // of the request to send; 0: its PE waits for no answer
	get    uint32  // question of the get that it belongs to; 0: a put
	err    int32
	done   bool
	lost   bool                         // the PE is lost, and the provider has reads of the pull
	after  struct{ pulls, held uint64 } // numbers of the PE that have to be done first
}

// read is one read of a pull, by token.
type read struct {
	of    *pull
	at    uint64
	n     uint64
	chunk uint16
}

// get is a get under way that the stage handles, by token.
type get struct {
	dest   unsafe.Pointer
	n      uint64
	left   uint64
	copied uint64 // of left, in StreamIn
	desc   uintptr
	reads  int    // reads from a lost PE that the provider has
	ended  bool   // the PE was lost and the caller told, but the provider still has reads
	slot   uint16 // for bytes that come in a message; only with GPU memory
	gpu    bool
	status int32
	err    error
}

// takeRequestToSend begins to pull the bytes of a request to send.
func (s *Stage) takeRequestToSend(h *layout.Header, payload unsafe.Pointer, n int) {
	if n != layout.RequestToSendSize {
		s.engine.Malformed(h)
		return
	}
	var o layout.RequestToSend
	mem.Copy(unsafe.Pointer(&o), payload, n)
	if o.Get != 0 {
		s.takeRequestToSendOfGet(h, &o)
		return
	}
	at := s.engine.Target(h, h.Offset, o.N)
	if at == nil {
		return
	}
	s.Flush()
	l := &s.lines[h.From]
	if o.Fence != l.fence || l.Pulls.All == 0 {
		l.fence = o.Fence
		l.behind.pulls, l.behind.held = l.Pulls.All, l.Kept.All
	}
	p := s.newPull(fabric.PE(h.From), h.Operand, h.Extra, o.N, at)
	p.gpu = s.segment.Heap != nil && h.Offset >= 0
	p.desc, p.token, p.after = s.heap.Desc, h.Token, l.behind
	l.pulls.Push(p)
	l.Pulls.All++
	s.arrivals.Listen(h.From)
	s.startPulls()
}

// takeRequestToSendOfGet does the same for a part of a get of this PE.
func (s *Stage) takeRequestToSendOfGet(h *layout.Header, o *layout.RequestToSend) {
	g := s.getOf(h, o.Get)
	if g == nil {
		return
	}
	if uint64(h.Offset) > g.n || o.N > g.n-uint64(h.Offset) {
		s.engine.Malformed(h)
		return
	}
	p := s.newPull(fabric.PE(h.From), h.Operand, h.Extra, o.N, unsafe.Add(g.dest, h.Offset))
	p.gpu, p.token, p.get = g.gpu, h.Token, o.Get
	p.desc = g.desc
	s.startPulls()
}

// getOf finds the get that an answer belongs to.
func (s *Stage) getOf(h *layout.Header, question uint32) *get {
	t := fabric.Token(question & 0xffff)
	if t >= layout.Tokens || s.engine.Question(t) != question || uint32(s.ops[t].pe) != h.From || s.ops[t].use != useGet {
		s.engine.Unasked(h)
		return nil
	}
	return &s.ops[t].get
}

func (s *Stage) newPull(pe fabric.PE, remote, key, n uint64, dest unsafe.Pointer) *pull {
	var p *pull
	if last := len(s.sparePulls) - 1; last >= 0 {
		p, s.sparePulls = s.sparePulls[last], s.sparePulls[:last]
	} else {
		p = new(pull)
	}
	*p = pull{pe: pe, remote: remote, key: key, size: n, n: n, dest: dest}
	s.pulls = append(s.pulls, p)
	s.under++
	return p
}

// startPulls posts reads while there is room. A PE without room does not keep the others from
// theirs.
func (s *Stage) startPulls() {
	if len(s.pulls) == 0 {
		return
	}
	s.pass++
	work := s.pulls
	still := work[:0]
	for _, p := range work {
		l := &s.lines[p.pe]
		if l.blocked == s.pass || !s.pullNow(l, p) || !s.startPull(l, p) {
			still = append(still, p)
		}
	}
	clear(work[len(still):])
	s.pulls = still
}

// pullNow reports whether the work that a fence orders before the pull is done.
func (s *Stage) pullNow(l *stagedPeer, p *pull) bool {
	if p.get != 0 || p.token == 0 {
		return true
	}
	if l.Pulls.Done < p.after.pulls || l.Kept.Done < p.after.held {
		return false
	}
	return p.gpu || l.Issued <= s.streams.Passed(StreamIn)
}

// startPull posts as many reads of a pull as it can; true: all.
func (s *Stage) startPull(l *stagedPeer, p *pull) bool {
	for p.begun < p.n && p.err == 0 {
		r := read{of: p, at: p.begun, n: min(p.n-p.begun, s.caps.MaxMessage)}
		to, desc := unsafe.Add(p.dest, r.at), p.desc
		if p.gpu {
			i, ok := s.landing.TakeFor(uint32(p.pe))
			if !ok {
				return false // a chunk that becomes free calls for the next turn
			}
			r.chunk, r.n = i, min(r.n, s.landing.Size())
			to, desc = s.landing.At(i), s.pinned.Desc
		}
		if !s.postRead(p, to, desc, &r) {
			if p.gpu {
				s.landing.GiveFor(uint32(p.pe), r.chunk)
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
		p.n = p.begun // the rest is given up
		s.pulledSome(p, 0)
	}
	return true
}

func (s *Stage) postRead(p *pull, to unsafe.Pointer, desc uintptr, r *read) bool {
	t, st := s.engine.Read(p.pe, p.remote+r.at, p.key, to, r.n, desc)
	if st != call.Done {
		if st == call.Failed {
			p.err = -1
		}
		return false
	}
	s.reads[t] = *r
	return true
}

// Landed comes when a read is complete, or has failed.
func (s *Stage) Landed(t fabric.Token, failed int32) {
	r := s.reads[t]
	s.reads[t].of = nil
	p := r.of
	if p.lost {
		s.landedLost(&r)
		return
	}
	l := &s.lines[p.pe]
	if failed != 0 {
		p.err = failed
	}
	switch {
	case !p.gpu:
	case failed != 0:
		s.landing.GiveFor(uint32(p.pe), r.chunk)
	default:
		s.streams.Runs(p.driverCall(), p.pe)
		s.streams.Copy(StreamIn, unsafe.Add(p.dest, r.at), s.landing.At(r.chunk), r.n)
		if p.get == 0 {
			l.Issued = s.streams.Last(StreamIn)
		}
		s.streams.Later(StreamIn, stream.Chore{For: s, What: taskLanded, Index: r.chunk, PE: uint32(p.pe)})
	}
	s.pulledSome(p, r.n)
}

// pulledSome ends the pull when all of it has arrived.
func (s *Stage) pulledSome(p *pull, n uint64) {
	if p.landed += n; p.landed < p.n && p.err == 0 || p.landed < p.begun {
		return
	}
	if p.begun < p.n { // it failed, and the rest was not begun
		p.n = p.begun
		if i := slices.Index(s.pulls, p); i >= 0 {
			s.pulls = slices.Delete(s.pulls, i, i+1)
		}
	}
	if p.token != 0 {
		s.engine.Own(p.pe, layout.Header{Kind: layout.KindFinished, Token: p.token, Operand: uint64(uint32(p.err))})
	}
	s.under--
	if p.get != 0 {
		status := p.err
		if p.gpu && status == 0 {
			s.gotLater(p.get, p.size)
		} else {
			s.gotSome(p.get, p.size, status)
		}
		s.sparePulls = append(s.sparePulls, p)
		return
	}
	p.done = true
	l := &s.lines[p.pe]
	for l.pulls.Len() > 0 && (*l.pulls.At(0)).done {
		s.sparePulls = append(s.sparePulls, l.pulls.Pop())
		l.Pulls.Done++
	}
}

// gotLater counts bytes of a get when the work that is in StreamIn now is done.
func (s *Stage) gotLater(question uint32, n uint64) {
	s.ops[question&0xffff].get.copied += n
	s.streams.Later(StreamIn, stream.Chore{For: s, What: taskCame, Token: question, Value: n})
}

// gotSome counts bytes of a get that are in place, or will not come.
func (s *Stage) gotSome(question uint32, n uint64, status int32) {
	t := fabric.Token(question & 0xffff)
	g := &s.ops[t].get
	if status != 0 && g.status == 0 {
		g.status = status
		g.err = fmt.Errorf("PE %d: get: error %d", s.ops[t].pe, status)
	}
	if g.left -= n; g.left == 0 {
		s.endGet(t)
	}
}

// endGet ends a get when all of it is in place, or will not come.
func (s *Stage) endGet(t fabric.Token) {
	g := &s.ops[t].get
	lost := s.engine.Lost(s.ops[t].pe)
	if lost != nil {
		g.err, g.status = lost, int32(call.Failed)
	}
	if g.gpu {
		s.coming.Give(g.slot)
	}
	if lost == nil {
		g.status = max(g.status, s.engine.Deregister(t, g.status == 0))
	}
	s.engine.Conclude(t, g.status, g.err)
	if g.ended = lost != nil && g.reads > 0; !g.ended {
		s.end(t)
	}
}

// takeData takes a small part of a get from a message.
func (s *Stage) takeData(h *layout.Header, payload unsafe.Pointer, n int) {
	g := s.getOf(h, h.Token)
	if g == nil {
		return
	}
	if uint64(h.Offset) > g.n || uint64(n) > g.n-uint64(h.Offset) {
		s.engine.Malformed(h)
		return
	}
	to := unsafe.Add(g.dest, h.Offset)
	if !g.gpu {
		mem.Copy(to, payload, n)
		s.gotSome(h.Token, uint64(n), 0)
		return
	}
	slot := s.coming.At(g.slot)
	mem.Copy(slot, payload, n)
	s.streams.Runs(backlog.CallGet, fabric.PE(h.From))
	s.streams.Copy(StreamIn, to, slot, uint64(n))
	s.gotLater(h.Token, uint64(n))
}

// Get is Get if one of the two sides is GPU memory. Not ok: neither is.
func (s *Stage) Get(pe fabric.PE, offset int64, dest unsafe.Pointer, n uint64, r *call.Request) (st call.Status, ok bool) {
	l := &s.lines[pe]
	if err := s.engine.Lost(pe); err != nil {
		return s.engine.Fail(err), true
	}
	gpu := s.Holds(dest, n)
	far := l.device && offset >= 0
	if far && l.mapped != nil {
		return s.copyGet(pe, offset, dest, n, gpu, r), true
	}
	if s.reaches(pe, offset, far, dest, n, gpu) {
		return 0, false
	}
	if st := s.engine.Ready(pe, n); st != call.Done {
		return st, true
	}
	var small uint16
	if gpu {
		if small, ok = s.coming.Take(); !ok {
			return call.Again, true
		}
	}
	st = call.Again
	t, ok := s.engine.BeginGet(pe, r, n)
	if ok {
		o := &s.ops[t]
		o.use, o.pe = useGet, pe
		o.get = get{dest: dest, n: n, left: n, desc: s.heap.Desc, slot: small, gpu: gpu}
		st = s.askFor(t, pe, offset, far && s.heaps.Find(pe, offset, n) == nil)
	}
	if st != call.Done {
		if gpu {
			s.coming.Give(small)
		}
		return st, true
	}
	if r == nil {
		s.engine.Await(t)
	}
	s.startPulls()
	return call.Pending, true
}

// askFor begins a get: by a message if the other side has to copy, else by reads.
func (s *Stage) askFor(t fabric.Token, pe fabric.PE, offset int64, far bool) call.Status {
	g := &s.ops[t].get
	if !far {
		op := fabric.RMA{PE: pe, Len: g.n}
		op.Remote, op.Key = s.engine.Route(pe, offset)
		s.Aim(&op, offset)
		q := s.newPull(pe, op.Remote, op.Key, g.n, g.dest)
		q.gpu, q.get = true, s.engine.Question(t)
		return call.Done
	}
	if !g.gpu && s.caps.LocalMR && !s.segment.Contains(g.dest, g.n) {
		at, region, err := s.engine.RegisterLocal(t, g.dest, g.n, true)
		if err != nil {
			s.end(t)
			return s.engine.Fail(err)
		}
		g.dest, g.desc = at, region.Desc
	}
	st := s.engine.Send(0, pe, layout.Header{Kind: layout.KindFetch, Token: s.engine.Question(t), Offset: offset, Operand: g.n}, nil, 0)
	if st != call.Done {
		s.end(t)
	}
	return st
}
