package backlog

import (
	"fmt"
	"time"

	"libshmem"
)

// Stream is one queue of a stream.Memory. Operations in one stream are done in order; two streams
// are independent.
type Stream uint8

// Values of Stream.
const (
	StreamIn   Stream = iota // into this PE's GPU memory: bytes that have arrived for it
	StreamOut                // out of this PE's GPU memory: bytes that it sends
	StreamPeer               // between this PE and heaps of other PEs that this process has mapped
	StreamWord               // atomic operations, which may be kernels that wait while the GPU is full
	Streams
)

// Call is the purpose of a driver call. The engine records it before each call: a thread that
// blocks in the driver has the engine's lock, so a report cannot lock the engine then.
type Call uint8

// Values of Call.
const (
	CallNone   Call = iota
	CallPut         // bytes on their way to pe
	CallServe       // bytes that pe gets from this PE
	CallGet         // bytes that this PE gets from pe
	CallCame        // operations of pe on memory of this PE
	CallMark        // a mark after the work of the streams
	CallFollow      // a check which work the streams have carried out
	CallHolds       // a check whether a buffer of the program is GPU memory
)

// callTexts has the text of each Call, for CallText.
var callTexts = [...]string{
	CallNone: "", CallPut: "for a put to PE %d", CallServe: "for a get of PE %d", CallGet: "for a get from PE %d",
	CallCame: "for a put, a signal or an atomic operation of PE %d", CallMark: "to mark the end of its copies",
	CallFollow: "to learn how far its copies are", CallHolds: "to learn whether a buffer is GPU memory",
}

// CallText formats the purpose of a driver call to continue a sentence. noted has the Call in the
// upper half and the PE in the lower one. It may come from the page of another process, which may
// write anything there: the text of a number that is no Call is empty.
func CallText(noted uint64) string {
	number := noted >> 32
	if number >= uint64(len(callTexts)) {
		return ""
	}
	if w := Call(number); w >= CallPut && w <= CallCame {
		return fmt.Sprintf(callTexts[w], libshmem.PE(uint32(noted)))
	}
	return callTexts[number]
}

// Work is the work that was put into a stream and that the stream has not carried out. A driver may
// accept work and start it only when kernels of the program have ended.
type Work struct {
	Stream Stream
	Passed uint64 // the last mark that the stream has passed: while it does not change, nothing is carried out
	Ops    uint64
	Bytes  uint64
	For    string        // the purpose of the oldest work, in the form of CallText
	Age    time.Duration // time since the stream passed a mark, or got its first work; 0: not known
}

// String formats the work as a part of a sentence, such as "3 operations with 4096 bytes on GPU
// memory, the oldest for a put to PE 1".
func (u *Work) String() string {
	withBytes := ""
	if u.Bytes > 0 {
		withBytes = fmt.Sprintf(" with %d bytes", u.Bytes)
	}
	operations := "operations"
	if u.Ops == 1 {
		operations = "operation"
	}
	text := fmt.Sprintf("%d %s%s on GPU memory", u.Ops, operations, withBytes)
	if u.For != "" {
		text += ", the oldest " + u.For
	}
	return text
}

// Shown is the Work of a stream in the page that other processes read.
type Shown struct {
	Ops, Bytes, Call uint64 // as in Work; Call is the purpose in the form that CallText takes
	Since            uint64 // nanoseconds of CLOCK_MONOTONIC
}
