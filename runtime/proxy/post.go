package proxy

import (
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/ops"
	"libshmem/runtime/proxy/quiet"
)

// parked is one of the engine's own messages that found no room. Callers' messages are never
// parked: they get Again.
type parked struct {
	pe    fabric.PE
	lane  quiet.Parity
	epoch uint64 // of the message
	h     layout.Header
}

// PutMax returns the most bytes that Put and PutSignal take at once.
func (e *Engine) PutMax() uint64 { return e.first.rma.PutMax() }

// Put copies n bytes to an offset in the heap of pe. Done: the source may be reused. Pending with a
// request: it may be reused when the request is done. Pending without a request: after a quiet.
func (e *Engine) Put(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, r *Request) Status {
	if n == 0 {
		return Done
	}
	if e.gpu != nil {
		if st, ok := e.gpu.Put(pe, offset, source, n, r, nil); ok {
			return st
		}
	}
	if n <= maxPayload {
		return e.PutBytes(pe, offset, source, n)
	}
	return e.rma.Write(pe, offset, source, n, r, nil)
}

// PutBytes is Put for no more bytes than a message holds, from main memory that may be reused when
// it returns.
func (e *Engine) PutBytes(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64) Status {
	if n <= 8 && n&(n-1) == 0 {
		return e.Store(pe, offset, uint8(n), mem.Load(source, int(n)))
	}
	if e.gpu != nil {
		if st, ok := e.gpu.PutBytes(pe, offset, source, n, nil); ok {
			return st
		}
	}
	h, st := e.begin(pe, int(n))
	if h != nil {
		h.Set(layout.KindPut, 0, 0, offset, 0, 0)
		st = e.send(h, source, int(n), true)
	}
	return st
}

// PutSignal is Put followed by an update of a signal, which is visible at the
// target only after the bytes.
func (e *Engine) PutSignal(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64,
	signalOffset int64, signal uint64, op Op, r *Request,
) Status {
	if e.gpu != nil {
		e.after = layout.Header{Kind: layout.KindAMO, Op: op, Width: 8, Offset: signalOffset, Operand: signal}
		if st, ok := e.gpu.Put(pe, offset, source, n, r, &e.after); ok {
			return st
		}
	}
	if n <= maxPayload {
		return e.sendSignal(pe, offset, source, n, signalOffset, signal, op)
	}
	h := layout.Header{Kind: layout.KindAMO, Op: op, Width: 8, Offset: signalOffset, Operand: signal}
	return e.rma.Write(pe, offset, source, n, r, &h)
}

// sendSignal sends bytes and their signal as one message.
func (e *Engine) sendSignal(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, signalOffset int64, signal uint64, op Op) Status {
	h, st := e.begin(pe, int(n))
	if h != nil {
		h.Set(layout.KindPutSignal, op, 8, offset, signal, uint64(signalOffset))
		st = e.send(h, source, int(n), true)
	}
	return st
}

// PutBytesSignal is to PutSignal what PutBytes is to Put.
func (e *Engine) PutBytesSignal(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, signalOffset int64, signal uint64, op Op) Status {
	if e.gpu != nil {
		e.after = layout.Header{Kind: layout.KindAMO, Op: op, Width: 8, Offset: signalOffset, Operand: signal}
		if st, ok := e.gpu.PutBytes(pe, offset, source, n, &e.after); ok {
			return st
		}
	}
	return e.sendSignal(pe, offset, source, n, signalOffset, signal, op)
}

// Get copies n bytes from an offset in the heap of pe.
func (e *Engine) Get(pe fabric.PE, offset int64, dest unsafe.Pointer, n uint64, r *Request) Status {
	if n == 0 {
		return Done
	}
	if e.gpu != nil {
		if st, ok := e.gpu.Get(pe, offset, dest, n, r); ok {
			return st
		}
	}
	return e.rma.Read(pe, offset, dest, n, r)
}

