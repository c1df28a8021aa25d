package proxy

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// GPU moves GPU memory for an engine, whose lock is held whenever it is called: bytes that the
// fabric does not reach, and messages that change them. An engine has none in a job without GPU
// memory.
type GPU interface {
	// Put, PutBytes, Store, Get and AMO are operations on a PE as the engine's own; after is the
	// signal of a put or nil. Not ok: the engine does them, for they concern main memory or
	// memory that the fabric reaches.
	Put(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, r *call.Request, after *layout.Header) (st call.Status, ok bool)
	PutBytes(pe fabric.PE, offset int64, source unsafe.Pointer, n uint64, after *layout.Header) (st call.Status, ok bool)
	Store(pe fabric.PE, offset int64, width uint8, value uint64) (st call.Status, ok bool)
	Get(pe fabric.PE, offset int64, dest unsafe.Pointer, n uint64, r *call.Request) (st call.Status, ok bool)
	AMO(pe fabric.PE, h *layout.Header) (st call.Status, ok bool)

	// Apply takes a message that concerns GPU memory or may have to follow what does; false: the
	// engine applies it.
	Apply(h *layout.Header, payload unsafe.Pointer, n int) bool
	// Leave begins a put that was queued, whose turn has come.
	Leave(t fabric.Token) call.Status
	// Landed comes when a read is complete, or has failed with err.
	Landed(t fabric.Token, err int32)
	// MustFollow reports whether an operation of an epoch on a PE has to wait for bytes that were
	// posted before a fence.
	MustFollow(pe fabric.PE, epoch uint64) bool

	// Holds reports whether n bytes at p are GPU memory, and Region the region of bytes that the
	// fabric reaches; nil: it does not. flush: what is read into them has to be flushed.
	Holds(p unsafe.Pointer, n uint64) bool
	Region(p unsafe.Pointer, n uint64) (r *fabric.Region, flush bool)
	// Aim names the remote side of an operation where it is GPU memory.
	Aim(op *fabric.RMA, offset int64)
	// Flushes reports whether a PE has to flush what is written at an offset.
	Flushes(pe fabric.PE, offset int64) bool
	// Flush has the GPU see what NICs have written here before what came in this turn.
	Flush()

	// Advance does what streams and room allow, and Mark marks the end of what they were asked for.
	Advance()
	Mark()
	// NoRoom reports whether something waits for room.
	NoRoom() bool
	// Looks counts the looks at streams that have work, since one has got on.
	Looks() int
	// Lose gives up a PE.
	Lose(pe fabric.PE)
	// Show shows other processes what streams have not carried out.
	Show(to *[backlog.Streams]backlog.Shown)
	Close() error
}

// Use gives the engine what moves GPU memory. It comes before Connect.
func (e *Engine) Use(g GPU) { e.gpu = g }

// Owns reports whether a local buffer is known without a look at what is mapped.
func (e *Engine) Owns(p unsafe.Pointer, n uint64) bool {
	return e.segment.Contains(p, n) || e.gpu != nil && e.gpu.Holds(p, n)
}
