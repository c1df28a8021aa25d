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
	Named    mem.Named     // finds the memory of this PE to which messages refer
	Region   fabric.Region // of the segment
	// Remotes is the memory of each PE, and PutMax the most bytes of one put, which is
	// layout.MaxPut if all puts are messages. Both are known only when the engine is connected.
	Remotes []mem.Remote
	PutMax  uint64
}

// Use is the kind of a caller's operation.
type Use uint8

const (
	// UsePut is a put that sends messages. It is queued behind earlier operations on its PE.
	UsePut Use = iota
	UseGet
	// UseCopy is an operation without a message, on a heap that is mapped here.
	UseCopy
	// UseStore is a UseCopy that has no record, because no caller waits for it.
	UseStore
	// UseSet is a UseStore that follows all earlier messages to the PE.
	UseSet
	// UseCopyBack is a UseCopy from the heap of the PE. No other operation is ordered with it.
	UseCopyBack
	// UseSignal is the signal of a UseCopy that has to be a message.
	UseSignal
)

// Op names an operation that has begun.
type Op struct {
	Token     fabric.Token // of its record; 0: UseStore, which has none
	RequestID uint32       // names it in replies; 0: no reply comes
	Parity    uint8        // of the generation that waits for it; only of UseStore
}

// Ending says who need not wait for an operation any more, and with which status it completed.
type Ending struct {
	Phase  Phase
	Status int32 // for its request; 0: it succeeded
	Err    error // the reason of a status, for the request or, if the caller has its status already, for quiets
}

// Phase is a step in the completion of an operation.
type Phase uint8

const (
	// Over: neither a caller nor a quiet waits for the operation any more, and its memory is free.
	Over Phase = iota
	// CallerDone: neither a caller nor a quiet waits any more, but the provider may still use the
	// memory. Over comes later.
	CallerDone
	// SourceFree: the caller may reuse the source. Quiets still wait.
	SourceFree
	// Waits: its message found no room. The engine ends the registration of its memory, and calls
	// Leave again later.
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
	// RefuseCaller: Send returns Again or Failed, for the caller of the operation.
	RefuseCaller NoRoom = iota
	// TryAgain: Send returns Again, and the Stage sends the message again later. After Failed the
	// engine has given up the PE.
	TryAgain
	// Keep: the engine keeps the message, which has no payload, and sends it as soon as there is
	// room.
	Keep
)

// Engine is what a Stage needs of its engine. The methods are called with the engine's lock held,
// by the thread that has called the Stage. Headers and texts are passed by value, because a value
// passed to an interface by its address would be allocated.
type Engine interface {
	Shared() Shared

	// Begin begins an operation of n bytes on a PE. The request, or quiets if the request is nil,
	// wait for the operation. Quiets wait for each put, copy and store. Pending: earlier operations
	// on the PE come first, and the engine calls Leave later. Again, Failed: it has not begun.
	Begin(use Use, pe libshmem.PE, r *call.Request, n uint64) (Op, call.Status)
	// End completes an operation, or one step of it: see Phase.
	End(o Op, e Ending)

	// May reports whether an operation of n bytes on a PE that is not begun, or that has no record,
	// may begin. Again: it has to follow operations or messages, or there is no room.
	MayBegin(use Use, pe libshmem.PE, n uint64) call.Status
	// Send sends a message.
	Send(m Message) call.Status

	// Apply performs a message on main memory. False: it requests a change that is refused.
	Apply(h *layout.Header, payload unsafe.Pointer, n int) bool

	// RegisterLocal registers n bytes of a caller's memory, or a copy of them, until the operation
	// is complete. It returns where the operation finds its bytes. into: the operation writes them.
	RegisterLocal(t fabric.Token, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, fabric.Region, error)
	// Read posts a one-sided read. The engine calls Stage.Landed when it is complete.
	Read(pe libshmem.PE, remote, key uint64, to unsafe.Pointer, n uint64, desc uintptr) (fabric.Token, call.Status)
	// Lost returns why a PE was lost; nil: it was not.
	Lost(pe libshmem.PE) error
	// Fail stores the reason of a Failed, and returns that status.
	Fail(err error) call.Status
}

// sendOrKeep sends a message without a payload, now or as soon as there is room. t is the operation for
// whose quiet the message counts, or 0.
func sendOrKeep(e Engine, t fabric.Token, pe libshmem.PE, h layout.Header) {
	e.Send(Message{Token: t, PE: pe, Header: h, NoRoom: Keep})
}
