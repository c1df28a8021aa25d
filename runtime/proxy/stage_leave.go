package proxy

import (
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// departure is an operation of which bytes have to be copied out of GPU memory
// before they can be sent: a put, or the get of another PE. On mapped heaps it is
// a copy that goes by way of main memory.
type departure struct {
	kind     way
	pe       fabric.PE
	epoch    uint64
	token    fabric.Token // of a put
	question uint32       // of a get
	local    unsafe.Pointer
	offset   int64 // in the heap of pe; of a get 0
	n        uint64
	begun    uint64
	uncopied int // pieces that a stream has
	unsent   int // pieces that are begun and not sent
	open     int // pieces that are begun and not done with
	sent     bool
	then     bool
	after    layout.Header
}

// way is which one.
type way uint8

const (
	wayPut   way = iota + 1 // GPU memory to the heap of pe, by offer or message
	wayServe                // GPU memory to a get of pe
	wayTo                   // main memory to the mapped heap of pe
	wayFrom                 // the mapped heap of pe to main memory
)

// piece is a part of a departure that is in a chunk or slot.
type piece struct {
	of    *departure
	at    uint64
	n     uint64
	index uint16
}

// offer is what a leaving chunk is for, while another PE may read it.
type offer struct {
	piece piece
	turn  uint16
}

// chunkToken marks the tokens of offers that are chunks.
const chunkToken = 0x8000

// mustFollowBytes tells whether an operation of an epoch on pe has to wait for bytes
// from before a fence that have not been sent.
func (e *Engine) mustFollowBytes(pe fabric.PE, epoch uint64) bool {
	l := &e.stage.lines[pe]
	before := l.copies
	if l.copyEpoch == epoch {
		before = l.copyBefore
	}
	return l.departs > 0 && l.departEpoch != epoch || l.copied < before
}

// stagePut is Put, or PutSignal with the signal in after, where a side is GPU
// memory. Not ok: it can go as it is.
func (e *Engine) stagePut(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, r *Request, after *layout.Header) (st Status, ok bool) {
	l, p := &e.stage.lines[pe], &e.peers[pe]
	if e.isLost(pe) {
		return e.fail(e.losses[pe]), true
	}
	gpu := n > 0 && e.onGPU(source, n)
	far := l.device && offset >= 0
	if far && l.mapped != nil {
		return e.copyPut(pe, offset, source, n, gpu, r, after), true
	}
	if !gpu && (!far || n <= maxPayload) {
		return 0, false
	}
	if e.stage.writes && e.reaches(l, offset, far, source, n, gpu) {
		return e.write(pe, offset, source, n, r, after), true
	}
	switch {
	case !e.routed(p, pe):
		return e.fail(errNoRoute), true
	case e.held(p), !e.room(p, n):
		return Again, true
	}
	if p.Queued > 0 {
		e.letGo(pe, p)
	}
	waits := p.Queued > 0 || e.overtakes(pe, p, e.Epoch)
	if !waits {
		if st := e.admit(pe, p, layout.HeaderSize); st != Done {
			return st, true
		}
	}
	t, s := e.take(useDeparts, p, pe)
	if s == nil {
		return Again, true
	}
	s.request, s.epoch, s.local, s.offset = r, e.Epoch, source, offset
	if after != nil {
		s.then, s.after = true, *after
	}
	e.hold(s, n)
	if waits {
		e.enqueue(t, s)
		return Pending, true
	}
	if st := e.leave(t, s, p); st != Done {
		e.give(t)
		return st, true
	}
	e.pending[s.lane]++
	e.touch(p, pe)
	return Pending, true
}

// driveDeparture is for a put that waited.
func (e *Engine) driveDeparture(t fabric.Token, s *slot, p *layout.Peer) Status {
	if e.overtakes(s.pe, p, s.epoch) {
		return Again
	}
	if st := e.admit(s.pe, p, layout.HeaderSize); st != Done {
		return e.jamUnless(p.Flushing, st)
	}
	return e.jamUnless(false, e.leave(t, s, p))
}

// leave begins a put: its bytes are copied out, or offered where they are.
func (e *Engine) leave(t fabric.Token, s *slot, p *layout.Peer) Status {
	if !e.onGPU(s.local, s.bytes) {
		if st := e.offerHost(t, s); st != Done {
			return st
		}
		if s.use = useOffer; s.then {
			e.own(s.pe, s.epoch, s.lane, &s.after)
		}
		return Done
	}
	s.use = useStage
	d, l := e.stage.depart(wayPut, s.pe, s.local, s.bytes), &e.stage.lines[s.pe]
	d.epoch, d.token, d.offset = s.epoch, t, s.offset
	if s.then {
		d.then, d.after = true, s.after
	}
	l.departs++
	l.departEpoch = s.epoch
	p.Staged = true
	e.copying()
	return Done
}

// offerHost offers main memory. Its token is that of the put.
func (e *Engine) offerHost(t fabric.Token, s *slot) Status {
	region, source, n := &e.region, s.local, s.bytes
	if !e.segment.Contains(source, n) {
		at, err := e.registerLocal(s, source, n, false)
		if err != nil {
			return e.fail(err)
		}
		source, region = at, &s.memory.Region.Region
	}
	h := layout.Header{Kind: layout.KindOffer, Token: e.question(t), Offset: s.offset, Operand: e.remoteOf(region, source), Extra: region.Key}
	st := e.sendOffer(s.pe, s.epoch, s.lane, &h, &offered{N: n, Fence: uint32(s.epoch)})
	if st != Done && s.registered {
		e.dropRegion(s, false)
	}
	return st
}

// remoteOf is what other PEs call an address of a region.
func (e *Engine) remoteOf(r *fabric.Region, at unsafe.Pointer) uint64 {
	if e.caps.VirtualAddress {
		return uint64(uintptr(at))
	}
	return uint64(uintptr(at) - uintptr(r.Base))
}

func (e *Engine) sendOffer(pe fabric.PE, epoch uint64, l lane, h *layout.Header, o *offered) Status {
	return e.sendBytes(pe, epoch, l, h, unsafe.Pointer(o), offeredSize)
}

// sendBytes sends a message of the engine's own that has payload. Who sends it
// tries again.
func (e *Engine) sendBytes(pe fabric.PE, epoch uint64, l lane, h *layout.Header, payload unsafe.Pointer, n int) Status {
	p := &e.peers[pe]
	if e.held(p) {
		return Again
	}
	to := e.draft(p, pe, n)
	if to == nil {
		return Again
	}
	*to = *h
	st := e.send(to, payload, n, false)
	if st == Done && l != noLane {
		p.Ask(e.Cost(layout.HeaderSize+n), epoch)
		e.account(pe, l)
	}
	return st
}

func (s *stage) depart(w way, pe fabric.PE, local unsafe.Pointer, n uint64) *departure {
	d := s.newDeparture(w, pe, local, n)
	s.departs.Push(d)
	return d
}

func (s *stage) newDeparture(w way, pe fabric.PE, local unsafe.Pointer, n uint64) *departure {
	var d *departure
	if last := len(s.departed) - 1; last >= 0 {
		d, s.departed = s.departed[last], s.departed[:last]
	} else {
		d = new(departure)
	}
	*d = departure{kind: w, pe: pe, local: local, n: n}
	return d
}

// takeFetch begins to copy out what a PE wants to get.
func (e *Engine) takeFetch(h *layout.Header) {
	if !e.staged() || e.segment.Heap == nil || h.Offset < 0 {
		e.malformed(h)
		return
	}
	if at := e.target(h, h.Offset, h.Operand); at != nil {
		d := e.stage.depart(wayServe, fabric.PE(h.From), at, h.Operand)
		d.question = h.Token
		e.copying()
	}
}

// startDepartures has streams copy while there are chunks. What goes to one PE
// keeps its order.
func (e *Engine) startDepartures() {
	s := e.stage
	s.pass++
	for range s.departs.Len() {
		d := s.departs.Pop()
		if l := &s.lines[d.pe]; l.blocked == s.pass || !e.startDeparture(l, d) {
			l.blocked = s.pass
			s.departs.Push(d)
		}
	}
}

// startDeparture begins what it can; true: all.
func (e *Engine) startDeparture(l *line, d *departure) bool {
	s := e.stage
	stream := StreamOut
	if d.kind >= wayTo {
		stream = StreamPeer
	}
	t := &s.tracks[stream]
	for d.begun < d.n {
		if t.full() {
			return false
		}
		p := piece{of: d, at: d.begun, n: min(d.n-d.begun, s.leaving.size)}
		var ok bool
		if p.small() {
			p.index, ok = s.going.takeFor(&l.slots)
		} else {
			p.index, ok = s.leaving.takeFor(&l.chunks)
		}
		if !ok {
			return false
		}
		to, from := s.place(&p), unsafe.Add(d.local, p.at)
		e.runs(d.kind.errand(), d.pe)
		switch d.kind {
		case wayTo:
			mem.Copy(to, from, int(p.n))
			to, from = unsafe.Add(l.mapped, d.offset+int64(p.at)), to
		case wayFrom:
			from = unsafe.Add(l.mapped, d.offset+int64(p.at))
		}
		e.copyGPU(stream, to, from, p.n)
		d.begun += p.n
		d.uncopied++
		d.unsent++
		d.open++
		t.later(chore{what: taskLeft, index: p.index, value: p.at, n: p.n, of: d})
	}
	if d.kind >= wayTo {
		e.endCopies(l, d)
	}
	return true
}

// left comes when a piece is in main memory, or on a mapped heap.
func (e *Engine) left(c *chore) {
	s, d := e.stage, c.of
	p := piece{d, c.value, c.n, c.index}
	d.uncopied--
	switch d.kind {
	case wayFrom:
		mem.Copy(unsafe.Add(d.local, p.at), s.place(&p), int(p.n))
		s.giveBack(&p)
	case wayTo:
		s.giveBack(&p)
	default:
		if e.isLost(d.pe) {
			d.n = d.begun
			e.dropPiece(&p)
			return
		}
		s.ready.Push(p)
		if slot := &e.slots[d.token]; d.kind == wayPut && d.begun == d.n && d.uncopied == 0 && slot.request != nil {
			e.finish(slot.request, 0, 0) // the source may be reused
			slot.request = nil
		}
	}
}

func (p *piece) small() bool { return p.n <= maxPayload }

// place is where a piece is.
func (s *stage) place(p *piece) unsafe.Pointer {
	if p.small() {
		return s.going.at(p.index)
	}
	return s.leaving.at(p.index)
}

func (s *stage) giveBack(p *piece) {
	l := &s.lines[p.of.pe]
	if p.small() {
		s.going.give(p.index)
		l.slots--
	} else {
		s.leaving.give(p.index)
		l.chunks--
	}
}

// sendReady sends or offers what is in main memory, in order for each PE.
func (e *Engine) sendReady() {
	s := e.stage
	s.pass++
	for range s.ready.Len() {
		p := s.ready.Pop()
		if l := &s.lines[p.of.pe]; l.blocked == s.pass || !e.sendPiece(&p) {
			l.blocked = s.pass
			s.waits = true
			s.ready.Push(p)
		}
	}
}

// sendPiece sends a piece in a message where it fits one. False: no room.
func (e *Engine) sendPiece(p *piece) bool {
	s, d := e.stage, p.of
	if e.isLost(d.pe) {
		d.n = d.begun
		e.dropPiece(p)
		return true
	}
	at := s.place(p)
	lane := noLane
	if d.kind == wayPut {
		lane = e.slots[d.token].lane
	}
	var st Status
	switch {
	case !p.small():
		o := &s.offers[p.index]
		h := layout.Header{
			Kind: layout.KindOffer, Token: uint32(o.turn+1)<<16 | chunkToken | uint32(p.index),
			Offset: d.offset + int64(p.at), Operand: e.remoteOf(&s.pinned, at), Extra: s.pinned.Key,
		}
		if st = e.sendOffer(d.pe, d.epoch, lane, &h, &offered{N: p.n, Fence: uint32(d.epoch), Get: d.question}); st == Done {
			o.turn++
			o.piece = *p
		}
	case d.kind == wayServe:
		st = e.sendBytes(d.pe, 0, noLane, &layout.Header{Kind: layout.KindData, Token: d.question, Offset: int64(p.at)}, at, int(p.n))
	case d.then && d.begun == d.n && d.unsent == 1: // the last of them takes the signal along
		h := d.after
		h.Kind, h.Offset, h.Extra = layout.KindPutSignal, d.offset+int64(p.at), uint64(d.after.Offset)
		if st = e.sendBytes(d.pe, d.epoch, lane, &h, at, int(p.n)); st == Done {
			d.then = false
		}
	case p.n <= 8 && p.n&(p.n-1) == 0:
		h := layout.Header{Kind: layout.KindStore, Width: uint8(p.n), Offset: d.offset + int64(p.at), Operand: mem.Load(at, int(p.n))}
		st = e.sendBytes(d.pe, d.epoch, lane, &h, nil, 0)
	default:
		st = e.sendBytes(d.pe, d.epoch, lane, &layout.Header{Kind: layout.KindPut, Offset: d.offset + int64(p.at)}, at, int(p.n))
	}
	switch st {
	case Again:
		return false
	case Failed:
		e.unreachable(d.pe, fmt.Errorf("PE %d: send: %w", d.pe, e.err))
		return false
	}
	d.unsent--
	if p.small() {
		s.giveBack(p)
		d.open--
	}
	e.departed(d)
	return true
}

// departed ends a departure of which everything has been sent and taken.
func (e *Engine) departed(d *departure) {
	if d.begun < d.n || d.unsent > 0 {
		return
	}
	s := e.stage
	if !d.sent && d.kind == wayPut {
		l := &s.lines[d.pe]
		if d.then {
			e.own(d.pe, d.epoch, e.slots[d.token].lane, &d.after)
		}
		if l.departs--; l.departs == 0 && l.mapped == nil {
			e.peers[d.pe].Staged = false
		}
		e.bytesGone(d.pe)
	}
	if d.sent = true; d.open > 0 {
		return
	}
	switch {
	case d.kind == wayPut && e.isLost(d.pe):
		e.endLost(d.token)
	case d.kind == wayPut:
		e.pending[e.slots[d.token].lane]--
		e.give(d.token)
	}
	s.departed = append(s.departed, d)
}

// taken comes when the other side has read what was offered.
func (e *Engine) taken(h *layout.Header) {
	if !e.staged() {
		e.malformed(h)
		return
	}
	s := e.stage
	turn, t := uint16(h.Token>>16), h.Token&0xffff
	if t&chunkToken == 0 {
		e.takenHost(h, fabric.Token(t))
		return
	}
	i := int(t &^ chunkToken)
	if i >= len(s.offers) || s.offers[i].piece.of == nil || s.offers[i].turn != turn || uint32(s.offers[i].piece.of.pe) != h.From {
		e.unasked(h)
		return
	}
	p := s.offers[i].piece
	s.offers[i].piece = piece{}
	if d := p.of; h.Operand != 0 && d.kind == wayPut {
		e.lose(e.slots[d.token].lane, readError(h))
	}
	s.giveBack(&p)
	p.of.open--
	e.departed(p.of)
}

// takenHost ends a put of main memory.
func (e *Engine) takenHost(h *layout.Header, t fabric.Token) {
	if t >= tokens || e.question(t) != h.Token || e.slots[t].use != useOffer || uint32(e.slots[t].pe) != h.From {
		e.unasked(h)
		return
	}
	s := &e.slots[t]
	if s.registered {
		e.dropRegion(s, false)
	}
	switch {
	case s.request != nil:
		if h.Operand != 0 {
			e.err = readError(h)
		}
		e.finish(s.request, int32(h.Operand), 0)
	case h.Operand != 0:
		e.lose(s.lane, readError(h))
	}
	e.pending[s.lane]--
	e.give(t)
}

func readError(h *layout.Header) error {
	return fmt.Errorf("PE %d: read what was put: error %d", h.From, int32(h.Operand))
}