// AMO applies op at an offset in the heap of pe. A fetching op with a request leaves the old value
// there; without one, it stores the value at fetch before quiet returns.
func (e *Engine) AMO(pe fabric.PE, offset int64, op Op, width uint8, operand, compare uint64,
	fetch unsafe.Pointer, r *Request,
) Status {
	if e.gpu != nil {
		e.after = layout.Header{Op: op, Width: width, Offset: offset, Operand: operand, Extra: compare}
		if st, ok := e.gpu.AMO(pe, &e.after); ok {
			return st
		}
	}
	if !op.Fetches() {
		h, st := e.begin(pe, 0)
		if h != nil {
			h.Set(layout.KindAMO, op, width, offset, operand, compare)
			st = e.send(h, nil, 0, true)
		}
		return st
	}
	p := &e.Peers[pe]
	if !e.routed(p, pe) {
		return e.Net.Fail(e.Net.NoRoute(pe))
	}
	if !e.Room(pe, p, 0) {
		return Again
	}
	t, s := e.Take(ops.UseReply, p, pe)
	if s == nil {
		return Again
	}
	s.Request, s.Fetch, s.Width = r, fetch, width
	h, st := e.start(pe, 0, false)
	if h != nil {
		h.Set(layout.KindAMO, op, width, offset, operand, compare)
		h.Fetch, h.Token = 1, e.Table.Question(t)
		st = e.send(h, nil, 0, true)
	}
	if st != Done {
		e.Give(t)
		return st
	}
	if r == nil {
		e.Quiets.Pending[s.Lane]++
	}
	return Pending
}

// Store stores an element of 1, 2, 4 or 8 bytes at an offset in the heap of pe.
func (e *Engine) Store(pe fabric.PE, offset int64, width uint8, value uint64) Status {
	if e.gpu != nil {
		if st, ok := e.gpu.Store(pe, offset, width, value); ok {
			return st
		}
	}
	h, st := e.begin(pe, 0)
	if h != nil {
		h.Set(layout.KindStore, 0, width, offset, value, 0)
		st = e.send(h, nil, 0, true)
	}
	return st
}

// begin gives a caller's operation a header to fill, for send. If the operation has to wait its
// turn, it returns no header, and a status. The header is filled where the provider reads it. If it
// were filled elsewhere and copied at once, its narrow stores would still be under way when the
// wide loads of the copy come, which takes 8 ns more.
func (e *Engine) begin(pe fabric.PE, n int) (*layout.Header, Status) { return e.start(pe, n, true) }

// start is begin; merges says that the operation may share its message with others.
func (e *Engine) start(pe fabric.PE, n int, merges bool) (*layout.Header, Status) {
	p := &e.Peers[pe]
	if !e.routed(p, pe) {
		return nil, e.Net.Fail(e.Net.NoRoute(pe))
	}
	if e.parkedAhead(p) {
		return nil, e.NoTurn(pe, p)
	}
	if p.Queued > 0 || e.Burst >= layout.BurstAfter || e.overtakes(pe, p, e.Epoch) {
		if h, st := e.beginLater(p, pe, n, merges); h != nil || st != Done {
			return h, st
		}
	}
	if layout.HeaderSize+n > e.Net.Caps.MaxInject && !e.Room(pe, p, 0) {
		return nil, Again
	}
	if st := e.admit(pe, p, layout.HeaderSize+n); st != Done {
		return nil, st
	}
	if h := e.draft(p, pe, n); h != nil {
		return h, Done
	}
	return nil, Again
}

// parkedAhead reports whether messages to p are parked: a caller's message would overtake them. It
// tries to send them first, because injected messages make room without a completion, and so
// without a call of Complete.
func (e *Engine) parkedAhead(p *layout.Peer) bool {
	if p.Parked > 0 {
		e.unpark()
	}
	return p.Parked > 0
}

// own sends a message that has no caller to try again, or parks it. Its turn has come: it is an
// answer, or a signal whose bytes are on their way.
func (e *Engine) own(pe fabric.PE, epoch uint64, l quiet.Parity, h *layout.Header) {
	if e.Net.IsLost(pe) {
		return
	}
	p := &e.Peers[pe]
	if p.Parked == 0 {
		switch e.sendCopy(pe, h) {
		case Done:
			if l != quiet.NoParity {
				p.Ask(1, epoch)
				e.Quiets.Account(pe, l)
			}
			return
		case Failed:
			e.unreachable(pe, fmt.Errorf("PE %d: send: %w", pe, e.Net.Err))
			return
		}
	}
	e.parked = append(e.parked, parked{pe, l, epoch, *h})
	e.Quiets.Pending[l]++
	e.stick()
	p.Parked++
	e.Recorder.Note(pe, layout.EventParked, uint32(h.Kind), 0)
	p.Count[layout.Parked]++
}

