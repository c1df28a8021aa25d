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

// Host is the engine as its GPU sees it: messages, operations and network, as package gpustage
// needs them. The lock is held in each call.
type Host struct {
	hostMessages
	hostOperations
	hostNetwork
}

// The methods of the three have pointer receivers, and no type is embedded in them: the compiler
// would make two more functions of each method.

// Host returns the engine as its GPU sees it.
func (e *Engine) Host() *Host {
	return &Host{hostMessages{e}, hostOperations{e}, hostNetwork{e}}
}

// hostMessages has the messages to and from other PEs.
type hostMessages struct{ e *Engine }

// Ready reports whether an operation of n bytes on a PE may begin.
func (h *hostMessages) Ready(pe libshmem.PE, n uint64) Status {
	p := &h.e.ops.Peers[pe]
	switch {
	case !h.e.out.Routed(p, pe):
		return h.e.ops.Net.Fail(errNoRoute)
	case h.e.out.Parked(p), !h.e.ops.Room(pe, p, n):
		return Again
	}
	return Done
}

// Room reports whether an operation that needs no message may begin.
func (h *hostMessages) Room(pe libshmem.PE, n uint64) bool {
	return h.e.ops.Room(pe, &h.e.ops.Peers[pe], n)
}

// Parked reports whether the engine's own messages to a PE wait.
func (h *hostMessages) Parked(pe libshmem.PE) bool { return h.e.out.Parked(&h.e.ops.Peers[pe]) }

// MaySend reports whether a message may be sent to a PE. Pending: an earlier operation comes first.
func (h *hostMessages) MaySend(pe libshmem.PE) Status {
	p := &h.e.ops.Peers[pe]
	if p.Queued > 0 {
		h.e.out.LetGo(pe, p)
	}
	if p.Queued > 0 || h.e.out.Overtakes(pe, p, h.e.Epoch) {
		return Pending
	}
	return h.Admit(pe)
}

// Admit is MaySend for a caller that knows that no operation comes first.
func (h *hostMessages) Admit(pe libshmem.PE) Status {
	return h.e.out.Admit(pe, &h.e.ops.Peers[pe], layout.HeaderSize)
}

// Send sends a message of the GPU's, for an operation or for none.
func (h *hostMessages) Send(t fabric.Token, pe libshmem.PE, m layout.Header, payload unsafe.Pointer, n int) Status {
	if t == 0 {
		return h.e.out.SendBytes(pe, 0, noParity, &m, payload, n)
	}
	s := &h.e.ops.Table.Records[t]
	return h.e.out.SendBytes(pe, s.Epoch, s.Lane, &m, payload, n)
}

// Own sends a message that no quiet waits for, or parks it.
func (h *hostMessages) Own(pe libshmem.PE, m layout.Header) {
	h.e.out.sendOwn(pe, h.e.Epoch, noParity, m)
}

// OwnFor sends one that belongs to an operation.
func (h *hostMessages) OwnFor(t fabric.Token, m layout.Header) {
	s := &h.e.ops.Table.Records[t]
	h.e.out.sendOwn(s.PE, s.Epoch, s.Lane, m)
}

// Answer sends the answer that a PE has asked for by a token.
func (h *hostMessages) Answer(pe libshmem.PE, token uint32, value uint64) {
	h.Own(pe, layout.Header{Kind: layout.KindReply, Token: token, Operand: value})
}

// Flush asks a PE how many messages it has applied.
func (h *hostMessages) Flush(pe libshmem.PE) Status { return h.e.out.Flush(pe) }

// Moved says that bytes for a PE have left. An operation may have waited for that.
func (h *hostMessages) Moved(pe libshmem.PE) {
	if h.e.ops.Peers[pe].Queued > 0 {
		h.e.out.Jam() // to be driven in this turn: the GPU's work comes first
	}
}

// Apply does what a message asks for in main memory.
func (h *hostMessages) Apply(m *layout.Header, payload unsafe.Pointer, n int) {
	h.e.in.Apply(m, payload, n)
}

// Change does the same for messages that change memory; false: it was refused.
func (h *hostMessages) Change(m *layout.Header, payload unsafe.Pointer, n int) bool {
	return h.e.in.Change(m, payload, n)
}

// Target returns n bytes at an offset, or nil.
func (h *hostMessages) Target(m *layout.Header, offset libshmem.Offset, n uint64) unsafe.Pointer {
	return h.e.in.Target(m, offset, n)
}

// Word returns the word that an atomic operation changes, or nil.
func (h *hostMessages) Word(m *layout.Header, offset libshmem.Offset, width uint8) unsafe.Pointer {
	return h.e.in.Word(m, offset, width)
}

// Malformed reports a message that no engine of this version sends.
func (h *hostMessages) Malformed(m *layout.Header) { h.e.in.Malformed(m) }

// Unasked reports an answer to no question.
func (h *hostMessages) Unasked(m *layout.Header) { h.e.in.Unasked(m) }

// hostOperations are the records of operations under way.
type hostOperations struct{ e *Engine }

// BeginPut takes a token for a put of n bytes.
func (h *hostOperations) BeginPut(pe libshmem.PE, r *call.Request, n uint64) (fabric.Token, bool) {
	return h.begin(usePut, pe, r, n)
}

// BeginGet takes a token for a get.
func (h *hostOperations) BeginGet(pe libshmem.PE, r *call.Request, n uint64) (fabric.Token, bool) {
	return h.begin(useGet, pe, r, n)
}

func (h *hostOperations) begin(u use, pe libshmem.PE, r *call.Request, n uint64) (fabric.Token, bool) {
	t, s := h.e.ops.Take(u, &h.e.ops.Peers[pe], pe)
	if s == nil {
		return 0, false
	}
	s.Request, s.Epoch, s.Awaited = r, h.e.Epoch, false
	h.e.ops.Table.Hold(s, &h.e.ops.Peers[s.PE], n)
	return t, true
}

