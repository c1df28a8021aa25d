package gpustage

import (
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// departure is an operation whose bytes have to be copied out of GPU memory before they can be
// sent: a put, or the get of another PE. On mapped heaps it is a copy through main memory.
type departure struct {
	id       uint32 // its place in Stage.departures, by which chores name it
	kind     departureKind
	pe       fabric.PE
	epoch    uint64
	token    fabric.Token // of a put
	question uint32       // of a get
	local    unsafe.Pointer
	offset   int64 // in the heap of pe; 0 for a get
	n        uint64
	begun    uint64
	uncopied int // pieces that are in a stream
	unsent   int // pieces that are begun and not sent
	open     int // pieces that are begun and not finished
	sent     bool
	then     bool
	after    layout.Header
}

// departureKind is the kind of a departure.
type departureKind uint8

const (
	departPut   departureKind = iota + 1 // GPU memory to the heap of pe, by request or message
	departServe                          // GPU memory to a get of pe
	departTo                             // main memory to the mapped heap of pe
	departFrom                           // the mapped heap of pe to main memory
)

// piece is a part of a departure that is in a chunk or slot.
type piece struct {
	of    *departure
	at    uint64
	n     uint64
	index uint16
}

// requestToSend is the use of a leaving chunk while another PE may read it.
type requestToSend struct {
	piece piece
	turn  uint16
}

// operation is a caller's put or get under way, by token.
type operation struct {
	use    use
	pe     fabric.PE
	epoch  uint64
	local  unsafe.Pointer
	offset int64
	n      uint64
	then   bool
	after  layout.Header
}

// use is the meaning of a token here.
type use uint8

const (
	usePut           use = iota + 1 // from GPU memory, or a copy to or from a mapped heap
	useRequestToSend                // a put that the target reads
)

// MustFollow reports whether an operation of an epoch on pe has to wait for bytes from before a
// fence that have not been sent.
func (s *Stage) MustFollow(pe fabric.PE, epoch uint64) bool {
	l := &s.lines[pe]
	before := l.copies
	if l.copyEpoch == epoch {
		before = l.copyBefore
	}
	return l.departs > 0 && l.departEpoch != epoch || l.copied < before
}

// Put is Put, or PutSignal with the signal in after, if a side is GPU memory. Not ok: the engine
// does it.
func (s *Stage) Put(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, r *call.Request, after *layout.Header) (st call.Status, ok bool) {
	if err := s.refuseSignal(pe, after); err != nil {
		return s.engine.Fail(err), true
	}
	l := &s.lines[pe]
	if err := s.engine.Lost(pe); err != nil {
		return s.engine.Fail(err), true
	}
	gpu := n > 0 && s.Holds(source, n)
	far := l.device && offset >= 0
	if far && l.mapped != nil {
		return s.copyPut(pe, offset, source, n, gpu, r, after), true
	}
	if !gpu && (!far || n <= layout.MaxPayload) {
		return 0, false
	}
	if s.writes && s.reaches(pe, offset, far, source, n, gpu) {
		return s.engine.Write(pe, offset, source, n, r, after), true
	}
	if st := s.engine.Ready(pe, n); st != call.Done {
		return st, true
	}
	turn := s.engine.MaySend(pe)
	if turn != call.Done && turn != call.Pending {
		return turn, true
	}
	t, ok := s.engine.BeginPut(pe, r, n)
	if !ok {
		return call.Again, true
	}
	o := &s.ops[t]
	o.pe, o.epoch, o.local, o.offset, o.n = pe, s.state.Epoch, source, offset, n
	if o.then = after != nil; o.then {
		o.after = *after
	}
	if turn == call.Pending {
		s.engine.Enqueue(t)
		return call.Pending, true
	}
	if st := s.Leave(t); st != call.Done {
		s.end(t)
		return st, true
	}
	s.engine.Await(t)
	s.engine.Touch(pe)
	return call.Pending, true
}

// end ends the use of a token.
func (s *Stage) end(t fabric.Token) {
	s.ops[t].use = 0
	s.engine.End(t)
}

// Leave begins a put: it copies the bytes out, or sends a request for them where they are.
func (s *Stage) Leave(t fabric.Token) call.Status {
	o := &s.ops[t]
	if !s.Holds(o.local, o.n) {
		if st := s.requestToSendHost(t, o); st != call.Done {
			return st
		}
		if o.use = useRequestToSend; o.then {
			s.engine.OwnFor(t, o.after)
		}
		return call.Done
	}
	o.use = usePut
	d, l := s.depart(departPut, o.pe, o.local, o.n), &s.lines[o.pe]
	d.epoch, d.token, d.offset = o.epoch, t, o.offset
	if o.then {
		d.then, d.after = true, o.after
	}
	l.departs++
	l.departEpoch = o.epoch
	s.peers[o.pe].Staged = true
	s.streams.Busy()
	return call.Done
}

// requestToSendHost sends a request to send for main memory. Its token is that of the put.
func (s *Stage) requestToSendHost(t fabric.Token, o *operation) call.Status {
	region, source := s.heap, o.local
	if !s.segment.Contains(source, o.n) {
		var err error
		if source, region, err = s.engine.RegisterLocal(t, source, o.n, false); err != nil {
			return s.engine.Fail(err)
		}
	}
	h := layout.Header{Kind: layout.KindRequestToSend, Token: s.engine.Question(t), Offset: o.offset, Operand: s.heaps.Remote(&region, source), Extra: region.Key}
	st := s.sendRequestToSend(t, o.pe, &h, layout.RequestToSend{N: o.n, Fence: uint32(o.epoch)})
	if st != call.Done {
		s.engine.Deregister(t, false)
	}
	return st
}

func (s *Stage) sendRequestToSend(t fabric.Token, pe fabric.PE, h *layout.Header, o layout.RequestToSend) call.Status {
	s.offering = o
	return s.engine.Send(t, pe, *h, unsafe.Pointer(&s.offering), layout.RequestToSendSize)
}

func (s *Stage) depart(w departureKind, pe fabric.PE, local unsafe.Pointer, n uint64) *departure {
	d := s.newDeparture(w, pe, local, n)
	s.departs.Push(d)
	return d
}

func (s *Stage) newDeparture(w departureKind, pe fabric.PE, local unsafe.Pointer, n uint64) *departure {
	var d *departure
	if last := len(s.spareDepartures) - 1; last >= 0 {
		d, s.spareDepartures = s.spareDepartures[last], s.spareDepartures[:last]
	} else {
		d = &departure{id: uint32(len(s.departures))}
		s.departures = append(s.departures, d)
	}
	*d = departure{id: d.id, kind: w, pe: pe, local: local, n: n}
	return d
}

// takeFetch begins to copy out the bytes that a PE gets.
func (s *Stage) takeFetch(h *layout.Header) {
	if s.segment.Heap == nil || h.Offset < 0 {
		s.engine.Malformed(h)
		return
	}
	if at := s.engine.Target(h, h.Offset, h.Operand); at != nil {
		d := s.depart(departServe, fabric.PE(h.From), at, h.Operand)
		d.question = h.Token
		s.streams.Busy()
	}
}

// startDepartures gives streams copies to do while there are chunks. Bytes for one PE keep their
// order.
func (s *Stage) startDepartures() {
	s.pass++
	for range s.departs.Len() {
		d := s.departs.Pop()
		if l := &s.lines[d.pe]; l.blocked == s.pass || !s.startDeparture(l, d) {
			l.blocked = s.pass
			s.departs.Push(d)
		}
	}
}

// startDeparture begins as much as it can; true: all.
func (s *Stage) startDeparture(l *stagedPeer, d *departure) bool {
	on := StreamOut
	if d.kind >= departTo {
		on = StreamPeer
	}
	for d.begun < d.n {
		if s.streams.Full(on) {
			return false
		}
		p := piece{of: d, at: d.begun, n: min(d.n-d.begun, s.leaving.Size())}
		var ok bool
		if p.small() {
			p.index, ok = s.going.TakeFor(uint32(d.pe))
		} else {
			p.index, ok = s.leaving.TakeFor(uint32(d.pe))
		}
		if !ok {
			return false
		}
		to, from := s.place(&p), unsafe.Add(d.local, p.at)
		s.streams.Runs(d.kind.driverCall(), d.pe)
		switch d.kind {
		case departTo:
			mem.Copy(to, from, int(p.n))
			to, from = unsafe.Add(l.mapped, d.offset+int64(p.at)), to
		case departFrom:
			from = unsafe.Add(l.mapped, d.offset+int64(p.at))
		}
		s.streams.Copy(on, to, from, p.n)
		d.begun += p.n
		d.uncopied++
		d.unsent++
		d.open++
		s.streams.Later(on, stream.Chore{For: s, What: taskLeft, Index: p.index, Value: p.at, N: p.n, Token: d.id})
	}
	if d.kind >= departTo {
		s.endCopies(l, d)
	}
	return true
}

// left handles a piece that has arrived in main memory, or on a mapped heap.
func (s *Stage) left(c *stream.Chore) {
	d := s.departures[c.Token]
	p := piece{d, c.Value, c.N, c.Index}
	d.uncopied--
	switch d.kind {
	case departFrom:
		mem.Copy(unsafe.Add(d.local, p.at), s.place(&p), int(p.n))
		s.giveBack(&p)
	case departTo:
		s.giveBack(&p)
	default:
		if s.engine.Lost(d.pe) != nil {
			d.n = d.begun
			s.dropPiece(&p)
			return
		}
		s.ready.Push(p)
		if d.kind == departPut && d.begun == d.n && d.uncopied == 0 {
			s.engine.Finish(d.token)
		}
	}
}

func (p *piece) small() bool { return p.n <= layout.MaxPayload }

// place returns the memory of a piece.
func (s *Stage) place(p *piece) unsafe.Pointer {
	if p.small() {
		return s.going.At(p.index)
	}
	return s.leaving.At(p.index)
}

func (s *Stage) giveBack(p *piece) {
	if pe := uint32(p.of.pe); p.small() {
		s.going.GiveFor(pe, p.index)
	} else {
		s.leaving.GiveFor(pe, p.index)
	}
}

// sendReady sends the pieces in main memory, or requests to send for them, in order for each PE.
func (s *Stage) sendReady() {
	s.pass++
	for range s.ready.Len() {
		p := s.ready.Pop()
		if l := &s.lines[p.of.pe]; l.blocked == s.pass || !s.sendPiece(&p) {
			l.blocked = s.pass
			s.waits = true
			s.ready.Push(p)
		}
	}
}

// sendPiece sends a piece in a message if it fits one, else a request to send. False: no room.
func (s *Stage) sendPiece(p *piece) bool {
	d := p.of
	if s.engine.Lost(d.pe) != nil {
		d.n = d.begun
		s.dropPiece(p)
		return true
	}
	at := s.place(p)
	var st call.Status
	switch {
	case !p.small():
		o := &s.offers[p.index]
		h := layout.Header{
			Kind: layout.KindRequestToSend, Token: uint32(o.turn+1)<<16 | layout.ChunkToken | uint32(p.index),
			Offset: d.offset + int64(p.at), Operand: s.heaps.Remote(&s.pinned, at), Extra: s.pinned.Key,
		}
		if st = s.sendRequestToSend(d.token, d.pe, &h, layout.RequestToSend{N: p.n, Fence: uint32(d.epoch), Get: d.question}); st == call.Done {
			o.turn++
			o.piece = *p
		}
	case d.kind == departServe:
		st = s.engine.Send(d.token, d.pe, layout.Header{Kind: layout.KindData, Token: d.question, Offset: int64(p.at)}, at, int(p.n))
	case d.then && d.begun == d.n && d.unsent == 1: // the last piece carries the signal
		h := d.after
		h.Kind, h.Offset, h.Extra = layout.KindPutSignal, d.offset+int64(p.at), uint64(d.after.Offset)
		if st = s.engine.Send(d.token, d.pe, h, at, int(p.n)); st == call.Done {
			d.then = false
		}
	case p.n <= 8 && p.n&(p.n-1) == 0:
		h := layout.Header{Kind: layout.KindStore, Width: uint8(p.n), Offset: d.offset + int64(p.at), Operand: mem.Load(at, int(p.n))}
		st = s.engine.Send(d.token, d.pe, h, nil, 0)
	default:
		st = s.engine.Send(d.token, d.pe, layout.Header{Kind: layout.KindPut, Offset: d.offset + int64(p.at)}, at, int(p.n))
	}
	switch st {
	case call.Again:
		return false
	case call.Failed:
		s.engine.SendFailed(d.pe)
		return false
	}
	d.unsent--
	if p.small() {
		s.giveBack(p)
		d.open--
	}
	s.departed(d)
	return true
}

// departed ends a departure when all of it has been sent and taken.
func (s *Stage) departed(d *departure) {
	if d.begun < d.n || d.unsent > 0 {
		return
	}
	if !d.sent && d.kind == departPut {
		l := &s.lines[d.pe]
		if d.then {
			s.engine.OwnFor(d.token, d.after)
		}
		if l.departs--; l.departs == 0 && l.mapped == nil {
			s.peers[d.pe].Staged = false
		}
		s.engine.Moved(d.pe)
	}
	if d.sent = true; d.open > 0 {
		return
	}
	if d.kind == departPut {
		s.conclude(d.token)
	}
	s.spareDepartures = append(s.spareDepartures, d)
}

// finished frees what a request to send named, when the other side has read it.
func (s *Stage) finished(h *layout.Header) {
	turn, t := uint16(h.Token>>16), h.Token&0xffff
	if t&layout.ChunkToken == 0 {
		s.finishedHost(h, fabric.Token(t))
		return
	}
	i := int(t &^ layout.ChunkToken)
	if i >= len(s.offers) || s.offers[i].piece.of == nil || s.offers[i].turn != turn || uint32(s.offers[i].piece.of.pe) != h.From {
		s.engine.Unasked(h)
		return
	}
	p := s.offers[i].piece
	s.offers[i].piece = piece{}
	if d := p.of; h.Operand != 0 && d.kind == departPut {
		s.engine.Spoil(d.token, readError(h))
	}
	s.giveBack(&p)
	p.of.open--
	s.departed(p.of)
}

// finishedHost ends a put from main memory.
func (s *Stage) finishedHost(h *layout.Header, t fabric.Token) {
	if t >= layout.Tokens || s.engine.Question(t) != h.Token || s.ops[t].use != useRequestToSend || uint32(s.ops[t].pe) != h.From {
		s.engine.Unasked(h)
		return
	}
	s.engine.Deregister(t, false)
	var err error
	if h.Operand != 0 {
		err = readError(h)
	}
	s.engine.Conclude(t, int32(h.Operand), err)
	s.end(t)
}

func readError(h *layout.Header) error {
	return fmt.Errorf("PE %d: read the bytes of a put: error %d", h.From, int32(h.Operand))
}
