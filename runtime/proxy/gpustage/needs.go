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

// Shared is the state that a Stage and its engine share for their lifetime.
type Shared struct {
	stream.Engine
	Peers []layout.Peer
	// Provider registers memory. Its capabilities are Caps.
	Provider fabric.Provider
	Caps     fabric.Caps
	Named    mem.Named     // the segment of this PE, as messages name it
	Region   fabric.Region // of the segment
	// Known when the engine is connected: the memory of each PE, and the most bytes that a put
	// takes at once, which is layout.MaxPut if all puts are messages.
	Remotes []mem.Remote
	PutMax  uint64
}

// Use is the kind of a caller's operation.
type Use uint8

const (
	// UsePut sends messages. It keeps its place behind earlier operations on its PE.
	UsePut Use = iota
	UseGet
	// UseCopy needs no message: the heap of its PE is mapped here.
	UseCopy
	// UseStore is a UseCopy that has no record, because no caller waits for it.
	UseStore
	// UseSet is a UseStore that follows all earlier messages to the PE.
	UseSet
	// UseCopyBack is a UseCopy from the heap of the PE. No other operation is ordered with it.
	UseCopyBack
	// UseSignal is a message behind a UseCopy.
	UseSignal
)

// Op names an operation that has begun.
type Op struct {
	Token     fabric.Token // of its record; 0: UseStore, which has none
	RequestID uint32       // names it in replies; 0: no answer comes
	Parity    uint8        // of the generation that waits for it; only of UseStore
}

// Ending reports how much of an operation has ended, and with which status.
type Ending struct {
	Phase  Phase
	Status int32 // for its request; 0: it had its effect
	Err    error // the reason of a status, for the request or, if the caller has its status already, for quiets
}

// Phase is a step of the end of an operation.
type Phase uint8

const (
	// Over: neither a caller nor a quiet waits for the operation any more, and its memory is free.
	Over Phase = iota
	// CallerDone: as Over, but the provider may still use the memory. Over comes later.
	CallerDone
	// SourceFree: the caller may reuse the source. Quiets still wait.
	SourceFree
	// Waits: its message did not leave. Its memory is free until the engine calls Leave again.
	Waits
	// NotBegun: the operation could not begin, and its caller learns that from a status.
	NotBegun
)

// Message is a message to a PE.
type Message struct {
	Token   fabric.Token // of its operation, for whose quiet it counts; 0: it belongs to none
	PE      libshmem.PE
	Header  layout.Header
	Payload unsafe.Pointer // N bytes
	N       int
	NoRoom  NoRoom
}

// NoRoom decides what happens to a message that the engine has no room for.
type NoRoom uint8

const (
	// RefuseCaller: Again and Failed are for the caller of the operation.
	RefuseCaller NoRoom = iota
	// TryAgain: after Again the Stage tries once more. After Failed the engine has given up the PE.
	TryAgain
	// Keep: the engine sends the message, which has no payload, as soon as there is room.
	Keep
)

// Engine is the engine of a Stage. Its methods are called with its lock held, by the thread that
// has called the Stage. Headers and texts are passed by value, because a value passed to an
// interface by its address would be allocated.
type Engine interface {
	Shared() Shared

	// Begin begins an operation of n bytes on a PE. The request, or quiets if the request is nil,
	// wait for the operation. Quiets wait for each put, copy and store. Pending: earlier operations
	// on the PE come first, and the engine calls Leave later. Again, Failed: it has not begun.
	Begin(use Use, pe libshmem.PE, r *call.Request, n uint64) (Op, call.Status)
	// End reports the progress of an operation that ends: see Ending.
	End(o Op, e Ending)

	// May reports whether an operation of n bytes on a PE that is not begun, or that has no record,
	// may begin. Again: it has to follow operations or messages, or there is no room.
	May(use Use, pe libshmem.PE, n uint64) call.Status
	// Send sends a message.
	Send(m Message) call.Status

	// Apply performs a message on main memory. False: it requests a change that is refused.
	Apply(h *layout.Header, payload unsafe.Pointer, n int) bool

	// RegisterLocal registers n bytes of a caller's memory for an operation until it is over, or a
	// copy of them; into: the operation reads into them.
	RegisterLocal(t fabric.Token, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, fabric.Region, error)
	// Read posts a one-sided read. The engine calls Landed at its end.
	Read(pe libshmem.PE, remote, key uint64, to unsafe.Pointer, n uint64, desc uintptr) (fabric.Token, call.Status)
	// Lost returns why a PE was lost; nil: it was not.
	Lost(pe libshmem.PE) error
	// Fail notes and returns the reason of a Failed.
	Fail(err error) call.Status
}

// keep sends a message without a payload, at once or as soon as there is room.
func keep(e Engine, t fabric.Token, pe libshmem.PE, h layout.Header) {
	e.Send(Message{Token: t, PE: pe, Header: h, NoRoom: Keep})
}
