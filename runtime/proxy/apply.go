package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// dispatch performs a message that is next in the sequence of its PE. The GPU stage may handle the
// message instead, if it concerns GPU memory or has to follow bytes that are still to be copied.
func (r *receiver) dispatch(h *layout.Header, payload unsafe.Pointer, n int) {
	if h.Kind == layout.KindFlush && h.Operand != 0 { // the PE's program ends (sender.Leave)
		p := &r.Peers[h.From]
		p.Leave()
		r.Quiets.LeavePE(p)
	}
	if h.Kind == layout.KindBatch {
		r.applyBatch(h, payload, n)
	} else if r.GPU == nil || !r.GPU.Apply(h, payload, n) {
		r.Apply(h, payload, n)
	}
}

// Apply performs a message now, on main memory. A message for memory that this PE does not have
// leaves the memory as it is.
func (r *receiver) Apply(h *layout.Header, payload unsafe.Pointer, n int) {
	switch h.Kind {
	case layout.KindAMO, layout.KindStore, layout.KindPut, layout.KindPutSignal:
		r.Change(h, payload, n)
	case layout.KindFlush:
		r.reply(h, 0)
	case layout.KindReply:
		r.handleReply(h)
	case layout.KindPing: // the sender only wants the provider's completion
	case layout.KindVoid: // handleVoid has handled it on arrival
	case layout.KindActivityRequest:
		r.replyActivity(libshmem.PE(h.From))
	case layout.KindActivityReply:
		r.reportActivity(h, payload, n)
	case layout.KindMember:
		if !r.Net.PassMessage(libshmem.PE(h.From), unsafe.Slice((*byte)(payload), n)) {
			r.FailMalformed(h)
		}
	case layout.KindSequence:
		r.grantSequence(h)
	case layout.KindSequenced:
		if !r.numbers.HandleGrant(&r.Peers[h.From], h.Operand) {
			r.FailMalformed(h)
		}
	default:
		r.FailMalformed(h)
	}
}

// Change performs a message that changes main memory: an atomic operation, the store of an element,
// or a put, with a signal or without. It returns false if the message is refused; then the Checker
// has reported the error, with Fatal or Misuse, and no memory has changed.
func (r *receiver) Change(h *layout.Header, payload unsafe.Pointer, n int) bool {
	switch h.Kind {
	case layout.KindAMO:
		at := r.Word(h, h.Offset, h.Width)
		if at == nil {
			return false
		}
		old := mem.Apply(h.Op, at, h.Width, h.Operand, h.Extra)
		if h.Fetch != 0 {
			r.reply(h, old)
		}
	case layout.KindStore:
		w := h.Width
		if w == 0 || w > 8 || w&(w-1) != 0 {
			r.FailMalformed(h)
			return false
		}
		at := r.Target(h, h.Offset, uint64(w))
		if at == nil {
			return false
		}
		mem.Store(at, w, h.Operand)
	case layout.KindPut:
		at := r.Target(h, h.Offset, uint64(n))
		if at == nil {
			return false
		}
		mem.Copy(at, payload, n)
	case layout.KindPutSignal:
		signal := r.Word(h, libshmem.Offset(h.Extra), 8)
		if signal == nil {
			return false
		}
		at := r.Target(h, h.Offset, uint64(n))
		if at == nil {
			return false
		}
		mem.Copy(at, payload, n)
		mem.Apply(h.Op, signal, 8, h.Operand, 0)
	}
	return true
}

// reply sends value as the reply to the request whose header is h. No quiet of this PE waits for a
// reply (noParity).
func (r *receiver) reply(h *layout.Header, value uint64) {
	r.out.sendOwn(libshmem.PE(h.From), r.Epoch, noParity, layout.Header{Kind: layout.KindReply, Token: h.Token, Operand: value})
}

// handleReply completes the flush or the fetching atomic operation that a reply belongs to. The
// reply repeats the token of the request: the lower 16 bits are the token of the operation record,
// and the upper ones distinguish a new use of the record from an old one. A reply that matches no
// request fails the job.
func (r *receiver) handleReply(h *layout.Header) {
	t := fabric.Token(h.Token & 0xffff)
	if t == layout.FlushToken {
		if !r.out.HandleFlushReply(h) {
			r.FailUnrequested(h)
		}
		return
	}
	if t >= layout.Tokens || r.Table.RequestID(t) != h.Token {
		r.FailUnrequested(h)
		return
	}
	s := &r.Table.Records[t]
	switch {
	case s.Use != useReply || uint32(s.PE) != h.From || uint32(s.Context) != r.Number:
		r.FailUnrequested(h)
		return
	case s.Request != nil:
		r.Complete(s.Request, int32(Done), h.Operand)
	default: // a non-blocking fetch, for which quiets wait
		if s.Width == 4 {
			*(*uint32)(s.Fetch) = uint32(h.Operand)
		} else {
			*(*uint64)(s.Fetch) = h.Operand
		}
		r.Quiets.Pending[s.Parity]--
	}
	r.ReleaseToken(t)
}

// applyBatch applies the operations of a batch, a message that several small operations share, up
// to the first one that is refused. An operation in a batch is a record, the beginning of a
// layout.Header, and then its bytes, whose number is in the record's Token if it is a put. A put
// then gets the batch's Token, which says its epoch to the GPU stage. The Token of an atomic
// operation stays: it may be that of a signal (isDropped). No operation in a batch fetches.
func (r *receiver) applyBatch(h *layout.Header, payload unsafe.Pointer, n int) {
	one := &r.merged
	*one = layout.Header{From: h.From, Seq: h.Seq}
	for at := 0; at < n; {
		if n-at < layout.RecordSize {
			r.FailMalformed(h)
			return
		}
		*(*[layout.RecordSize]byte)(unsafe.Pointer(one)) = *(*[layout.RecordSize]byte)(unsafe.Add(payload, at))
		size := uint32(0)
		switch one.Kind {
		case layout.KindPut, layout.KindPutSignal:
			size, one.Token = one.Token, h.Token
		case layout.KindStore, layout.KindAMO:
		default:
			r.FailMalformed(h)
			return
		}
		step := layout.RecordSize + int(size+7)&^7
		if size > layout.MergeMost || step > n-at || one.Fetch != 0 {
			r.FailMalformed(h)
			return
		}
		from := payload
		if size > 0 { // so that no pointer points past the end of the message
			from = unsafe.Add(payload, at+layout.RecordSize)
		}
		switch {
		case r.isDropped(one):
		case r.GPU != nil && r.GPU.Apply(one, from, int(size)):
		case !r.Change(one, from, int(size)):
			return
		}
		at += step
	}
}
