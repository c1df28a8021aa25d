package ops

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/local"
	"libshmem/runtime/proxy/quiet"
)

// Use says what a token stands for.
type Use uint8

// The uses.
const (
	UseSend    Use = iota + 1 // a message leaves from the token's buffer
	UseWrite                  // a one-sided write
	UseRead                   // a one-sided read
	UseReply                  // an answer is expected: fetching atomic
	UsePut                    // a put that GPU does
	UseGet                    // a get that it does
	UsePull                   // a read of its own
	UseQueued                 // a message in the token's buffer waits, see queue.go
	UseWaits                  // a one-sided write does
	UseDeparts                // a put with GPU memory at one side does
)

// Record is the record of one operation in flight. What every operation needs is
// in its first cache line, and only that is touched unless a signal waits or a
// buffer was registered.
type Record struct {
	Use        Use
	Width      uint8        // of fetch
	Lane       quiet.Parity // of the generation that waits for it
	Then       bool         // write: send the message in After, of the epoch, when it is done
	Registered bool         // write, read: Memory has a registration of its own
	Flush      bool         // write: the target flushes before it is done; read: this PE does
	Turn       uint16       // how often the token was given out
	PE         fabric.PE
	Ended      bool           // the PE was lost, and its caller told: the provider still has it
	Awaited    bool           // GPU's: quiets wait for it
	Bytes      uint64         // write, read: under way
	Request    *call.Request  // nil: quiet waits for it
	Fetch      unsafe.Pointer // where a non-blocking fetch puts its value
	Epoch      uint64
	Number     uint32 // write: that the target knows it by, or NoNumber
	Length     uint32 // queued: bytes of the message
	Hold       Hold   // queued: a batch that is to grow
	Signalled  bool   // write: a signal follows it
	Stream     uint16 // that it belongs to
	_          [4]byte

	After  layout.Header
	Memory local.Use      // where Registered
	Local  unsafe.Pointer // waits: what is written,
	Offset int64          // and where to
	Until  uint64         // queued: writes that have to be complete, see Hold
	Next   fabric.Token   // queued, waits: behind it
	_      [12]byte       // to whole cache lines
}

var (
	_ [64]byte = [unsafe.Offsetof(Record{}.After)]byte{}
	_ [0]byte  = [unsafe.Sizeof(Record{}) % 64]byte{}
)

// String is the use as reports have it.
func (u Use) String() string {
	return [...]string{
		0: "idle", UseSend: "send", UseWrite: "write", UseRead: "read", UseReply: "atomic", UsePut: "put", UseGet: "get", UsePull: "read",
		UseQueued: "send", UseWaits: "write", UseDeparts: "put",
	}[u]
}

// Hold says why a batch is held.
type Hold uint8

// The reasons.
const (
	NotHeld    Hold = iota
	ForSignals      // until Record.Until writes are complete
	ForBurst
)

// NoNumber is that of a write which has none.
const NoNumber = ^uint32(0)
