package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// The caller of each method of this file holds the engine's lock, except for PutMax, whose result
// never changes.
//
// The last argument of sender.begin is true if the operation may share a message with others: all
// may but fetching ones, which receiver.applyBatch refuses. That of sender.Send is true because each
// message is a caller's operation: it takes credit, and the next quiet waits for it.

// PutMax returns the largest number of bytes that one call of Put or PutSignal accepts.
func (e *Engine) PutMax() uint64 { return e.first.rma.PutMax() }

// Post performs an operation that a caller in C has described in o.
func (e *Engine) Post(o *Operation) Status {
	pe, offset := libshmem.PE(o.PE), libshmem.Offset(o.Offset)
	switch o.Kind {
	case call.KindPut:
		return e.Put(pe, offset, o.Source, o.Nbytes, o.Request)
	case call.KindGet:
		return e.Get(pe, offset, o.Dest, o.Nbytes, o.Request)
	case call.KindPutSignal:
		return e.PutSignal(pe, offset, o.Source, o.Nbytes, libshmem.Offset(o.SignalOffset), o.Operand, fabric.Op(o.Op), o.Request)
	case call.KindAMO:
		return e.AMO(pe, offset, fabric.Op(o.Op), uint8(o.Width), o.Operand, o.Compare, o.Dest, o.Request)
	}
	panic("post: an operation of no kind")
}

// Put copies n bytes to an offset in the heap of pe. Done: the source may be reused. Pending with a
// request: it may be reused when the request is complete. Pending without a request: it may be
// reused after a quiet.
func (e *Engine) Put(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, r *Request) Status {
	if n == 0 {
		return Done
	}
	if e.gpu != nil {
		switch st, by := e.gpu.Put(pe, offset, source, n, r, nil); by {
		case gpustage.ByStage:
			return st
		case gpustage.ByWrite:
			return e.rma.Write(pe, offset, source, n, r, nil)
		}
	}
	if n <= layout.MaxPut {
		return e.PutBytes(pe, offset, source, n)
	}
	return e.rma.Write(pe, offset, source, n, r, nil)
}

// PutBytes copies n bytes, from 1 to the payload of a message, from main memory that may be reused
// when it returns; otherwise it is like Put.
func (e *Engine) PutBytes(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64) Status {
	if n <= 8 && n&(n-1) == 0 {
		return e.Store(pe, offset, uint8(n), mem.Load(source, int(n)))
	}
	if e.gpu != nil {
		if st, ok := e.gpu.PutBytes(pe, offset, source, n, nil); ok {
			return st
		}
	}
	h, st := e.out.begin(pe, int(n), true)
	if h != nil {
		h.Set(layout.KindPut, 0, 0, offset, 0, 0)
		h.Token = e.State.EpochToken(e.Epoch)
		st = e.out.Send(h, source, int(n), true)
	}
	return st
}

// PutSignal copies n bytes like Put and then updates a signal. A PE that sees the new signal also
// sees the bytes.
func (e *Engine) PutSignal(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64,
	signalOffset libshmem.Offset, signal uint64, op fabric.Op, r *Request,
) Status {
	if e.gpu != nil {
		e.after = layout.Header{Kind: layout.KindAMO, Op: op, Width: 8, Offset: signalOffset, Operand: signal}
		switch st, by := e.gpu.Put(pe, offset, source, n, r, &e.after); by {
		case gpustage.ByStage:
			return st
		case gpustage.ByWrite:
			return e.rma.Write(pe, offset, source, n, r, &e.after)
		}
	}
	if n <= layout.MaxPayload {
		return e.sendSignal(pe, offset, source, n, signalOffset, signal, op)
	}
	h := layout.Header{Kind: layout.KindAMO, Op: op, Width: 8, Offset: signalOffset, Operand: signal}
	return e.rma.Write(pe, offset, source, n, r, &h)
}

