package gpustage

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// gets are the gets of this PE with GPU memory at one side, by token. If NICs reach the other side,
// a get is a one-sided read (a pull). Otherwise this PE requests the bytes with a message, and the
// owner sends them in messages, or announces them with requests to send, and this PE reads them.
type gets struct {
	engine  Engine
	check   mem.Checker
	streams *stream.Set
	slots   *pool
	heaps   *heaps
	pulls   *pulls
	segment mem.Segment
	desc    uintptr // of the part of the segment that the fabric reaches
	localMR bool    // local buffers have to be registered
	ops     [layout.Tokens]get
}

// get is a get under way.
type get struct {
	used      bool
	requestID uint32 // its number in replies; the lower 16 bits are the token
	pe        libshmem.PE
	dest      unsafe.Pointer
	n         uint64
	left      uint64 // bytes that are not in place
	copying   uint64 // bytes of left whose copy is in stream.In
	desc      uintptr
	reads     int    // reads from a lost PE that the provider has not completed
	ended     bool   // the PE was lost and the caller's status is set, but the provider still has reads
	slot      uint16 // for bytes that arrive in a message; only with GPU memory
	gpu       bool   // dest is GPU memory
	status    int32
	err       error
}

// begin starts a get into a buffer, which is GPU memory if gpu is set. ownerCopies: the owner has
// to copy the bytes out of its GPU memory, because NICs do not reach them.
func (g *gets) begin(pe libshmem.PE, offset libshmem.Offset, dest unsafe.Pointer, n uint64, gpu, ownerCopies bool, r *call.Request) call.Status {
	var slot uint16 // for the bytes of a get that arrive in a message (handleData)
	if gpu {
		var ok bool
		if slot, ok = g.slots.AllocateFor(pe); !ok {
			return call.Again
		}
	}
	op, st := g.engine.Begin(UseGet, pe, r, n)
	if t := op.Token; st == call.Done {
		g.ops[t] = get{used: true, pe: pe, requestID: op.RequestID, dest: dest, n: n, left: n, desc: g.desc, slot: slot, gpu: gpu}
		st = g.request(t, offset, ownerCopies)
	}
	if st != call.Done {
		if gpu {
			g.slots.ReleaseFor(pe, slot)
		}
		return st
	}
	g.pulls.Start()
	return call.Pending
}

// request requests the bytes of the get with token t: with reads if NICs reach the source,
// otherwise with a message to the owner, which copies them out of GPU memory (ownerCopies). Bytes
// that the owner announces are read into main memory directly, so that memory is registered first
// if the provider demands it.
func (g *gets) request(t fabric.Token, offset libshmem.Offset, ownerCopies bool) call.Status {
	o := &g.ops[t]
	if !ownerCopies {
		op := fabric.RMA{PE: o.pe, Len: o.n}
		op.Remote, op.Key = g.heaps.main[o.pe].At(offset)
		g.heaps.Aim(&op, offset) // in GPU memory that NICs reach: the address and key of that part
		g.pulls.Get(pullBytes{PE: o.pe, Remote: op.Remote, Key: op.Key, N: o.n, Dest: o.dest, GPU: true, Get: o.requestID})
		return call.Done
	}
	if !o.gpu && g.localMR && !g.segment.Contains(o.dest, o.n) {
		at, region, err := g.engine.RegisterLocal(t, o.dest, o.n, true) // true: the bytes are written there
		if err != nil {
			g.free(t, Ending{Phase: NotBegun})
			return g.engine.Fail(err)
		}
		o.dest, o.desc = at, region.Desc
	}
	st := g.engine.Send(Message{PE: o.pe, Header: layout.Header{Kind: layout.KindFetch, Token: o.requestID, Offset: offset, Operand: o.n}})
	if st != call.Done {
		g.free(t, Ending{Phase: NotBegun})
	}
	return st
}

// find returns the get to which a reply with n bytes belongs. It returns nil, and fails the job, if
// there is no such get or the bytes are outside of it.
func (g *gets) find(h *layout.Header, requestID uint32, n uint64) *get {
	t := fabric.Token(requestID & 0xffff)
	if t >= layout.Tokens || !g.ops[t].used || g.ops[t].requestID != requestID || uint32(g.ops[t].pe) != h.From {
		g.check.FailUnrequested(h)
		return nil
	}
	o := &g.ops[t]
	if uint64(h.Offset) > o.n || n > o.n-uint64(h.Offset) {
		g.check.FailMalformed(h)
		return nil
	}
	return o
}

