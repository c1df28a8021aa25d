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

// Own is own for a header by value, as other packages have it.
func (x *sender) Own(pe fabric.PE, epoch uint64, l quiet.Parity, h layout.Header) {
	x.own(pe, epoch, l, &h)
}

// own sends a message that has no caller to try again, or parks it. Its turn has come: it is an
// answer, or a signal whose bytes are on their way.
func (x *sender) own(pe fabric.PE, epoch uint64, l quiet.Parity, h *layout.Header) {
	if x.Net.IsLost(pe) {
		return
	}
	p := &x.Peers[pe]
	if p.Parked == 0 {
		switch x.sendCopy(pe, h) {
		case Done:
			if l != quiet.NoParity {
				p.Ask(1, epoch)
				x.Quiets.Account(pe, l)
			}
			return
		case Failed:
			x.engine.unreachable(pe, fmt.Errorf("PE %d: send: %w", pe, x.Net.Err))
			return
		}
	}
	x.parked = append(x.parked, parked{pe, l, epoch, *h})
	x.Quiets.Pending[l]++
	x.engine.stick()
	p.Parked++
	x.Recorder.Note(pe, layout.EventParked, uint32(h.Kind), 0)
	p.Count[layout.Parked]++
}

// sendCopy sends a message without payload that was made elsewhere.
func (x *sender) sendCopy(pe fabric.PE, h *layout.Header) Status {
	p := &x.Peers[pe]
	if !x.routed(p, pe) {
		return x.Net.Fail(x.Net.NoRoute(pe))
	}
	to := x.draft(p, pe, 0)
	if to == nil {
		return Again
	}
	*to = *h
	return x.send(to, nil, 0, false)
}

// sendBytes sends one of the engine's own messages with a payload. After Again its caller tries
// again.
func (x *sender) sendBytes(pe fabric.PE, epoch uint64, l quiet.Parity, h *layout.Header, payload unsafe.Pointer, n int) Status {
	p := &x.Peers[pe]
	if x.Parked(p) {
		return Again
	}
	to := x.draft(p, pe, n)
	if to == nil {
		return Again
	}
	*to = *h
	st := x.send(to, payload, n, false)
	if st == Done && l != quiet.NoParity {
		p.Ask(x.Cost(layout.HeaderSize+n), epoch)
		x.Quiets.Account(pe, l)
	}
	return st
}

// draft puts the next message to pe, of n bytes of payload, into x.sending. It returns where to
// fill the header; nil: there is no room. Only send may follow.
func (x *sender) draft(p *layout.Peer, pe fabric.PE, n int) *layout.Header {
	op := &x.sending
	op.To, op.Len, op.Fence = pe, layout.HeaderSize+n, x.fenced(p)
	if op.Inject = op.Len <= x.Net.Caps.MaxInject && !op.Fence; !op.Inject {
		return x.draftBuffer(p)
	}
	op.Buf = x.Net.Scratch
	return (*layout.Header)(x.Net.Scratch)
}

// draftBuffer drafts a message that is too large to be injected.
func (x *sender) draftBuffer(p *layout.Peer) *layout.Header {
	op := &x.sending
	t, s := x.Take(ops.UseSend, p, op.To)
	if s == nil {
		return nil
	}
	op.Token, op.Buf = t, x.Net.SendBuffer(t, op.Len)
	return (*layout.Header)(op.Buf)
}

// send gives the draft to the provider, with its payload. If the message asks the PE for something,
// it counts in the present epoch and for the next quiet.
func (x *sender) send(h *layout.Header, payload unsafe.Pointer, n int, asks bool) Status {
	if x.drafted != 0 {
		return x.keep(h, payload, n)
	}
	op := &x.sending
	p := &x.Peers[op.To]
	if n > 0 {
		mem.Copy(unsafe.Add(unsafe.Pointer(h), layout.HeaderSize), payload, n)
	}
	switch err := x.stampAndSend(op, p); {
	case err == nil:
	case !op.Inject:
		x.Give(op.Token)
		fallthrough
	default:
		return x.Refused(op.To, p, err)
	}
	if asks {
		p.Ask(x.Cost(op.Len), x.Epoch)
		x.Quiets.Touch(p, op.To)
	}
	return Done
}

// stampAndSend completes the header of a message and gives it to the provider.
func (x *sender) stampAndSend(op *fabric.Send, p *layout.Peer) error {
	h := (*layout.Header)(op.Buf)
	if p.WriteEpoch != x.Epoch {
		p.Out.Follow()
	}
	h.Job, h.From, h.Seq, h.Need, h.Ack = x.Job, x.Me, p.Sent+1, p.Out.Need(), p.Edge
	if h.Kind == layout.KindFlush {
		h.Need = p.Out.All()
	}
	if err := x.Net.Provider.Send(op); err != nil {
		return err
	}
	p.Sent++
	x.Recorder.NoteMessage(op.To, layout.EventSent, h.Kind, op.Len, p.Sent)
	p.CountMessage(h.Kind, op.Len)
	return nil
}

// unpark sends parked messages, in order for each PE.
func (x *sender) unpark() {
	if len(x.parked) == 0 {
		return
	}
	work := x.parked
	x.parked, x.spare = x.spare[:0], work
	for i := range work {
		x.Peers[work[i].pe].Parked = 0
	}
	for i := range work {
		m := &work[i]
		x.Quiets.Pending[m.lane]--
		x.own(m.pe, m.epoch, m.lane, &m.h)
	}
}

// seen sends a message without payload and does not inject it: an injected message has no
// completion, and so reports no error.
func (x *sender) seen(pe fabric.PE, p *layout.Peer, k layout.Kind) Status {
	if x.Parked(p) {
		return Again
	}
	op := &x.sending
	op.To, op.Len, op.Inject, op.Fence = pe, layout.HeaderSize, false, false
	h := x.draftBuffer(p)
	if h == nil {
		return Again
	}
	*h = layout.Header{Kind: k}
	st := x.send(h, nil, 0, false)
	if st == Failed {
		x.engine.unreachable(pe, fmt.Errorf("PE %d: send: %w", pe, x.Net.Err))
	}
	return st
}

// Flush asks pe to answer when it has applied all messages sent so far. On a fabric that orders
// messages behind writes, the answer also covers writes whose completions say only that the source
// may be reused.
func (x *sender) Flush(pe fabric.PE) Status {
	p := &x.Peers[pe]
	if p.Flushing {
		return Pending
	}
	p.FlushTurn++
	if st := x.sendCopy(pe, &layout.Header{Kind: layout.KindFlush, Token: p.Question()}); st != Done {
		p.FlushTurn--
		return st
	}
	p.FlushAsked, p.FlushWrote = p.Asked, p.Wrote
	p.Flushing = true
	return Pending
}

// flushed takes the answer to a flush; false: it was not asked for.
func (x *sender) flushed(h *layout.Header) bool {
	p := &x.Peers[h.From]
	if !p.Flushing || h.Token != p.Question() {
		return false
	}
	p.Count[layout.MostUnanswered] = max(p.Count[layout.MostUnanswered], p.Asked-p.Acked)
	p.Acked, p.WroteAcked = p.FlushAsked, p.FlushWrote
	p.Flushing = false
	x.Recorder.Note(fabric.PE(h.From), layout.EventAcked, uint32(min(p.Asked-p.Acked, 1<<24-1)), uint32(p.Acked))
	x.Quiets.Answered(p, fabric.PE(h.From))
	return true
}
