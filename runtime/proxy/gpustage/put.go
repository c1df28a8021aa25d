package gpustage

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// puts are the puts of this PE with GPU memory at one side that no NIC can carry out, by token.
// Bytes of GPU memory are copied to pinned memory and sent from there (departures). For bytes of
// main memory the PE sends a request to send, and the target reads them from there.
type puts struct {
	engine  Engine
	check   mem.Checker
	state   *layout.State
	heaps   *heaps
	departs *departures
	owners  *owners
	segment mem.Segment
	heap    fabric.Region // the part of the segment that the fabric reaches
	request layout.RequestToSend
	ops     [layout.Tokens]put
}

// put is a put under way, or one that is queued.
type put struct {
	requestID uint32 // its number in replies; the lower 16 bits are the token
	requested bool   // a request to send was sent for main memory, and the target reads it
	pe        libshmem.PE
	epoch     uint64
	local     unsafe.Pointer
	offset    libshmem.Offset
	n         uint64
	hasSignal bool          // the signal in after follows the bytes
	after     layout.Header // the signal
}

// begin starts a put of n bytes with the request r, or queues it if it has to wait for earlier
// operations: then Engine.Begin has returned Pending, and the engine calls Resume later. gpu says
// that the source is GPU memory. after is the message that updates the put's signal, or nil.
func (p *puts) begin(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, gpu bool, r *call.Request, after *layout.Header) call.Status {
	op, begun := p.engine.Begin(UsePut, pe, r, n)
	if begun != call.Done && begun != call.Pending {
		return begun
	}
	t := op.Token
	o := &p.ops[t]
	o.requestID = op.RequestID
	o.pe, o.epoch, o.local, o.offset, o.n = pe, p.state.Epoch, source, offset, n
	if o.hasSignal = after != nil; o.hasSignal {
		o.after = *after
	}
	if begun == call.Pending {
		return call.Pending
	}
	if st := p.resume(t, gpu); st != call.Done {
		p.engine.End(op, Ending{Phase: NotBegun})
		return st
	}
	return call.Pending
}

// source returns the source of a put.
func (p *puts) source(t fabric.Token) (local unsafe.Pointer, n uint64) {
	o := &p.ops[t]
	return o.local, o.n
}

// resume starts a put that need not wait for earlier operations any more. Bytes in GPU memory (gpu)
// are copied out and sent, and the signal after them. Bytes in main memory are announced, and the
// target reads them; the signal may be sent at once, because at the target a message waits for the
// bytes that were announced before it.
func (p *puts) resume(t fabric.Token, gpu bool) call.Status {
	o := &p.ops[t]
	if !gpu {
		st := p.announce(t)
		if o.requested = st == call.Done; o.requested && o.hasSignal {
			sendOrQueue(p.engine, t, o.pe, o.after)
		}
		return st
	}
	x := departingPut{PE: o.pe, Token: t, Epoch: o.epoch, Local: o.local, Offset: o.offset, ToGPU: p.owners.onGPU(o.pe, o.offset), N: o.n}
	if o.hasSignal {
		x.After = &o.after
	}
	p.departs.Put(x)
	return call.Done
}

// announce sends a request to send for the bytes of a put from main memory, which it first
// registers if necessary. The reply will carry the put's requestID.
func (p *puts) announce(t fabric.Token) call.Status {
	o := &p.ops[t]
	region, source := p.heap, o.local
	if !p.segment.Contains(source, o.n) {
		var err error
		if source, region, err = p.engine.RegisterLocal(t, source, o.n, false /* only read */); err != nil {
			return p.engine.Fail(err)
		}
	}
	h := layout.Header{Kind: layout.KindRequestToSend, Token: o.requestID, Offset: o.offset, Operand: p.heaps.remote(&region, source), Extra: region.Key}
	p.request = layout.RequestToSend{N: o.n, Fence: uint32(o.epoch)}
	st := p.engine.Send(Message{Token: t, PE: o.pe, Header: h, Payload: unsafe.Pointer(&p.request), N: layout.RequestToSendSize})
	if st != call.Done {
		p.engine.End(Op{Token: t}, Ending{Phase: Waits})
	}
	return st
}

// handleFinished handles the target's answer to the request to send for a put from main memory: it
// completes the put, whose bytes the target has read or could not read. An answer that matches no
// such request fails the job.
func (p *puts) handleFinished(h *layout.Header) {
	t := fabric.Token(h.Token & 0xffff)
	if t >= layout.Tokens || !p.ops[t].requested || p.ops[t].requestID != h.Token || uint32(p.ops[t].pe) != h.From {
		p.check.FailUnrequested(h)
		return
	}
	p.ops[t].requested = false
	p.engine.End(Op{Token: t}, endingOfRead(h))
}

// failLost fails the put of a token if a request to send for it was sent to pe, which is lost: no
// reply will come. Puts from GPU memory are departures, which departures.Drop fails.
func (p *puts) failLost(t fabric.Token, pe libshmem.PE) {
	if o := &p.ops[t]; o.pe == pe && o.requested {
		o.requested = false
		p.engine.End(Op{Token: t}, endingOf(p.engine, pe))
	}
}
