package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
)

// gpu is what the engine's parts and its monitor ask of a gpustage.Stage. Their tests have one of
// their own.
type gpu interface {
	// MustFollow reports whether an operation of an epoch on a PE has to wait for bytes that were
	// posted before a fence.
	MustFollow(pe libshmem.PE, epoch uint64) bool
	// Leave begins a queued put whose turn has come.
	Leave(t fabric.Token) call.Status
	// Apply takes a message that concerns GPU memory, or that may have to follow one that does. It
	// returns false if the engine has to apply the message.
	Apply(h *layout.Header, payload unsafe.Pointer, n int) bool
	// Region returns the region of n local bytes that the fabric reaches in GPU memory, or nil;
	// flush reports whether the GPU has to be flushed after a read into them.
	Region(p unsafe.Pointer, n uint64) (r *fabric.Region, flush bool)
	// Flush does that, before the completions of this turn are reported.
	Flush()
	// Aim names the remote side of an operation where it is GPU memory. Flushes reports whether a
	// PE has to flush writes at an offset.
	Aim(op *fabric.RMA, offset libshmem.Offset)
	Flushes(pe libshmem.PE, offset libshmem.Offset) bool
	// Looks returns how many looks at streams with work have found no progress. Mark puts a mark
	// behind the work of each stream.
	Looks() int
	Mark()
}

// Use gives the engine its GPU stage, which the engine asks first about each operation and each
// message, with the lock held. It comes before Connect.
func (e *Engine) Use(g *gpustage.Stage) {
	e.gpu = g
	e.all(func(f *Engine) { f.use(g) })
}

// use is the part of Use that each context has.
func (e *Engine) use(g *gpustage.Stage) {
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
