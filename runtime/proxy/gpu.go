package proxy

import (
	"unsafe"

	"libshmem/runtime/proxy/gpustage"
)

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
