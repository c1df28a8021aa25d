package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// use is the kind of the operation that uses a token.
type use uint8

// Values of use.
const (
	useSend    use = iota + 1 // a message leaves from the token's buffer
	useWrite                  // a one-sided write
	useRead                   // a one-sided read
	useReply                  // a fetching atomic operation that awaits its reply
	usePut                    // a put that the GPU stage carries out
	useGet                    // a get that the GPU stage carries out
	usePull                   // a one-sided read that the GPU stage has posted
	useQueued                 // a message waits in the token's buffer, see queue.go
	useWaits                  // a one-sided write waits in the queue
	useDeparts                // a put that the GPU stage carries out waits in the queue
)

// record is the record of one operation in flight. The first cache line has what every operation
// needs. The others are touched only if the operation has a signal that waits, a registered buffer,
// or is queued.
type record struct {
	Use        use
	Width      uint8  // atomic: bytes of the value that Fetch gets, 4 or 8
	Parity     parity // of the generation that waits for it
	Then       bool   // write: the message in After, of the same epoch, is still to be sent after the bytes
	Registered bool   // write, read: Memory has the operation's own registration
	Flush      bool   // write: the target flushes its GPU before quiets complete; read: this PE does
	Uses       uint16 // how often the token was allocated, modulo 2^16: see RequestID
	PE         libshmem.PE
	Ended      bool           // the PE was lost and the caller's status is set, but the provider still has the operation
	Awaited    bool           // GPU stage: quiets wait for the operation
	Bytes      uint64         // write, read: under way
	Request    *call.Request  // nil: quiets wait for the operation
	Fetch      unsafe.Pointer // where a non-blocking fetch puts its value
	Epoch      uint64
	Number     uint32 // write: its number for the target, or noNumber
	Length     uint32 // queued: bytes of the message
	Hold       hold   // queued: why a batch that may grow is not sent yet
	Signalled  bool   // write: a signal with its number was sent after it
	Context    uint16 // the number of its context
	_          [4]byte

	After  layout.Header
	Memory registration    // valid if Registered
	Local  unsafe.Pointer  // write in a queue: its source,
	Offset libshmem.Offset // and its destination
	Until  uint64          // queued batch of signals: number of writes that have to be complete first
	Next   fabric.Token    // queued: the token after it in the queue
	_      [12]byte        // fills whole cache lines
}

var (
	_ [64]byte = [unsafe.Offsetof(record{}.After)]byte{}
	_ [0]byte  = [unsafe.Sizeof(record{}) % 64]byte{}
)

// String returns the name of the use for reports.
func (u use) String() string {
	return [...]string{
		0: "idle", useSend: "send", useWrite: "write", useRead: "read", useReply: "atomic", usePut: "put", useGet: "get", usePull: "read",
		useQueued: "send", useWaits: "write", useDeparts: "put",
	}[u]
}

// hold is the reason why a batch, a message that small operations share, is not sent yet: more
// operations may join it (batch.go).
type hold uint8

// Values of hold.
const (
	notHeld    hold = iota
	forSignals      // signals of many writes: until record.Until writes are complete
	forBurst        // operations of a caller's burst: until it is full, or a caller waits
	forRing         // operations that lay in a ring together: until BurstEnds
)

// noNumber is record.Number of a write that was posted without a number.
const noNumber = ^uint32(0)