// sendCopy sends a message without payload that was made elsewhere.
func (e *Engine) sendCopy(pe fabric.PE, h *layout.Header) Status {
	p := &e.Peers[pe]
	if !e.routed(p, pe) {
		return e.Net.Fail(e.Net.NoRoute(pe))
	}
	to := e.draft(p, pe, 0)
	if to == nil {
		return Again
	}
	*to = *h
	return e.send(to, nil, 0, false)
}

// sendBytes sends one of the engine's own messages with a payload. After Again its caller tries
// again.
func (e *Engine) sendBytes(pe fabric.PE, epoch uint64, l quiet.Parity, h *layout.Header, payload unsafe.Pointer, n int) Status {
	p := &e.Peers[pe]
	if e.parkedAhead(p) {
		return Again
	}
	to := e.draft(p, pe, n)
	if to == nil {
		return Again
	}
	*to = *h
	st := e.send(to, payload, n, false)
	if st == Done && l != quiet.NoParity {
		p.Ask(e.Cost(layout.HeaderSize+n), epoch)
		e.Quiets.Account(pe, l)
	}
	return st
}

// draft puts the next message to pe, of n bytes of payload, into e.sending. It returns where to
// fill the header; nil: there is no room. Only send may follow.
func (e *Engine) draft(p *layout.Peer, pe fabric.PE, n int) *layout.Header {
	op := &e.sending
	op.To, op.Len, op.Fence = pe, layout.HeaderSize+n, e.fenced(p)
	if op.Inject = op.Len <= e.Net.Caps.MaxInject && !op.Fence; !op.Inject {
		return e.draftBuffer(p)
	}
	op.Buf = e.Net.Scratch
	return (*layout.Header)(e.Net.Scratch)
}

// draftBuffer drafts a message that is too large to be injected.
func (e *Engine) draftBuffer(p *layout.Peer) *layout.Header {
	op := &e.sending
	t, s := e.Take(ops.UseSend, p, op.To)
	if s == nil {
		return nil
	}
	op.Token, op.Buf = t, e.Net.SendBuffer(t, op.Len)
	return (*layout.Header)(op.Buf)
}

// send gives the draft to the provider, with its payload. If the message asks the PE for something,
// it counts in the present epoch and for the next quiet.
func (e *Engine) send(h *layout.Header, payload unsafe.Pointer, n int, asks bool) Status {
	if e.drafted != 0 {
		return e.keep(h, payload, n)
	}
	op := &e.sending
	p := &e.Peers[op.To]
	if n > 0 {
		mem.Copy(unsafe.Add(unsafe.Pointer(h), layout.HeaderSize), payload, n)
	}
	switch err := e.stampAndSend(op, p); {
	case err == nil:
	case !op.Inject:
		e.Give(op.Token)
		fallthrough
	default:
		return e.Refused(op.To, p, err)
	}
	if asks {
		p.Ask(e.Cost(op.Len), e.Epoch)
		e.Quiets.Touch(p, op.To)
	}
	return Done
}

// stampAndSend completes the header of a message and gives it to the provider.
func (e *Engine) stampAndSend(op *fabric.Send, p *layout.Peer) error {
	h := (*layout.Header)(op.Buf)
	if p.WriteEpoch != e.Epoch {
		p.Out.Follow()
	}
	h.Job, h.From, h.Seq, h.Need, h.Ack = e.Job, e.Me, p.Sent+1, p.Out.Need(), p.Edge
	if h.Kind == layout.KindFlush {
		h.Need = p.Out.All()
	}
	if err := e.Net.Provider.Send(op); err != nil {
		return err
	}
	p.Sent++
	e.Recorder.NoteMessage(op.To, layout.EventSent, h.Kind, op.Len, p.Sent)
	p.CountMessage(h.Kind, op.Len)
	return nil
}

// unpark sends parked messages, in order for each PE.
func (e *Engine) unpark() {
	if len(e.parked) == 0 {
		return
	}
	work := e.parked
	e.parked, e.spare = e.spare[:0], work
	for i := range work {
		e.Peers[work[i].pe].Parked = 0
	}
	for i := range work {
		m := &work[i]
		e.Quiets.Pending[m.lane]--
		e.own(m.pe, m.epoch, m.lane, &m.h)
	}
}
