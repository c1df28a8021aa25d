package gpustage

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Engine is the engine of a Stage. Its methods are called with its lock held, by the thread that
// has called the Stage. Headers and texts are passed by value, because a value passed to an
// interface by its address would be allocated.
type Engine interface {
	Messages
	Operations
	Network
}

// Messages has the messages to and from other PEs.
type Messages interface {
	// Ready reports whether an operation of n bytes on a PE may begin. Failed: the PE cannot be
	// reached.
	Ready(pe libshmem.PE, n uint64) call.Status
	// Room reports the same for an operation that needs no message, and Parked whether earlier
	// messages to the PE still wait.
	Room(pe libshmem.PE, n uint64) bool
	Parked(pe libshmem.PE) bool
	// MaySend reports whether a message may be sent to a PE now. Pending: earlier operations on the
	// PE come first, and this one has to be queued.
	MaySend(pe libshmem.PE) call.Status
	// Admit is MaySend for a caller that knows that no operation comes first.
	Admit(pe libshmem.PE) call.Status

	// Send sends a message with a payload of n bytes, for an operation or, with token 0, for none.
	// After Again the Stage tries once more.
	Send(t fabric.Token, pe libshmem.PE, h layout.Header, payload unsafe.Pointer, n int) call.Status
	// Own sends a message that no quiet waits for, as soon as there is room; OwnFor sends one that
	// belongs to an operation, to its PE.
	Own(pe libshmem.PE, h layout.Header)
	OwnFor(t fabric.Token, h layout.Header)
	// Answer sends the answer that a PE has asked for by a token.
	Answer(pe libshmem.PE, token uint32, value uint64)
	// Flush asks a PE to answer when it has applied all messages sent so far.
	Flush(pe libshmem.PE) call.Status
	// Moved says that bytes for a PE have left. An operation may have waited for that.
	Moved(pe libshmem.PE)

	// Apply does what a message asks for in main memory, and Change does the same for messages that
	// change memory; false: the message was refused.
	Apply(h *layout.Header, payload unsafe.Pointer, n int)
	Change(h *layout.Header, payload unsafe.Pointer, n int) bool
	// Target returns n bytes at an offset of this PE's segment, and Word the word that an atomic
	// operation changes; nil: they are not there, and the job has failed.
	Target(h *layout.Header, offset libshmem.Offset, n uint64) unsafe.Pointer
	Word(h *layout.Header, offset libshmem.Offset, width uint8) unsafe.Pointer
	// Malformed fails the job because of a message that no engine sends, and Unasked because of an
	// answer to no question.
	Malformed(h *layout.Header)
	Unasked(h *layout.Header)
}

// Operations are the records of operations under way, by token.
type Operations interface {
	// BeginPut and BeginGet take a token for an operation of n bytes on a PE. The request, or
	// quiets if the request is nil, wait for the operation. False: no token is free.
	BeginPut(pe libshmem.PE, r *call.Request, n uint64) (fabric.Token, bool)
	BeginGet(pe libshmem.PE, r *call.Request, n uint64) (fabric.Token, bool)
	// Await makes quiets wait for an operation; Enqueue also puts it behind earlier operations on
	// its PE, until the engine calls Leave.
	Await(t fabric.Token)
	Enqueue(t fabric.Token)
	// Touch notes that the next quiet has to ask a PE.
	Touch(pe libshmem.PE)
	// Finish ends the request of an operation, whose source may be reused.
	Finish(t fabric.Token)
	// Conclude ends an operation for its request, if that has not ended, and for quiets. With an
	// error it fails the request or, without one, the quiets.
	Conclude(t fabric.Token, status int32, err error)
	// Spoil fails the quiet that waits for an operation.
	Spoil(t fabric.Token, err error)
	// End gives a token back.
	End(t fabric.Token)
	// Question returns the number that an answer has to name: the token and its turn.
	Question(t fabric.Token) uint32
	// Pend makes quiets wait for work without a token, until Unpend with its result.
	Pend() uint8
	Unpend(lane uint8)
}

// Network is this PE's endpoint, and the paths to others.
type Network interface {
	State() *layout.State
	Peers() []layout.Peer
	// Segment returns this PE's memory and the region of it.
	Segment() (mem.Segment, fabric.Region)
	Caps() fabric.Caps
	PutMax() uint64

	Register(at unsafe.Pointer, n uint64) (fabric.Region, error)
	RegisterGPU(m fabric.GPUMemory) (fabric.Region, error)
	Unregister(r fabric.Region) error
	// RegisterLocal registers n bytes of a caller's memory for an operation, or a copy of them,
	// until Deregister; into: the operation reads into them. Deregister returns the status for the
	// request; came: the bytes of a get have arrived. End does the same if none have arrived.
	RegisterLocal(t fabric.Token, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, fabric.Region, error)
	Deregister(t fabric.Token, came bool) int32

	// Write posts a one-sided write, and the message after it.
	Write(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, r *call.Request, after *layout.Header) call.Status
	// Read posts a one-sided read. The engine calls Landed at its end.
	Read(pe libshmem.PE, remote, key uint64, to unsafe.Pointer, n uint64, desc uintptr) (fabric.Token, call.Status)
	// Route returns the remote address and the key of an offset in a PE's heap.
	Route(pe libshmem.PE, offset libshmem.Offset) (remote, key uint64)
	// Reachable reports whether there is a path to a PE, and Lost returns why there is none any
	// more; nil: the PE was not lost.
	Reachable(pe libshmem.PE) bool
	Lost(pe libshmem.PE) error
	// SendFailed gives up a PE because Send has failed.
	SendFailed(pe libshmem.PE)

	// Fail notes and returns the reason of a Failed.
	Fail(err error) call.Status
	// Fatal says that the job cannot go on.
	Fatal(err error)
	// Wake ends the sleep of the engine's thread.
	Wake()
}
