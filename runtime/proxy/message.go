package proxy

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// sendOwn sends or parks a message whose header is passed by value: a header that goes through an
// interface by its address would be allocated on the Go heap.
func (x *sender) sendOwn(pe libshmem.PE, epoch uint64, parity parity, h layout.Header) {
	x.sendOrPark(pe, epoch, parity, &h)
}

// sendOrPark sends a message for which no caller can try again. If the provider's queue is full, it
// parks the message and sends it later. The message need not wait for queued operations: it is a
// reply, a signal whose bytes are on their way, a message about numbers of writes, or one of the GPU
// stage. Quiets of the generation with this parity wait for it. A message for a lost PE is dropped.
func (x *sender) sendOrPark(pe libshmem.PE, epoch uint64, parity parity, h *layout.Header) {
	if x.Net.IsLost(pe) {
		return
	}
	p := &x.Peers[pe]
	if p.Parked == 0 {
		switch x.sendCopy(pe, h) {
		case call.Done:
			if parity != noParity {
				p.Charge(1, epoch) // a message without payload takes one unit
				x.Quiets.AwaitAcknowledgement(pe, parity)
			}
			return
		case call.Failed:
			x.engine.handleUnreachable(pe, fmt.Errorf("PE %d: send: %w", pe, x.Net.Err))
			return
		}
	}
	x.Unsent = append(x.Unsent, unsent{pe, parity, epoch, *h})
	x.Quiets.Pending[parity]++
	x.engine.noteStuck()
	p.Park()
	x.Recorder.Note(pe, layout.EventParked, uint32(h.Kind), 0)
	p.Count[layout.Parked]++
}

// sendCopy sends a message without payload whose header is a copy of h. It returns Again if it
// cannot be sent now, and stores nothing.
func (x *sender) sendCopy(pe libshmem.PE, h *layout.Header) call.Status {
	p := &x.Peers[pe]
	if !x.Reaches(p, pe) {
		return x.Net.Fail(x.Net.Unreachable(pe))
	}
	to := x.draft(p, pe, 0)
	if to == nil {
		return call.Again
	}
	*to = *h
	return x.Send(to, nil, 0, false)
}

// SendBytes sends one of the engine's own messages with n bytes of payload. It returns Again if the
// message cannot be posted, and the caller tries again. Quiets of the generation with this parity
// wait for the message.
func (x *sender) SendBytes(pe libshmem.PE, epoch uint64, parity parity, h *layout.Header, payload unsafe.Pointer, n int) call.Status {
	p := &x.Peers[pe]
	if !x.TryUnpark(p) {
		return call.Again
	}
	to := x.draft(p, pe, n)
	if to == nil {
		return call.Again
	}
	*to = *h
	st := x.Send(to, payload, n, false)
	if st == call.Done && parity != noParity {
		p.Charge(x.Cost(layout.HeaderSize+n), epoch)
		x.Quiets.AwaitAcknowledgement(pe, parity)
	}
	return st
}

// draft prepares x.sending for the next message to pe, with n bytes of payload. It returns where to
// fill the header, or nil if no token is free. The caller then calls Send.
func (x *sender) draft(p *layout.Peer, pe libshmem.PE, n int) *layout.Header {
	op := &x.sending
	op.To, op.Len, op.Fence = pe, layout.HeaderSize+n, x.needsFence(p)
	if op.Inject = op.Len <= x.Net.Caps.MaxInject && !op.Fence; !op.Inject {
		return x.draftBuffer(p)
	}
	op.Buf = x.Net.Scratch
	return (*layout.Header)(x.Net.Scratch)
}

// draftBuffer drafts a message in the registered buffer of a token: it is too large to be injected,
// or must have a completion. It returns nil if no token is free.
func (x *sender) draftBuffer(p *layout.Peer) *layout.Header {
	op := &x.sending
	t, s := x.AllocateToken(useSend, p, op.To)
	if s == nil {
		return nil
	}
	op.Token, op.Buf = t, x.Net.SendBuffer(t, op.Len)
	return (*layout.Header)(op.Buf)
}

// Send passes the message that draft prepared, with its payload, to the provider, or queues it if
// beginLater prepared it (Drafted). counts says that the message is an operation of a caller: it
// uses credit, and belongs to the present epoch and the next quiet.
func (x *sender) Send(h *layout.Header, payload unsafe.Pointer, n int, counts bool) call.Status {
	if x.Drafted != 0 {
		return x.enqueueDraft(h, payload, n)
	}
	op := &x.sending
	p := &x.Peers[op.To]
	if n > 0 {
		mem.Copy(unsafe.Add(unsafe.Pointer(h), layout.HeaderSize), payload, n)
	}
	switch err := x.stampAndSend(op, p); {
	case err == nil:
	case !op.Inject: // only a message that is not injected has a token
		x.ReleaseToken(op.Token)
		fallthrough
	default:
		return x.StatusOfRefusal(op.To, p, err)
	}
	if counts {
		p.Charge(x.Cost(op.Len), x.Epoch)
		x.Quiets.MarkDirty(p, op.To)
	}
	return call.Done
}

