package proxy

import (
	"structs"
	"unsafe"

	"libshmem/fabric"
)

// kind says what an active message asks for.
type kind uint8

const (
	kindAMO       kind = iota + 1 // apply op; answer with the old value when it fetches
	kindStore                     // store width bytes of operand
	kindPut                       // copy the payload
	kindPutSignal                 // copy the payload, then apply op to the signal
	kindFlush                     // answer when everything before is applied
	kindReply                     // the answer: token and operand
	kindOffer                     // bytes that the PE may read: see offered
	kindTaken                     // they have been read, or could not be
	kindFetch                     // copy operand bytes out of GPU memory and offer them
	kindData                      // a part of those in the payload
	kindExtent                    // a part of the sender's heap that the fabric reaches: see takeExtent
	kindPing                      // nothing: see Ping
	kindStream                    // give my writes a stream: see giveStream
	kindStreamed                  // the answer: operand is the stream and 1, or 0
	kindVoid                      // a write will not come: see voided
	kindBatch                     // several operations: see merge.go
	kindAsk                       // tell what your program does: see standing.go
	kindTold                      // the answer: a text in the payload
)

// header begins every active message. All fields are in the byte order of the
// sender, which is that of the job: PEs of different byte order are refused
// when addresses are exchanged.
type header struct {
	_       structs.HostLayout
	Kind    kind
	Op      Op
	Width   uint8  // bytes of the operand: 1, 2, 4 or 8
	Fetch   uint8  // 1: answer with the old value
	Token   uint32 // names the request in the answer: Engine.question
	Offset  int64  // in the target's user heap; negative in the internal area
	Operand uint64 // element, operand, signal, or the fetched value
	Extra   uint64 // comparand of a compare-and-swap; offset of the signal

	// What send adds.
	Job  uint64 // the job's: a message without it is not looked at
	From uint32 // the PE, and above streamShift the number of its stream: see context.go
	Seq  uint32 // of the messages from From to this PE
	Need uint32 // so many writes of From have to be in before it is applied
	Ack  uint32 // so many writes of this PE are in at From
}

// headerSize leaves a message without payload in one cache line, and with 8 bytes of
// it: what providers inject at least is 64.
const headerSize = 56

var _ [headerSize]byte = [unsafe.Sizeof(header{})]byte{}

// set makes all of a message but what send adds. It asks for no answer.
func (h *header) set(k kind, op Op, width uint8, offset int64, operand, extra uint64) {
	h.Kind, h.Op, h.Width, h.Fetch = k, op, width, 0
	h.Token, h.Offset, h.Operand, h.Extra = 0, offset, operand, extra
}

// messageSize is the largest active message. 4 KiB keeps a put that is worth a
// copy within one message and the receive buffers at half a megabyte.
const messageSize = 4096

// maxPayload is the largest put that travels as a message.
const maxPayload = messageSize - headerSize

// Op is an atomic operation, numbered as enum shmemi_amo in abi/state.h.
type Op = fabric.Op

// The atomic operations.
const (
	OpSet         = fabric.OpSet
	OpAdd         = fabric.OpAdd
	OpAnd         = fabric.OpAnd
	OpOr          = fabric.OpOr
	OpXor         = fabric.OpXor
	OpSwap        = fabric.OpSwap
	OpCompareSwap = fabric.OpCompareSwap
	OpFetch       = fabric.OpFetch
	OpFetchAdd    = fabric.OpFetchAdd
	OpFetchAnd    = fabric.OpFetchAnd
	OpFetchOr     = fabric.OpFetchOr
	OpFetchXor    = fabric.OpFetchXor
)
