package proxy

import (
	"unsafe"

	"libshmem/runtime/proxy/gpustage"
)

// Use sets the GPU stage of the engine, which handles GPU memory: the engine calls the stage first
// for each operation and each message, under its lock. Use must be called before Connect.
func (e *Engine) Use(g *gpustage.Stage) {
	e.gpu = g
	e.forEachContext(func(f *Engine) { f.use(g) })
}

// use passes the GPU stage to the parts of one context.
func (e *Engine) use(g *gpustage.Stage) {
	if g != nil {
		e.rma.GPU, e.in.GPU = g, g
		e.out.Use(g)
	}
}

// Owns reports whether n bytes at p are known to be memory of this process, in the symmetric
// segment or on the GPU, so that the caller need not read the process's memory map.
func (e *Engine) Owns(p unsafe.Pointer, n uint64) bool {
	return e.ops.Net.Segment.Contains(p, n) || e.gpu != nil && e.gpu.Holds(p, n)
}
