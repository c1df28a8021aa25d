package backlog

import (
	"fmt"
	"time"

	"libshmem/fabric"
)

// Stream is one queue of a Memory. What is put into one happens in order; two
// streams know nothing of each other.
type Stream uint8

// The streams.
const (
	StreamIn   Stream = iota // into this PE's GPU memory: what came for it
	StreamOut                // out of this PE's GPU memory: what it sends
	StreamPeer               // between this PE and heaps of other PEs that are mapped here
	StreamWord               // atomic operations, which may have to wait for a place on the GPU
	Streams
)

// Call is what an engine calls the GPU's driver for. It is noted before each call,
// because one that the driver holds has the engine's lock, and nobody could ask then.
type Call uint8

// The calls.
const (
	CallNone   Call = iota
	CallPut         // bytes on their way to pe
	CallServe       // bytes that pe gets
	CallGet         // bytes that come from pe, asked for here
	CallCame        // what pe has put, signalled or changed here
	CallMark        // the end of what was asked of the streams
	CallFollow      // how far the streams are
	CallHolds       // where a buffer of the program is
)

var callTexts = [...]string{
	CallNone: "", CallPut: "for a put to PE %d", CallServe: "for a get of PE %d", CallGet: "for a get from PE %d",
	CallCame: "for a put, a signal or an atomic operation of PE %d", CallMark: "to mark the end of its copies",
	CallFollow: "to learn how far its copies are", CallHolds: "to learn whether a buffer is GPU memory",
}

// CallText is a call with its PE in the lower half, as noted, to continue a sentence.
func CallText(noted uint64) string {
	w := Call(noted >> 32)
	if w >= CallPut && w <= CallCame {
		return fmt.Sprintf(callTexts[w], fabric.PE(uint32(noted)))
	}
	return callTexts[w]
}

// Work is what a stream was given and has not carried out. The driver may take work, and
// keep it for as long as something of the program's runs.
type Work struct {
	Stream Stream
	Passed uint64 // the last mark that came: while it stands still, nothing is carried out
	Ops    uint64
	Bytes  uint64
	For    string        // what the oldest is for, as CallText
	Age    time.Duration // since a mark came, or the stream was given the first; 0: not known
}

// String is the work as a part of a sentence.
func (u *Work) String() string {
	of := ""
	if u.Bytes > 0 {
		of = fmt.Sprintf(" with %d bytes", u.Bytes)
	}
	operations := "operations"
	if u.Ops == 1 {
		operations = "operation"
	}
	text := fmt.Sprintf("%d %s%s on GPU memory", u.Ops, operations, of)
	if u.For != "" {
		text += ", the oldest " + u.For
	}
	return text
}

// Shown is Work as other processes see it.
type Shown struct {
	Ops, Bytes, Call uint64
	Since            uint64 // nanoseconds of CLOCK_MONOTONIC
}
