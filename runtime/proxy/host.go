package proxy

import (
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/endpoint"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/ops"
	"libshmem/runtime/proxy/quiet"
)

// Host is the engine as its GPU sees it. The lock is held in each call.
type Host struct{ e *Engine }

// Host returns the engine as its GPU sees it.
func (e *Engine) Host() Host { return Host{e} }

// State returns what the engine shares with C.
func (h Host) State() *layout.State { return h.e.State }

// Peers returns what the engine knows about each PE.
func (h Host) Peers() []layout.Peer { return h.e.Peers }

// Segment returns this PE's memory and the region of it.
func (h Host) Segment() (mem.Segment, fabric.Region) { return h.e.Net.Segment, h.e.Net.Region }

// Caps reports what the provider granted.
func (h Host) Caps() fabric.Caps { return h.e.Net.Caps }

// PutMax is the most bytes that a put takes at once.
func (h Host) PutMax() uint64 { return h.e.PutMax() }

// Register lets the fabric reach n bytes of main memory.
func (h Host) Register(at unsafe.Pointer, n uint64) (fabric.Region, error) {
	return h.e.Net.Provider.Register(at, n)
}

// RegisterGPU lets the fabric reach GPU memory.
func (h Host) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	return h.e.Net.Provider.RegisterGPU(m)
}

// Unregister ends a registration of either kind.
func (h Host) Unregister(r fabric.Region) error { return h.e.Net.Provider.Unregister(r) }

// Ready reports whether an operation of n bytes on a PE may begin.
func (h Host) Ready(pe fabric.PE, n uint64) Status {
	p := &h.e.Peers[pe]
	switch {
	case !h.e.routed(p, pe):
		return h.e.Net.Fail(endpoint.ErrNoRoute)
	case h.e.parkedAhead(p), !h.e.Room(pe, p, n):
		return Again
	}
	return Done
}

// Room reports whether an operation that needs no message may begin.
func (h Host) Room(pe fabric.PE, n uint64) bool { return h.e.Room(pe, &h.e.Peers[pe], n) }

// Parked reports whether the engine's own messages to a PE wait.
func (h Host) Parked(pe fabric.PE) bool { return h.e.parkedAhead(&h.e.Peers[pe]) }

// MaySend reports whether a message may be sent to a PE. Pending: an earlier operation comes first.
func (h Host) MaySend(pe fabric.PE) Status {
	p := &h.e.Peers[pe]
	if p.Queued > 0 {
		h.e.letGo(pe, p)
	}
	if p.Queued > 0 || h.e.overtakes(pe, p, h.e.Epoch) {
		return Pending
	}
	return h.Admit(pe)
}

// Admit is MaySend for a caller that knows that no operation comes first.
func (h Host) Admit(pe fabric.PE) Status {
	return h.e.admit(pe, &h.e.Peers[pe], layout.HeaderSize)
}

// Send sends a message of the GPU's, for an operation or for none.
func (h Host) Send(t fabric.Token, pe fabric.PE, m layout.Header, payload unsafe.Pointer, n int) Status {
	if t == 0 {
		return h.e.sendBytes(pe, 0, quiet.NoParity, &m, payload, n)
	}
	s := &h.e.Table.Records[t]
	return h.e.sendBytes(pe, s.Epoch, s.Lane, &m, payload, n)
}

// Own sends a message that no quiet waits for, or parks it.
func (h Host) Own(pe fabric.PE, m layout.Header) { h.e.own(pe, h.e.Epoch, quiet.NoParity, &m) }

// OwnFor sends one that belongs to an operation.
func (h Host) OwnFor(t fabric.Token, m layout.Header) {
	s := &h.e.Table.Records[t]
	h.e.own(s.PE, s.Epoch, s.Lane, &m)
}

// Answer sends the answer that a PE has asked for by a token.
func (h Host) Answer(pe fabric.PE, token uint32, value uint64) {
	h.Own(pe, layout.Header{Kind: layout.KindReply, Token: token, Operand: value})
}

// SendFailed gives up a PE because Send has failed.
func (h Host) SendFailed(pe fabric.PE) {
	h.e.unreachable(pe, fmt.Errorf("PE %d: send: %w", pe, h.e.Net.Err))
}

// Flush asks a PE how many messages it has applied.
func (h Host) Flush(pe fabric.PE) Status { return h.e.flush(pe) }

// Moved says that bytes for a PE have left. An operation may have waited for that.
func (h Host) Moved(pe fabric.PE) {
	if h.e.Peers[pe].Queued > 0 {
		h.e.jam() // to be driven in this turn: the GPU's work comes first
	}
}

// Apply does what a message asks for in main memory.
func (h Host) Apply(m *layout.Header, payload unsafe.Pointer, n int) { h.e.applyHost(m, payload, n) }

// Change does the same for messages that change memory; false: it was refused.
func (h Host) Change(m *layout.Header, payload unsafe.Pointer, n int) bool {
	return h.e.change(m, payload, n)
}

// Target returns n bytes at an offset, or nil.
func (h Host) Target(m *layout.Header, offset int64, n uint64) unsafe.Pointer {
	return h.e.target(m, offset, n)
}

// Word returns the word that an atomic operation changes, or nil.
func (h Host) Word(m *layout.Header, offset int64, width uint8) unsafe.Pointer {
	return h.e.word(m, offset, width)
}