// stampAndSend completes the header of a message and passes the message to the provider: the
// sender, the sequence number, the numbered writes that the target has to have first (Need), the
// messages of the target that were received (Ack), and the seal. A message of a later epoch than
// the last write, and a flush, need all earlier writes. Only a message that the provider accepts
// uses up the number.
func (x *sender) stampAndSend(op *fabric.Send, p *layout.Peer) error {
	h := (*layout.Header)(op.Buf)
	if p.WriteEpoch != x.Epoch {
		p.Out.Follow()
	}
	h.From, h.Seq, h.Need, h.Ack = x.Me, p.Sent+1, p.Out.Need(), p.Edge
	if h.Kind == layout.KindFlush {
		h.Need = p.Out.All()
	}
	h.Job = x.TokenOf(h, op.To, op.Len)
	if err := x.Net.Provider.Send(op); err != nil {
		return err
	}
	p.SendMessage(h.Kind, op.Len)
	x.Recorder.NoteMessage(op.To, layout.EventSent, h.Kind, op.Len, p.Sent)
	return nil
}

// unpark sends parked messages, in order for each PE, until the provider's queue is full. A message
// that still cannot be sent is parked again, and so are the later ones to its PE.
func (x *sender) unpark() {
	if len(x.Unsent) == 0 {
		return
	}
	work := x.Unsent
	x.Unsent, x.spare = x.spare[:0], work // sendOrPark appends to Unsent while work is read
	for i := range work {
		x.Peers[work[i].pe].Unpark()
	}
	for i := range work {
		m := &work[i]
		x.Quiets.Pending[m.parity]--
		x.sendOrPark(m.pe, m.epoch, m.parity, &m.h)
	}
}

// SendWatched sends a message of kind k without payload, to find out whether a PE can still be
// reached. It does not inject it: an injected message has no completion, and so reports no error.
func (x *sender) SendWatched(pe libshmem.PE, p *layout.Peer, k layout.Kind) call.Status {
	if !x.TryUnpark(p) {
		return call.Again
	}
	op := &x.sending
	op.To, op.Len, op.Inject, op.Fence = pe, layout.HeaderSize, false, false
	h := x.draftBuffer(p)
	if h == nil {
		return call.Again
	}
	*h = layout.Header{Kind: k}
	st := x.Send(h, nil, 0, false)
	if st == call.Failed {
		x.engine.handleUnreachable(pe, fmt.Errorf("PE %d: send: %w", pe, x.Net.Err))
	}
	return st
}

// Flush requests a reply from a PE when it has applied all messages sent so far. On a fabric that
// orders messages after writes, the reply also covers writes whose completion only means that the
// source may be reused.
func (x *sender) Flush(pe libshmem.PE) call.Status { return x.sendFlush(pe, 0) }

// Leave sends a flush that says that this PE's program ends. No other flush to the PE may be under
// way.
func (x *sender) Leave(pe libshmem.PE) call.Status { return x.sendFlush(pe, 1) }

// sendFlush sends a flush if none is under way to the PE, and returns Pending: the reply ends the
// flush (HandleFlushReply), and a call after that sends the next. leaves is 1 if this PE's program
// ends.
func (x *sender) sendFlush(pe libshmem.PE, leaves uint64) call.Status {
	p := &x.Peers[pe]
	if p.Flushing {
		return call.Pending
	}
	if st := x.sendCopy(pe, &layout.Header{Kind: layout.KindFlush, Token: p.NextFlushID(), Operand: leaves}); st != call.Done {
		return st
	}
	p.BeginFlush()
	return call.Pending
}

// HandleFlushReply handles the reply to a flush. It returns false if no flush was under way or the
// reply is to another one. The event of the flight recorder has 24 bits for the units that are still
// unacknowledged.
func (x *sender) HandleFlushReply(h *layout.Header) bool {
	p := &x.Peers[h.From]
	if !p.Flushing || h.Token != p.FlushID() {
		return false
	}
	p.EndFlush()
	x.Recorder.Note(libshmem.PE(h.From), layout.EventAcked, uint32(min(p.Charged-p.Acked, 1<<24-1)), uint32(p.Acked))
	x.Quiets.HandleReply(p, libshmem.PE(h.From))
	return true
}
