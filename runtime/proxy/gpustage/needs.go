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
	Checker  mem.Checker   // finds the memory of this PE to which messages refer
	Region   fabric.Region // of the segment
	// Remotes is the memory of each PE, and PutMax the largest put in bytes, which is layout.MaxPut
	// if all puts are messages. Both are known only when the engine is connected.
	Remotes []mem.Remote
	PutMax  uint64
}

// Use is the kind of a caller's operation.
type Use uint8

const (
	// UsePut is a put that sends messages. It is queued after earlier operations on its PE.
	UsePut Use = iota
	// UseGet is a get, by reads or by a message that requests the bytes. It is not queued.
	UseGet
	// UseCopy is an operation without a message, on a heap that this process has mapped.
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

// Op names an operation that the engine has accepted.
type Op struct {
	Token     fabric.Token // of its record; 0: UseStore, which has none
	RequestID uint32       // its number in replies; 0: no reply follows
	Parity    uint8        // parity of the generation that waits for it; only with UseStore
}

// Ending says which waits for an operation end now, and with which status it completed.
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
	// memory. Over follows later.
	CallerDone
	// SourceFree: the caller may reuse the source. Quiets still wait.
	SourceFree
	// Waits: its message could not be posted. The engine ends the registration of its memory, and
	// calls Resume again later.
	Waits
	// NotBegun: the operation could not start, and its caller learns that from a status.
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

// NoRoom says what the engine does with a message that it cannot post: no token is free, the PE has
// no credit, or the provider's queue is full.
type NoRoom uint8

const (
	// RefuseCaller: Send returns Again or Failed, for the caller of the operation.
	RefuseCaller NoRoom = iota
	// TryAgain: Send returns Again, and the Stage sends the message again later. Failed: the engine
	// has given up the PE.
	TryAgain
	// SendLater: the engine stores the message, which has no payload, and sends it as soon as it
	// can.
	SendLater
)

// Engine has the functions of the engine that a Stage calls. The caller holds the engine's lock.
// Headers and texts are passed by value, because a value passed to an interface by its address
// would be allocated.
type Engine interface {
	Shared() Shared

	// Begin registers an operation of n bytes on a PE. The request, or quiets if the request is
	// nil, wait for the operation. Quiets wait for each put, copy and store. Pending: earlier
	// operations on the PE come first, and the engine calls Resume later. Again, Failed: the
	// operation was not accepted.
	Begin(use Use, pe libshmem.PE, r *call.Request, n uint64) (Op, call.Status)
	// End completes an operation, or one step of it: see Phase.
	End(o Op, e Ending)

	// TryBegin returns Done if an operation of n bytes on a PE that has not started, or that has no
	// record, may start. Again: it has to follow operations or messages, its PE has no credit, or
	// no token is free. If a reply of the PE is missing, a flush that requests it has been sent.
	TryBegin(use Use, pe libshmem.PE, n uint64) call.Status
	// Send sends a message.
	Send(m Message) call.Status

	// Apply performs a message on main memory. It returns false if the message is refused.
	Apply(h *layout.Header, payload unsafe.Pointer, n int) bool

	// RegisterLocal registers n bytes of a caller's memory, or a copy of them, until the operation
	// is complete. It returns where the operation finds its bytes. into: the operation writes them.
	RegisterLocal(t fabric.Token, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, fabric.Region, error)
	// Read posts a one-sided read. The engine calls Stage.HandleRead when it is complete.
	Read(pe libshmem.PE, remote, key uint64, to unsafe.Pointer, n uint64, desc uintptr) (fabric.Token, call.Status)
	// Lost returns why a PE was lost, or nil.
	Lost(pe libshmem.PE) error
	// Fail stores the reason of a Failed, and returns that status.
	Fail(err error) call.Status
}

// noOperation is the Token of a message that belongs to no operation: no quiet waits for it.
const noOperation fabric.Token = 0

// sendOrQueue sends a message without a payload. If it cannot be posted now, the engine stores it
// and sends it later. t is the operation whose quiets wait for the message, or noOperation.
func sendOrQueue(e Engine, t fabric.Token, pe libshmem.PE, h layout.Header) {
	e.Send(Message{Token: t, PE: pe, Header: h, NoRoom: SendLater})
}
