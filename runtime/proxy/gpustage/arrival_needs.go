package gpustage

import (
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/layout"
)

// arrivalsEngine applies messages to main memory, and finds addresses.
type arrivalsEngine interface {
	// Peers returns the records of PEs that C and Go share.
	Peers() []layout.Peer
	// Apply carries out a message in main memory, and Change does the same for messages that change
	// memory; false: the message was refused.
	Apply(h *layout.Header, payload unsafe.Pointer, n int)
	Change(h *layout.Header, payload unsafe.Pointer, n int) bool
	// Target returns n bytes at an offset of this PE's segment, and Word the word that an atomic
	// operation changes; nil: they are not there, and the job has failed.
	Target(h *layout.Header, offset libshmem.Offset, n uint64) unsafe.Pointer
	Word(h *layout.Header, offset libshmem.Offset, width uint8) unsafe.Pointer
	// Answer sends the answer that a PE has asked for by a token.
	Answer(pe libshmem.PE, token uint32, value uint64)
	// Malformed fails the job because of a message that no engine sends.
	Malformed(h *layout.Header)
	// Lost returns why there is no path to a PE any more; nil: the PE was not lost.
	Lost(pe libshmem.PE) error
}

// flusher makes the GPU see the bytes that NICs have written.
type flusher interface {
	// Flushing reports whether the GPU needs that.
	Flushing() bool
	Flush()
}
