package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// Sender has the messages of the same context to other PEs.
type receiverSender interface {
	// Meet prepares for the first message of a PE, and reports whether there is a path to the PE.
	Meet(pe libshmem.PE, p *layout.Peer) bool
	// Own sends an answer, or parks it. SendBytes sends a message with a payload of n bytes if
	// there is room.
	Own(pe libshmem.PE, epoch uint64, l Parity, h layout.Header)
	SendBytes(pe libshmem.PE, epoch uint64, l Parity, h *layout.Header, payload unsafe.Pointer, n int) call.Status
	// Flushed takes the answer to a flush; false: it was not asked for.
	Flushed(h *layout.Header) bool
	// Drive posts what waits for a PE, if a message of that PE was an answer that it waits for.
	Drive(pe libshmem.PE)
}

// GPU is what a Receiver needs of the engine's GPU.
type receiverGPU interface {
	// Apply takes a message that concerns GPU memory, or that may have to follow one that does. It
	// returns false if the engine has to apply the message.
	Apply(h *layout.Header, payload unsafe.Pointer, n int) bool
}