// Malformed reports a message that no engine of this version sends.
func (h Host) Malformed(m *layout.Header) { h.e.malformed(m) }

// Unasked reports an answer to no question.
func (h Host) Unasked(m *layout.Header) { h.e.unasked(m) }

// BeginPut takes a token for a put of n bytes.
func (h Host) BeginPut(pe fabric.PE, r *call.Request, n uint64) (fabric.Token, bool) {
	return h.begin(ops.UsePut, pe, r, n)
}

// BeginGet takes a token for a get.
func (h Host) BeginGet(pe fabric.PE, r *call.Request, n uint64) (fabric.Token, bool) {
	return h.begin(ops.UseGet, pe, r, n)
}

func (h Host) begin(u ops.Use, pe fabric.PE, r *call.Request, n uint64) (fabric.Token, bool) {
	t, s := h.e.Take(u, &h.e.Peers[pe], pe)
	if s == nil {
		return 0, false
	}
	s.Request, s.Epoch, s.Awaited = r, h.e.Epoch, false
	h.e.Table.Hold(s, &h.e.Peers[s.PE], n)
	return t, true
}

// Await makes quiets wait for an operation.
func (h Host) Await(t fabric.Token) {
	s := &h.e.Table.Records[t]
	s.Awaited = true
	h.e.Quiets.Pending[s.Lane]++
}

// Enqueue queues an operation behind earlier operations on its PE.
func (h Host) Enqueue(t fabric.Token) {
	s := &h.e.Table.Records[t]
	s.Use, s.Awaited = ops.UseDeparts, true
	h.e.enqueue(t, s)
}

// Touch notes that the next quiet has to ask a PE.
func (h Host) Touch(pe fabric.PE) { h.e.Quiets.Touch(&h.e.Peers[pe], pe) }

// Finish ends the request of an operation whose source may be reused.
func (h Host) Finish(t fabric.Token) {
	if s := &h.e.Table.Records[t]; s.Request != nil {
		h.e.Tell(s.Request, 0, 0)
		s.Request = nil
	}
}

// Conclude ends an operation for its request and for quiets.
func (h Host) Conclude(t fabric.Token, status int32, err error) {
	e, s := h.e, &h.e.Table.Records[t]
	switch {
	case s.Request != nil:
		if err != nil {
			e.Net.Err = err
		}
		e.Tell(s.Request, status, 0)
		s.Request = nil
	case err != nil:
		e.Quiets.Fail(s.Lane, err)
	}
	if s.Awaited {
		s.Awaited = false
		e.Quiets.Pending[s.Lane]--
	}
}

// Spoil fails the quiet that waits for an operation.
func (h Host) Spoil(t fabric.Token, err error) { h.e.Quiets.Fail(h.e.Table.Records[t].Lane, err) }

// End gives a token back.
func (h Host) End(t fabric.Token) {
	h.Deregister(t, false)
	h.e.Give(t)
}

// Question returns the number that an answer has to name.
func (h Host) Question(t fabric.Token) uint32 { return h.e.Table.Question(t) }

// Pend makes quiets wait for work without a token.
func (h Host) Pend() uint8 {
	l := h.e.Quiets.Parity()
	h.e.Quiets.Pending[l]++
	return uint8(l)
}

// Unpend ends that wait.
func (h Host) Unpend(l uint8) { h.e.Quiets.Pending[l]-- }

// RegisterLocal registers n bytes of a caller's memory for an operation, or a copy of them.
func (h Host) RegisterLocal(t fabric.Token, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, fabric.Region, error) {
	s := &h.e.Table.Records[t]
	at, err := h.e.rma.RegisterLocal(s, at, n, into)
	if err != nil {
		return nil, fabric.Region{}, err
	}
	return at, s.Memory.Region.Region, nil
}

// Deregister ends that registration, if there is one.
func (h Host) Deregister(t fabric.Token, came bool) int32 {
	if s := &h.e.Table.Records[t]; s.Registered {
		return h.e.rma.Deregister(s, came)
	}
	return 0
}

// Write posts a one-sided write, and the message after it.
func (h Host) Write(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, r *call.Request, after *layout.Header) Status {
	return h.e.rma.Write(pe, offset, source, n, r, after)
}

// Read posts a one-sided read.
func (h Host) Read(pe fabric.PE, remote, key uint64, to unsafe.Pointer, n uint64, desc uintptr) (fabric.Token, Status) {
	return h.e.rma.Pull(pe, remote, key, to, n, desc)
}

// Route returns the remote address and the key of an offset in a PE's heap.
func (h Host) Route(pe fabric.PE, offset int64) (remote, key uint64) {
	return h.e.Net.Route(pe, offset)
}

// Reachable reports whether there is a path to a PE.
func (h Host) Reachable(pe fabric.PE) bool { return h.e.Net.Reachable(pe) }

// Lost returns why there is none any more; nil: the PE was not lost.
func (h Host) Lost(pe fabric.PE) error {
	return h.e.Net.Lost(pe)
}

// Fail notes the reason of a Failed.
func (h Host) Fail(err error) Status { return h.e.Net.Fail(err) }

// Fatal says that the job cannot go on.
func (h Host) Fatal(err error) { h.e.Net.Fatal(err) }

// Wake ends the sleep of the engine's thread.
func (h Host) Wake() {
	h.e.Net.Wake()
}
