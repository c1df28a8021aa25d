package gpustage

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Shared is what a Stage and its engine share as long as they live.
type Shared struct {
	stream.Engine
	Peers []layout.Peer
	// Provider registers memory. Its capabilities are Caps.
	Provider fabric.Provider
	Caps     fabric.Caps
	Named    mem.Named     // the segment of this PE, as messages name it
	Region   fabric.Region // of the segment
}

// Use is what an operation of a caller does.
type Use uint8

const (
	// UsePut sends messages. It keeps its place behind earlier operations on its PE.
	UsePut Use = iota
	UseGet
	// UseCopy needs no message: the heap of its PE is mapped here.
	UseCopy
	// UseStore is a UseCopy that has no record, because no caller waits for it.
	UseStore
)

// Op names an operation that has begun.
type Op struct {
	Token    fabric.Token // of its record; 0: UseStore, which has none
	Question uint32       // names it in answers; 0: no answer comes
	Parity   uint8        // of the generation that waits for it; only of UseStore
}

// Ending says how far an operation has ended.
type Ending struct {
	Phase  Phase
	Status int32 // for its request; 0: it had its effect
	Err    error // the reason of a status, for the request or, if it was told before, for quiets
}

// Phase is a step of the end of an operation.
type Phase uint8

const (
	// Over: neither a caller nor a quiet waits for the operation any more, and its memory is free.
	Over Phase = iota
	// Told: as Over, but the provider may still use the memory. Over comes later.
	Told
	// SourceFree: the caller may reuse the source. Quiets still wait.
	SourceFree
	// Waits: its message did not leave. Its memory is free until the engine calls Leave again.
	Waits
	// NotBegun: the operation could not begin, and its caller learns that from a status.
	NotBegun
)

// Engine is the engine of a Stage. Its methods are called with its lock held, by the thread that
// has called the Stage. Headers and texts are passed by value, because a value passed to an
// interface by its address would be allocated.
type Engine interface {
	Shared() Shared

	// Begin begins an operation of n bytes on a PE. The request, or quiets if the request is nil, wait
	// for the operation. Quiets wait for each put, copy and store. Pending: earlier operations on the
	// PE come first, and the engine calls Leave later. Again, Failed: it has not begun.
	Begin(use Use, pe libshmem.PE, r *call.Request, n uint64) (Op, call.Status)
	// End says how far an operation has ended.
	End(o Op, e Ending)

	// Room reports whether an operation of n bytes on a PE may begin. A put also waits for earlier
	// messages to the PE.
	Room(pe libshmem.PE, n uint64, put bool) bool
	// Admit reports whether a message may be sent to a PE now, by a caller that knows that no
	// operation comes first.
	Admit(pe libshmem.PE) call.Status
	// Send sends a message with a payload of n bytes, for an operation or, with token 0, for none.
	// After Again the Stage tries once more. After Failed, SendFailed gives up the PE.
	Send(t fabric.Token, pe libshmem.PE, h layout.Header, payload unsafe.Pointer, n int) call.Status
	SendFailed(pe libshmem.PE)
	// Own sends a message as soon as there is room: of an operation, for which quiets wait, or, with
	// token 0, of none.
	Own(t fabric.Token, pe libshmem.PE, h layout.Header)
	// Flush asks a PE to answer when it has applied all messages sent so far.
	Flush(pe libshmem.PE) call.Status
	// Moved says that bytes for a PE have left. An operation may have waited for that.
	Moved(pe libshmem.PE)

	// Apply does what a message asks for in main memory; false: it asks for a change that was
	// refused.
	Apply(h *layout.Header, payload unsafe.Pointer, n int) bool

	// RegisterLocal registers n bytes of a caller's memory for an operation until it is over, or a
	// copy of them; into: the operation reads into them.
	RegisterLocal(t fabric.Token, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, fabric.Region, error)
	// Write posts a one-sided write, and the message after it.
	Write(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, r *call.Request, after *layout.Header) call.Status
	// Read posts a one-sided read. The engine calls Landed at its end.
	Read(pe libshmem.PE, remote, key uint64, to unsafe.Pointer, n uint64, desc uintptr) (fabric.Token, call.Status)
	// PutMax is the most bytes that a put takes at once, and layout.MaxPayload if all puts are
	// messages. It is known when the engine is connected.
	PutMax() uint64
	// Route returns the remote address and the key of an offset in a PE's heap.
	Route(pe libshmem.PE, offset libshmem.Offset) (remote, key uint64)
	// Reachable reports whether there is a path to a PE, and Lost returns why there is none any
	// more; nil: the PE was not lost.
	Reachable(pe libshmem.PE) bool
	Lost(pe libshmem.PE) error
	// Fail notes and returns the reason of a Failed.
	Fail(err error) call.Status
}
