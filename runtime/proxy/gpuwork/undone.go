// Package gpuwork is what a PE says of the work that it has given to the streams of a GPU: which
// streams there are, what a call of the driver is for, and what a stream has not carried out. It
// owns the texts of this for people and its form in the page of an endpoint. The streams
// themselves, and the counts of what they have done, are their owner's.
package gpuwork

import (
	"fmt"
	"structs"
	"time"

	"libshmem/fabric"
)

// Stream is one queue of copies. What is put into one happens in order; two
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

// Errand is what an engine asks the GPU's driver for.
type Errand uint8

// The errands.
const (
	None   Errand = iota
	Put           // bytes on their way to a PE
	Serve         // bytes that a PE gets
	Get           // bytes that come from a PE, asked for here
	Came          // what a PE has put, signalled or changed here
	Mark          // the end of what was asked of the streams
	Follow        // how far the streams are
	Holds         // where a buffer of the program is
)

var texts = [...]string{
	None: "", Put: "for a put to PE %d", Serve: "for a get of PE %d", Get: "for a get from PE %d",
	Came: "for a put, a signal or an atomic operation of PE %d", Mark: "to mark the end of its copies",
	Follow: "to learn how far its copies are", Holds: "to learn whether a buffer is GPU memory",
}

// Noted is an errand with its PE, as one word. The PE means nothing where the errand has none.
func Noted(w Errand, pe fabric.PE) uint64 { return uint64(w)<<32 | uint64(uint32(pe)) }

// Text is what was noted, to continue a sentence about a call of the driver; "" where nothing was.
func Text(noted uint64) string {
	w := Errand(noted >> 32)
	if w >= Put && w <= Came {
		return fmt.Sprintf(texts[w], fabric.PE(uint32(noted)))
	}
	return texts[w]
}

// Undone is what a stream was given and has not carried out. The driver may take work, and
// keep it for as long as something of the program's runs.
type Undone struct {
	Stream Stream
	Passed uint64 // the last mark that came: while it stands still, nothing is carried out
	Ops    uint64
	Bytes  uint64
	For    string        // what the oldest is for, as Text
	Age    time.Duration // since a mark came, or the stream was given the first; 0: not known
}

func (u *Undone) String() string {
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

// Shown is an Undone in the page of an endpoint.
type Shown struct {
	_                  structs.HostLayout
	Ops, Bytes, Errand uint64
	Since              uint64 // nanoseconds of CLOCK_MONOTONIC
}

// Undone returns what is shown of a stream, at a time of that clock; false: all is done.
func (s *Shown) Undone(of Stream, now uint64) (Undone, bool) {
	if s.Ops == 0 {
		return Undone{}, false
	}
	return Undone{Stream: of, Ops: s.Ops, Bytes: s.Bytes, For: Text(s.Errand), Age: time.Duration(now - s.Since)}, true
}