// sendSignal sends bytes and their signal as one message: the target applies the bytes first.
func (e *Engine) sendSignal(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, signalOffset libshmem.Offset, signal uint64, op fabric.Op) Status {
	h, st := e.out.begin(pe, int(n), true)
	if h != nil {
		h.Set(layout.KindPutSignal, op, 8, offset, signal, uint64(signalOffset))
		h.Token = e.State.EpochToken(e.Epoch)
		st = e.out.Send(h, source, int(n), true)
	}
	return st
}

// PutBytesSignal is PutSignal for n bytes, at most the payload of a message, from main memory that
// may be reused when it returns.
func (e *Engine) PutBytesSignal(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, signalOffset libshmem.Offset, signal uint64, op fabric.Op) Status {
	if e.gpu != nil {
		e.after = layout.Header{Kind: layout.KindAMO, Op: op, Width: 8, Offset: signalOffset, Operand: signal}
		if st, ok := e.gpu.PutBytes(pe, offset, source, n, &e.after); ok {
			return st
		}
	}
	return e.sendSignal(pe, offset, source, n, signalOffset, signal, op)
}

// Get copies n bytes from an offset in the heap of pe to dest. Done: n is 0. Pending: the bytes are
// in dest when the request is complete, or without a request after a quiet.
func (e *Engine) Get(pe libshmem.PE, offset libshmem.Offset, dest unsafe.Pointer, n uint64, r *Request) Status {
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

// AMO applies op at an offset in the heap of pe. If op fetches, the old value is stored in the
// request r; without a request, it is stored at fetch before a quiet completes.
func (e *Engine) AMO(pe libshmem.PE, offset libshmem.Offset, op fabric.Op, width uint8, operand, compare uint64,
	fetch unsafe.Pointer, r *Request,
) Status {
	if e.gpu != nil {
		e.after = layout.Header{Op: op, Width: width, Offset: offset, Operand: operand, Extra: compare}
		if st, ok := e.gpu.AMO(pe, &e.after); ok {
			return st
		}
	}
	if !op.Fetches() {
		h, st := e.out.begin(pe, 0, true)
		if h != nil {
			h.Set(layout.KindAMO, op, width, offset, operand, compare)
			st = e.out.Send(h, nil, 0, true)
		}
		return st
	}
	p := &e.ops.Peers[pe]
	if !e.out.Reaches(p, pe) {
		return e.ops.Net.Fail(e.ops.Net.Unreachable(pe))
	}
	if !e.ops.HasRoom(pe, p, 0) {
		return Again
	}
	t, s := e.ops.AllocateToken(useReply, p, pe)
	if s == nil {
		return Again
	}
	s.Request, s.Fetch, s.Width = r, fetch, width
	h, st := e.out.begin(pe, 0, false)
	if h != nil {
		h.Set(layout.KindAMO, op, width, offset, operand, compare)
		h.Fetch, h.Token = 1, e.ops.Table.RequestID(t)
		st = e.out.Send(h, nil, 0, true)
	}
	if st != Done {
		e.ops.ReleaseToken(t)
		return st
	}
	if r == nil {
		e.ops.Quiets.Pending[s.Parity]++
	}
	return Pending
}

// Store stores an element of 1, 2, 4 or 8 bytes at an offset in the heap of pe. If the heap is GPU
// memory that this process has mapped, the GPU stage does that.
func (e *Engine) Store(pe libshmem.PE, offset libshmem.Offset, width uint8, value uint64) Status {
	if e.gpu != nil {
		if st, ok := e.gpu.Store(pe, offset, width, value); ok {
			return st
		}
	}
	h, st := e.out.begin(pe, 0, true)
	if h != nil {
		h.Set(layout.KindStore, 0, width, offset, value, 0)
		st = e.out.Send(h, nil, 0, true)
	}
	return st
}

// Full reports, after Again, that no operation on any PE can be posted: the endpoint has no token
// left until Poll frees one. If it is false, only the operation's PE has no credit, and operations
// on other PEs may be posted.
func (e *Engine) Full() bool { return e.ops.Table.Full() }
