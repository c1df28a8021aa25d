// Package wire is the protocol between shmemrun and a PE: frames over the Unix stream socket that
// the PE inherits.
//
// The PE sends requests, and shmemrun replies. A PE first sends Hello, to which Welcome is the
// reply; then any number of Gather, Barrier and LeaveBarrier frames, numbered from 1, each after
// the reply to the one before; and at last Done. Hello may then begin anew, for a program that the
// same shell starts next. Abort and Exit may be sent at any moment and have no reply. shmemrun ends
// its half of the stream when it ends the job because a PE failed, or requested that.
//
// A PE that joins a job by other means than shmemrun sends only OtherJob, if that job continues
// without PEs that are lost. It has no reply.
//
// shmemrun reports each PE that ends before it has left the job, by Lost, to PEs that requested
// that in their Hello, at any moment after Welcome. Frames that are in the socket before Welcome
// belong to an earlier program.
//
// A PE that waits for others for long may inquire which of them have left the job or have ended, by
// Inquiry, to which Outcomes is the reply. If a PE exits with status 0 inside the job, shmemrun
// sends no notice to the others: most would never read it, and shmemrun must not wait for them.
//
// A frame is a header of 16 bytes, little endian, and a payload:
//
//	0  magic    4  "SHMB"
//	4  version  1
//	5  kind     1
//	6  zero     2
//	8  seq      4  number of the step, 0 outside of steps
//	12 length   4  bytes of payload, at most MaxPayload
//
// The package owns encoding and bounds. It does not own descriptors, and does not decide what a
// frame means.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Sizes and bounds.
const (
	MaxContribution = 1 << 20  // bytes that one PE may contribute to one Gather
	MaxPayload      = 64 << 20 // bytes of payload in one frame
	MaxText         = 4 << 10  // bytes of a reason; longer ones are cut
	MaxInquiry      = 64       // PEs of one Inquiry
)

// Kind is the meaning of a frame.
type Kind uint8

// The kinds of frame. PE: sent by a PE; run: sent by shmemrun.
const (
	Hello        Kind = iota + 1 // PE: Greeting
	Gather                       // PE: its contribution
	Gathered                     // run: all contributions, see AppendParts
	Barrier                      // PE: empty
	Released                     // run: empty
	Abort                        // PE: Ending with a reason
	Exit                         // PE: Ending
	Done                         // PE: empty
	Missing                      // run: Absence
	PeerFailed                   // run: Loss
	Refused                      // run: text
	Welcome                      // run: Admission
	Lost                         // run: Loss; sent without a request
	LeaveBarrier                 // PE: empty; a barrier of only the PEs that live
	Fail                         // PE: empty; the PE leaves because its initialisation has failed
	Inquiry                      // PE: PEs, see AppendPEs; may be sent at any moment
	Outcomes                     // run: Loss of each PE of an Inquiry that has left or ended; no reply to a step
	OtherJob                     // PE: empty; it has joined a job by other means, which continues without PEs that are lost
	kinds
)

var _ = [1]struct{}{}[Abort-kindAbort] // C code sends Abort, too, by the number kindAbort

// kindNames has the name of each Kind, for messages.
var kindNames = [kinds]string{"none", "hello", "allgather", "allgather result", "barrier", "barrier release",
	"abort", "exit", "done", "missing", "peer failed", "refused",
	"welcome", "loss", "parting", "failure", "inquiry", "outcomes", "other job"}

// String names the kind as messages do.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Frame is one message.
type Frame struct {
	Kind    Kind
	Seq     uint32 // number of the collective step; 0: it belongs to none
	Payload []byte
}

// ErrFormat is the error of every malformed frame or payload.
var ErrFormat = errors.New("malformed frame")

// formatErrorf returns an ErrFormat with a text that says what is wrong.
func formatErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// Append adds the encoding of f, header and payload, to dst. It fails if the payload is too long.
func Append(dst []byte, f Frame) ([]byte, error) {
	if len(f.Payload) > MaxPayload {
		return dst, fmt.Errorf("send %v: %d bytes are more than a frame holds, %d", f.Kind, len(f.Payload), MaxPayload)
	}
	dst = slices.Grow(dst, HeaderLen+len(f.Payload))
	return append(appendHeader(dst, f.Kind, f.Seq, len(f.Payload)), f.Payload...), nil
}

// AppendGathered adds the encoding of a frame of Gathered, like Append with a payload of
// AppendParts, but copies the contributions only once.
func AppendGathered(dst []byte, seq uint32, parts [][]byte) ([]byte, error) {
	n := PartsLen(parts)
	if n > MaxPayload {
		return dst, fmt.Errorf("send %v: %d bytes are more than a frame holds, %d", Gathered, n, MaxPayload)
	}
	dst = slices.Grow(dst, HeaderLen+n)
	return AppendParts(appendHeader(dst, Gathered, seq, n), parts), nil
}

// appendHeader appends the header of a frame with a payload of length bytes.
func appendHeader(dst []byte, kind Kind, seq uint32, length int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, magic)
	dst = append(dst, Version, byte(kind), 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, seq)
	return binary.LittleEndian.AppendUint32(dst, uint32(length))
}

// parseHeader decodes the header of a frame; n is the length of its payload.
func parseHeader(h *[HeaderLen]byte) (f Frame, n int, err error) {
	if m := binary.LittleEndian.Uint32(h[:]); m != magic {
		return f, 0, formatErrorf("it begins with %#08x, not %#08x", m, uint32(magic))
	}
	if h[4] != Version {
		return f, 0, formatErrorf("protocol version %d, here %d (take shmemrun and libshmem from one installation)", h[4], Version)
	}
	f.Kind = Kind(h[5])
	if f.Kind == 0 || f.Kind >= kinds {
		return f, 0, formatErrorf("unknown %v", f.Kind)
	}
	if h[6] != 0 || h[7] != 0 {
		return f, 0, formatErrorf("reserved bytes are %#x %#x", h[6], h[7])
	}
	f.Seq = binary.LittleEndian.Uint32(h[8:])
	length := binary.LittleEndian.Uint32(h[12:])
	if length > MaxPayload {
		return f, 0, formatErrorf("%v of %d bytes, at most %d", f.Kind, length, MaxPayload)
	}
	return f, int(length), nil
}

// chunk caps the memory that Read allocates before the bytes for it have arrived, so that a
// malformed length costs little.
const chunk = 256 << 10

// Read reads one frame. It returns io.EOF if the stream ends between frames, and
// io.ErrUnexpectedEOF if it ends inside one. The payload belongs to the caller.
func Read(r io.Reader) (Frame, error) {
	var h [HeaderLen]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return Frame{}, err
	}
	f, n, err := parseHeader(&h)
	if err != nil {
		return Frame{}, err
	}
	for len(f.Payload) < n {
		have := len(f.Payload)
		more := min(n-have, max(chunk, have))
		f.Payload = slices.Grow(f.Payload, more)[:have+more]
		if _, err := io.ReadFull(r, f.Payload[have:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return Frame{}, err
		}
	}
	return f, nil
}
