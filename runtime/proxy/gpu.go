package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// GPU moves GPU memory for an engine: bytes that the fabric does not reach, and messages that
// change GPU memory. The engine's lock is held in each call. An engine has none in a job without
// GPU memory.
type GPU interface {
	// Put, PutBytes, Store, Get and AMO are the engine's operations on a PE; after is the signal of
	// a put or nil. If ok is false, the engine does the operation, because it concerns main memory
	// or memory that the fabric reaches.
	Put(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, r *call.Request, after *layout.Header) (st call.Status, ok bool)
	PutBytes(pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, after *layout.Header) (st call.Status, ok bool)
	Store(pe libshmem.PE, offset libshmem.Offset, width uint8, value uint64) (st call.Status, ok bool)
	Get(pe libshmem.PE, offset libshmem.Offset, dest unsafe.Pointer, n uint64, r *call.Request) (st call.Status, ok bool)
	AMO(pe libshmem.PE, h *layout.Header) (st call.Status, ok bool)

	// Apply takes a message that concerns GPU memory, or that may have to follow one that does. It
	// returns false if the engine has to apply the message.
	Apply(h *layout.Header, payload unsafe.Pointer, n int) bool
	// Leave begins a queued put whose turn has come.
	Leave(t fabric.Token) call.Status
	// Landed ends a read that is complete, or has failed with err.
	Landed(t fabric.Token, err int32)
	// MustFollow reports whether an operation of an epoch on a PE has to wait for bytes that were
	// posted before a fence.
	MustFollow(pe libshmem.PE, epoch uint64) bool

	// Holds reports whether n bytes at p are GPU memory. Region returns the region of bytes that
	// the fabric reaches, or nil; flush reports whether the GPU has to be flushed after a read into
	// them.
	Holds(p unsafe.Pointer, n uint64) bool
	Region(p unsafe.Pointer, n uint64) (r *fabric.Region, flush bool)
	// Part returns how many of n bytes a NIC moves at once between a PE's heap and a local address.
	Part(pe libshmem.PE, offset libshmem.Offset, local unsafe.Pointer, n uint64) uint64
	// Aim names the remote side of an operation where it is GPU memory.
	Aim(op *fabric.RMA, offset libshmem.Offset)
	// Flushes reports whether a PE has to flush writes at an offset.
	Flushes(pe libshmem.PE, offset libshmem.Offset) bool
	// Flush makes the GPU see what NICs have written here before the completions of this turn.
	Flush()

	// Advance goes on with its work as far as streams and room allow, and Mark puts a mark behind
	// the work of each stream.
	Advance()
	Mark()
	// Moves reports whether bytes from or for other PEs are on their way through this PE.
	Moves() bool
	// NoRoom reports whether something waits for room.
	NoRoom() bool
	// Looks returns how many looks at streams with work have found no progress.
	Looks() int
	// Lose gives up a PE.
	Lose(pe libshmem.PE)
	// Show shows other processes what streams have not carried out.
	Show(to *[backlog.Streams]backlog.Shown)
	Close() error
}

// Use gives the engine its GPU. It comes before Connect.
func (e *Engine) Use(g GPU) {
	e.gpu = g
	e.all(func(f *Engine) { f.use(g) })
}

// use is the part of Use that each context has.
func (e *Engine) use(g GPU) {
	if g != nil {
		e.rma.GPU, e.in.GPU = g, g
		e.out.Use(g)
	}
}

// Owns reports whether a local buffer is known to be memory, so that the memory map need not be
// read.
func (e *Engine) Owns(p unsafe.Pointer, n uint64) bool {
	return e.ops.Net.Segment.Contains(p, n) || e.gpu != nil && e.gpu.Holds(p, n)
}