// Enqueue queues an operation behind earlier operations on its PE.
func (h *hostOperations) Enqueue(t fabric.Token) {
	s := &h.e.ops.Table.Records[t]
	s.Use, s.Awaited = useDeparts, true
	h.e.out.Enqueue(t, s)
}

// End gives a token back.
func (h *hostOperations) End(t fabric.Token) {
	if s := &h.e.ops.Table.Records[t]; s.Registered {
		h.e.rma.Deregister(s, false)
	}
	h.e.ops.Give(t)
}

// Await makes quiets wait for an operation.
func (h *hostOperations) Await(t fabric.Token) { h.e.ops.Await(t) }

// Touch notes that the next quiet has to ask a PE.
func (h *hostOperations) Touch(pe libshmem.PE) { h.e.ops.Touch(pe) }

// Finish ends the request of an operation whose source may be reused.
func (h *hostOperations) Finish(t fabric.Token) { h.e.ops.Finish(t) }

// Conclude ends an operation for its request and for quiets.
func (h *hostOperations) Conclude(t fabric.Token, status int32, err error) {
	h.e.ops.Conclude(t, status, err)
}

// Spoil fails the quiet that waits for an operation.
func (h *hostOperations) Spoil(t fabric.Token, err error) { h.e.ops.Spoil(t, err) }

// Question returns the number that an answer has to name.
func (h *hostOperations) Question(t fabric.Token) uint32 { return h.e.ops.Question(t) }

// Pend makes quiets wait for work without a token.
func (h *hostOperations) Pend() uint8 { return h.e.ops.Pend() }

// Unpend ends that wait.
func (h *hostOperations) Unpend(l uint8) { h.e.ops.Unpend(l) }

// hostNetwork is the endpoint, with writes and reads.
type hostNetwork struct{ e *Engine }

// State returns what the engine shares with C.
func (h *hostNetwork) State() *layout.State { return h.e.State }

// Peers returns what the engine knows about each PE.
func (h *hostNetwork) Peers() []layout.Peer { return h.e.ops.Peers }

// Segment returns this PE's memory and the region of it.
func (h *hostNetwork) Segment() (mem.Segment, fabric.Region) {
	return h.e.ops.Net.Segment, h.e.ops.Net.Region
}

// Caps reports what the provider granted.
func (h *hostNetwork) Caps() fabric.Caps { return h.e.ops.Net.Caps }

// PutMax is the most bytes that a put takes at once.
func (h *hostNetwork) PutMax() uint64 { return h.e.PutMax() }

// RegisterLocal registers n bytes of a caller's memory for an operation, or a copy of them.
func (h *hostNetwork) RegisterLocal(t fabric.Token, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, fabric.Region, error) {
	s := &h.e.ops.Table.Records[t]
	at, err := h.e.rma.RegisterLocal(s, at, n, into)
	if err != nil {
		return nil, fabric.Region{}, err
	}
	return at, s.Memory.Region.Region, nil
}

// Deregister ends that registration, if there is one.
func (h *hostNetwork) Deregister(t fabric.Token, came bool) int32 {
	if s := &h.e.ops.Table.Records[t]; s.Registered {
		return h.e.rma.Deregister(s, came)
	}
	return 0
}

// Write posts a one-sided write, and the message after it.
func (h *hostNetwork) Write(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, r *call.Request, after *layout.Header) Status {
	return h.e.rma.Write(pe, offset, source, n, r, after)
}

// Read posts a one-sided read.
func (h *hostNetwork) Read(pe libshmem.PE, remote, key uint64, to unsafe.Pointer, n uint64, desc uintptr) (fabric.Token, Status) {
	return h.e.rma.Pull(pe, remote, key, to, n, desc)
}

// SendFailed gives up a PE because Send has failed.
func (h *hostNetwork) SendFailed(pe libshmem.PE) {
	h.e.unreachable(pe, fmt.Errorf("PE %d: send: %w", pe, h.e.ops.Net.Err))
}

// Fatal says that the job cannot go on.
func (h *hostNetwork) Fatal(err error) { h.e.ops.Net.Fatal(err) }

// Register lets the fabric reach n bytes of main memory.
func (h *hostNetwork) Register(at unsafe.Pointer, n uint64) (fabric.Region, error) {
	return h.e.ops.Net.Provider.Register(at, n)
}

// RegisterGPU lets the fabric reach GPU memory.
func (h *hostNetwork) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	return h.e.ops.Net.Provider.RegisterGPU(m)
}

// Unregister ends a registration of either kind.
func (h *hostNetwork) Unregister(r fabric.Region) error { return h.e.ops.Net.Provider.Unregister(r) }

// Route returns the remote address and the key of an offset in a PE's heap.
func (h *hostNetwork) Route(pe libshmem.PE, offset libshmem.Offset) (remote, key uint64) {
	return h.e.ops.Net.Route(pe, offset)
}

// Reachable reports whether there is a path to a PE.
func (h *hostNetwork) Reachable(pe libshmem.PE) bool { return h.e.ops.Net.Reachable(pe) }

// Lost returns why there is none any more; nil: the PE was not lost.
func (h *hostNetwork) Lost(pe libshmem.PE) error { return h.e.ops.Net.Lost(pe) }

// Fail notes the reason of a Failed.
func (h *hostNetwork) Fail(err error) Status { return h.e.ops.Net.Fail(err) }

// Wake ends the sleep of the engine's thread.
func (h *hostNetwork) Wake() { h.e.ops.Net.Wake() }