// handleRequest handles a request to send from the owner of a get's memory: it starts to read the
// part of the get's bytes that the request announces.
func (g *gets) handleRequest(h *layout.Header, r *layout.RequestToSend) {
	o := g.find(h, r.Get, r.N)
	if o == nil {
		return
	}
	g.pulls.Get(pullBytes{
		PE: o.pe, Remote: h.Operand, Key: h.Extra, N: r.N, Dest: unsafe.Add(o.dest, h.Offset), Desc: o.desc, GPU: o.gpu, Token: h.Token, Get: r.Get,
	})
	g.pulls.Start()
}

// handleData handles a message with bytes of a get: all of a small one, or the last ones of a large
// one, so a get has at most one such message, and one slot of pinned memory. A destination in main
// memory gets the bytes at once. For GPU memory they are copied to the slot, and from there by a
// stream; they count as arrived when the stream has copied them.
func (g *gets) handleData(h *layout.Header, payload unsafe.Pointer, n int) {
	o := g.find(h, h.Token, uint64(n))
	if o == nil {
		return // find has failed the job
	}
	to := unsafe.Add(o.dest, h.Offset)
	if !o.gpu {
		mem.Copy(to, payload, n)
		g.CountArrived(h.Token, uint64(n), 0)
		return
	}
	slot := g.slots.At(o.slot)
	mem.Copy(slot, payload, n)
	g.streams.NoteDriverCall(backlog.CallGet, libshmem.PE(h.From))
	g.streams.Copy(stream.In, to, slot, uint64(n))
	g.CountWhenCopied(h.Token, uint64(n))
}

// CountWhenCopied counts n bytes of a get as in place when stream.In has carried out all work
// that is in it now.
func (g *gets) CountWhenCopied(requestID uint32, n uint64) {
	g.ops[requestID&0xffff].copying += n
	g.streams.AddChore(stream.In, stream.Chore{For: g, Token: requestID, Value: n})
}

// Follow performs the chore that CountWhenCopied has added: bytes of a get are in place.
func (g *gets) Follow(c *stream.Chore) {
	g.ops[c.Token&0xffff].copying -= c.Value
	g.CountArrived(c.Token, c.Value, 0)
}

// CountArrived counts n bytes of a get that are in place, or that will not arrive: then status is
// not 0. After the last byte the get is complete.
func (g *gets) CountArrived(requestID uint32, n uint64, status int32) {
	t := fabric.Token(requestID & 0xffff)
	o := &g.ops[t]
	if status != 0 && o.status == 0 {
		o.status = status
		o.err = fmt.Errorf("PE %d: get: error %d", o.pe, status)
	}
	if o.left -= n; o.left == 0 {
		g.end(t)
	}
}

// end completes a get, when all of its bytes are in place or will not arrive. If the provider still
// reads from a lost PE, the token stays in use until LostRead.
func (g *gets) end(t fabric.Token) {
	o := &g.ops[t]
	e := Ending{Status: o.status, Err: o.err}
	if lost := g.engine.Lost(o.pe); lost != nil {
		e = Ending{Status: int32(call.Failed), Err: lost}
		o.ended = o.reads > 0
	}
	if o.gpu {
		g.slots.ReleaseFor(o.pe, o.slot)
	}
	if o.ended {
		e.Phase = CallerDone
		g.engine.End(Op{Token: t}, e)
		return
	}
	g.free(t, e)
}

// free completes a get whose memory is not in use any more, and frees its token.
func (g *gets) free(t fabric.Token, e Ending) {
	g.ops[t].used, g.ops[t].ended = false, false
	g.engine.End(Op{Token: t}, e)
}

// failLost fails the get of a token if it is from pe, which is lost. The bytes that have not
// arrived will not come, so the get is complete when the stream has carried out the copies that it
// has. The token stays in use until the provider has completed the get's reads.
func (g *gets) failLost(t fabric.Token, pe libshmem.PE) {
	o := &g.ops[t]
	if !o.used || o.pe != pe || o.ended {
		return
	}
	o.left, o.reads, o.status = o.copying, g.pulls.Reads(o.requestID), int32(call.Failed)
	if o.left == 0 {
		g.end(t)
	}
}

// LostRead notes that the provider has completed a read of a get from a lost PE. After the last one
// the get's memory is free.
func (g *gets) LostRead(requestID uint32) {
	t := fabric.Token(requestID & 0xffff)
	if o := &g.ops[t]; o.reads > 0 {
		if o.reads--; o.reads == 0 && o.ended {
			g.free(t, Ending{Status: int32(call.Failed)})
		}
	}
}
