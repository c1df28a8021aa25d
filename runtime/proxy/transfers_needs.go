package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// Messages has the messages of the same context, and the order of its operations on each PE.
type rmaMessages interface {
	// Meet reports whether operations on a PE may be posted. It comes before the first one.
	Meet(pe libshmem.PE, p *layout.Peer) bool
	// Parked reports whether earlier messages to a PE wait for room, which a write would overtake.
	Parked(p *layout.Peer) bool
	// Behind reports whether a write has to wait behind operations on its PE that wait themselves.
	Behind(pe libshmem.PE, p *layout.Peer) bool
	// Enqueue puts a write behind these, until Resume.
	Enqueue(t fabric.Token, s *Record)
	// Drive calls Resume for the writes to a PE that need not wait any longer. Jam asks for it
	// again when there may be room.
	Drive(pe libshmem.PE)
	Jam()

	// Flush asks a PE to answer when it has applied all messages sent so far. Admit returns whether
	// a PE has credit for a message of n bytes.
	Flush(pe libshmem.PE) call.Status
	Admit(pe libshmem.PE, p *layout.Peer, n int) call.Status
	// Follow sends the message in the record of a write that has been posted. Own sends a message,
	// or parks it.
	Follow(s *Record, p *layout.Peer)
	Own(pe libshmem.PE, epoch uint64, l Parity, h layout.Header)
}

// GPU knows where operations reach GPU memory by the fabric. The engine's GPU is one.
type rmaGPU interface {
	// Region returns the region of n local bytes that the fabric reaches in GPU memory, or nil;
	// flush reports whether the GPU has to be flushed after a read into them.
	Region(p unsafe.Pointer, n uint64) (r *fabric.Region, flush bool)
	// Flush does that, before the completions of this turn are reported.
	Flush()
	// Aim names the remote side of an operation where it is GPU memory. Flushes reports whether a
	// PE has to flush writes at an offset.
	Aim(op *fabric.RMA, offset libshmem.Offset)
	Flushes(pe libshmem.PE, offset libshmem.Offset) bool
}
