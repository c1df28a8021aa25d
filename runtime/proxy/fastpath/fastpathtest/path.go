package fastpathtest

/*
#include <stdlib.h>
#include "fastpath.h"

#cgo noescape path_put
#cgo nocallback path_put
#cgo noescape path_signal
#cgo nocallback path_signal
#cgo nocallback path_amo
#cgo nocallback path_store
#cgo noescape path_receive
#cgo nocallback path_receive

static struct shmemi_fastpath *path_of(struct shmemi_fastpath *x, uint32_t context)
{
    return context == 0 ? x : x->contexts[context];
}
static int path_put(struct shmemi_fastpath *x, struct shmemi_native *n, uint32_t context,
                    uint32_t pe, int64_t offset, const void *source, size_t size)
{
    const struct shmemi_host_operation o = {.kind = SHMEMI_OPERATION_PUT, .pe = (int)pe, .offset = offset,
                                       .source = source, .nbytes = size};
    return shmemi_fastpath_post(path_of(x, context), n, &o) == SHMEMI_DONE;
}
static int path_signal(struct shmemi_fastpath *x, struct shmemi_native *n, uint32_t context,
                       uint32_t pe, int64_t offset, const void *source, size_t size,
                       int64_t at, uint64_t signal, int op)
{
    const struct shmemi_host_operation o = {.kind = SHMEMI_OPERATION_PUT_SIGNAL, .pe = (int)pe,
                                       .offset = offset, .source = source, .nbytes = size,
                                       .signal_offset = at, .operand = signal, .op = op};
    return shmemi_fastpath_post(path_of(x, context), n, &o) == SHMEMI_DONE;
}
static int path_amo(struct shmemi_fastpath *x, struct shmemi_native *n, uint32_t context,
                    uint32_t pe, int64_t offset, int op, int width, uint64_t operand,
                    uint64_t compare)
{
    const struct shmemi_host_operation o = {.kind = SHMEMI_OPERATION_AMO, .pe = (int)pe, .offset = offset,
                                       .op = op, .width = (uint32_t)width, .operand = operand,
                                       .compare = compare};
    return shmemi_fastpath_post(path_of(x, context), n, &o) == SHMEMI_DONE;
}
static int path_store(struct shmemi_fastpath *x, struct shmemi_native *n, uint32_t context,
                      uint32_t pe, int64_t offset, int width, uint64_t value)
{
    return shmemi_fastpath_store(path_of(x, context), n, pe, offset, width, value) == SHMEMI_DONE;
}
static int path_receive(struct shmemi_fastpath *x, struct shmemi_native *n, void *c)
{
    return shmemi_fastpath_receive(x, n, (const struct shmemi_completion *)c) == SHMEMI_DONE;
}
*/
import "C"

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/fastpath" // the import also makes Go rebuild this package after a change of fastpath.h
)

// Path calls the functions of fastpath.h on the state of an engine, as capi/core does. Each method
// reports whether C has done the whole operation. If not, nothing has changed, and the caller has
// to call Go.
type Path struct {
	x      *C.struct_shmemi_fastpath
	native *C.struct_shmemi_native // in C's memory
}

// NewPath returns a Path to the engine whose inner loop has that Config.
func NewPath(c fastpath.Config) *Path {
	native := (*C.struct_shmemi_native)(C.calloc(1, C.sizeof_struct_shmemi_native))
	native.self = c.Self
	native.poll, native.recv, native.inject = (*[0]byte)(c.Poll), (*[0]byte)(c.Recv), (*[0]byte)(c.Inject)
	return &Path{(*C.struct_shmemi_fastpath)(c.FastPath), native}
}

// Close frees the memory.
func (p *Path) Close() { C.free(unsafe.Pointer(p.native)) }

// Put posts a put on a context by the fast path, otherwise like Engine.Put.
func (p *Path) Put(context uint32, pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64) bool {
	return C.path_put(p.x, p.native, C.uint32_t(context), C.uint32_t(pe), C.int64_t(offset), source, C.size_t(n)) != 0
}

// PutSignal posts a put with a signal by the fast path, otherwise like Engine.PutSignal.
func (p *Path) PutSignal(context uint32, pe libshmem.PE, offset libshmem.Offset, source unsafe.Pointer, n uint64, at libshmem.Offset, signal uint64, op fabric.Op) bool {
	return C.path_signal(p.x, p.native, C.uint32_t(context), C.uint32_t(pe), C.int64_t(offset), source, C.size_t(n),
		C.int64_t(at), C.uint64_t(signal), C.int(op)) != 0
}

// AMO posts an atomic operation that does not fetch by the fast path, otherwise like Engine.AMO.
func (p *Path) AMO(context uint32, pe libshmem.PE, offset libshmem.Offset, op fabric.Op, width uint8, operand, compare uint64) bool {
	return C.path_amo(p.x, p.native, C.uint32_t(context), C.uint32_t(pe), C.int64_t(offset), C.int(op), C.int(width),
		C.uint64_t(operand), C.uint64_t(compare)) != 0
}

// Store posts the store of an element by the fast path, otherwise like Engine.Store.
func (p *Path) Store(context uint32, pe libshmem.PE, offset libshmem.Offset, width uint8, value uint64) bool {
	return C.path_store(p.x, p.native, C.uint32_t(context), C.uint32_t(pe), C.int64_t(offset), C.int(width), C.uint64_t(value)) != 0
}

// Receive handles a completion, as Engine.Complete does.
func (p *Path) Receive(c *fabric.Completion) bool {
	return C.path_receive(p.x, p.native, unsafe.Pointer(c)) != 0
}
