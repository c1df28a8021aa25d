package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// Use says what kind of operation a token stands for.
type Use uint8

// The uses.
const (
	UseSend    Use = iota + 1 // a message leaves from the token's buffer
	UseWrite                  // a one-sided write
	UseRead                   // a one-sided read
	UseReply                  // an answer is expected: fetching atomic
	UsePut                    // a put of the GPU
	UseGet                    // a get of the GPU
	UsePull                   // a read of the GPU
	UseQueued                 // a message in the token's buffer waits, see queue.go
	UseWaits                  // a one-sided write waits
	UseDeparts                // a put with GPU memory at one side waits
)

// Record is the record of one operation in flight. The first cache line has what every operation
// needs. The others are touched only if a signal waits or a buffer was registered.
type Record struct {
	Use        Use
	Width      uint8  // of fetch
	Lane       Parity // of the generation that waits for it
	Then       bool   // write: when it is done, send the message in After, of the epoch
	Registered bool   // write, read: Memory has the operation's own registration
	Flush      bool   // write: the target flushes before it is done; read: this PE does
	Turn       uint16 // how often the token was given out
	PE         libshmem.PE
	Ended      bool           // the PE was lost and the caller told, but the provider still has the operation
	Awaited    bool           // GPU: quiets wait for the operation
	Bytes      uint64         // write, read: under way
	Request    *call.Request  // nil: quiet waits for it
	Fetch      unsafe.Pointer // where a non-blocking fetch puts its value
	Epoch      uint64
	Number     uint32 // write: its number for the target, or NoNumber
	Length     uint32 // queued: bytes of the message
	Hold       Hold   // queued: the reason to hold a batch that may grow
	Signalled  bool   // write: a signal follows it
	Stream     uint16 // the number of its context
	_          [4]byte

	After  layout.Header
	Memory Registration    // valid if Registered
	Local  unsafe.Pointer  // waits: the source,
	Offset libshmem.Offset // and the destination
	Until  uint64          // queued: writes that have to be complete first, see Hold
	Next   fabric.Token    // queued, waits: the next in the queue
	_      [12]byte        // fills whole cache lines
}

var (
	_ [64]byte = [unsafe.Offsetof(Record{}.After)]byte{}
	_ [0]byte  = [unsafe.Sizeof(Record{}) % 64]byte{}
)

// String names the use in reports.
func (u Use) String() string {
	return [...]string{
		0: "idle", UseSend: "send", UseWrite: "write", UseRead: "read", UseReply: "atomic", UsePut: "put", UseGet: "get", UsePull: "read",
		UseQueued: "send", UseWaits: "write", UseDeparts: "put",
	}[u]
}

// Hold is the reason to hold a batch.
type Hold uint8

// The reasons.
const (
	NotHeld    Hold = iota
	ForSignals      // until Record.Until writes are complete
	ForBurst
)

// NoNumber is the number of a write that has none.
const NoNumber = ^uint32(0)
