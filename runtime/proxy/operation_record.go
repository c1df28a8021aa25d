package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// use is the kind of operation that a token belongs to.
type use uint8

// The uses.
const (
	useSend    use = iota + 1 // a message leaves from the token's buffer
	useWrite                  // a one-sided write
	useRead                   // a one-sided read
	useReply                  // an answer is expected: fetching atomic
	usePut                    // a put of the GPU
	useGet                    // a get of the GPU
	usePull                   // a read of the GPU
	useQueued                 // a message in the token's buffer waits, see queue.go
	useWaits                  // a one-sided write waits
	useDeparts                // a put with GPU memory at one side waits
)

// record is the record of one operation in flight. The first cache line has what every operation
// needs. The others are touched only if a signal waits or a buffer was registered.
type record struct {
	Use        use
	Width      uint8  // of fetch
	Parity     parity // of the generation that waits for it
	Then       bool   // write: when it is done, send the message in After, of the epoch
	Registered bool   // write, read: Memory has the operation's own registration
	Flush      bool   // write: the target flushes before it is done; read: this PE does
	Turn       uint16 // how often the token was given out
	PE         libshmem.PE
	Ended      bool           // the PE was lost and the caller's status is set, but the provider still has the operation
	Awaited    bool           // GPU: quiets wait for the operation
	Bytes      uint64         // write, read: under way
	Request    *call.Request  // nil: quiet waits for it
	Fetch      unsafe.Pointer // where a non-blocking fetch puts its value
	Epoch      uint64
	Number     uint32 // write: its number for the target, or noNumber
	Length     uint32 // queued: bytes of the message
	Hold       hold   // queued: the reason to hold a batch that may grow
	Signalled  bool   // write: a signal follows it
	Context    uint16 // the number of its context
	_          [4]byte

	After  layout.Header
	Memory registration    // valid if Registered
	Local  unsafe.Pointer  // waits: the source,
	Offset libshmem.Offset // and the destination
	Until  uint64          // queued: writes that have to be complete first, see Hold
	Next   fabric.Token    // queued, waits: the next in the queue
	_      [12]byte        // fills whole cache lines
}

var (
	_ [64]byte = [unsafe.Offsetof(record{}.After)]byte{}
	_ [0]byte  = [unsafe.Sizeof(record{}) % 64]byte{}
)

// String names the use in reports.
func (u use) String() string {
	return [...]string{
		0: "idle", useSend: "send", useWrite: "write", useRead: "read", useReply: "atomic", usePut: "put", useGet: "get", usePull: "read",
		useQueued: "send", useWaits: "write", useDeparts: "put",
	}[u]
}

// hold is the reason to hold a batch.
type hold uint8

// The reasons.
const (
	notHeld    hold = iota
	forSignals      // until as many writes are complete as record.Until says
	forBurst
	forRing // until BurstEnds
)

// noNumber is the number of a write that has none.
const noNumber = ^uint32(0)
