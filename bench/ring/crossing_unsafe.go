package main

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror -fno-strict-aliasing
#cgo CFLAGS: -I${SRCDIR}/../../device -I${SRCDIR}/../../abi
#cgo CFLAGS: -I${SRCDIR}/../../runtime/proxy/fastpath -I${SRCDIR}/../../runtime/proxy/fastpath/fastpathtest
#cgo LDFLAGS: -lpthread -ldl
#include "consume.h"
#include "load.h"
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/fastpath/fastpathtest"
)

// request is struct bench_request.
type request struct {
	dest, local, length, value uint64
	pe                         uint32
	context                    uint16
	code, width                uint8
}

var (
	_ [C.sizeof_struct_bench_request]byte = [unsafe.Sizeof(request{})]byte{}
	_ [C.BENCH_BATCH]byte                 = [batchSize]byte{}
	_ [C.BENCH_STEPS]byte                 = [len(delays{}.steps)]byte{}
	_ [C.sizeof_struct_bench_delays]byte  = [unsafe.Sizeof(delays{})]byte{}
)

// provider is struct bench_null, with a batch of requests for it. The batch is in C's memory, so
// that a call of C posts it without a copy.
type provider struct {
	requests []request // memory, as a slice
	memory   *C.struct_bench_request
	null     *C.struct_bench_null
}

func newProvider(a *run) *provider {
	p := &provider{
		memory: (*C.struct_bench_request)(C.calloc(batchSize, C.sizeof_struct_bench_request)),
		null:   (*C.struct_bench_null)(C.calloc(1, C.sizeof_struct_bench_null)),
	}
	p.requests = unsafe.Slice((*request)(unsafe.Pointer(p.memory)), batchSize)
	if a.paced {
		p.null.paced = 1
	}
	p.null.start, p.null.rate, p.null.skip = C.uint64_t(a.start), C.double(a.rate), C.uint64_t(a.skip)
	return p
}

// post posts the first n requests.
func (p *provider) post(n int) { C.bench_post(p.null, p.memory, C.int(n)) }

// await waits until a number of operations is posted, or none has been for ns. It returns the
// number posted. It waits in C, so that no timer of Go's scheduler affects the measurement.
func (p *provider) await(posts, ns uint64) uint64 {
	return uint64(C.bench_await(p.null, C.uint64_t(posts), C.uint64_t(ns)))
}

// close stores the delays in the run, and frees the provider.
func (p *provider) close(a *run) {
	a.delays = *(*delays)(unsafe.Pointer(&p.null.delays))
	C.free(unsafe.Pointer(p.memory))
	C.free(unsafe.Pointer(p.null))
}

// native is the provider for an engine of the library: fastpathtest's, except that it posts to a
// bench_null.
type native struct {
	*fastpathtest.Null
	to *provider
}

func (p *provider) native() native {
	// The operations that are posted are puts of single elements, which the proxy sends as messages.
	caps := fabric.Caps{MaxMessage: 1 << 30, MaxInject: 64, WriteAfterWrite: true, SendAfterWrite: true, SendAfterSend: true}
	return native{fastpathtest.NewNull(unsafe.Pointer(&p.null.null), caps), p}
}

func (n native) Native() fabric.Native {
	t := n.Null.Native()
	t.Inject = C.bench_inject
	return t
}

func (n native) Send(op *fabric.Send) error {
	// A message that several operations share is longer than what is injected, and counts as each of
	// them.
	if !op.Inject && (*C.struct_shmemi_header)(op.Buf).kind == C.SHMEMI_MESSAGE_BATCH {
		C.bench_inject(unsafe.Pointer(n.to.null), C.uint32_t(op.To), op.Buf, C.size_t(op.Len))
		return n.Null.Send(op)
	}
	if op.Inject && C.bench_inject(unsafe.Pointer(n.to.null), C.uint32_t(op.To), op.Buf, C.size_t(op.Len)) == 0 {
		return nil
	}
	return fabric.ErrAgain
}

// cWords returns words of C's memory.
func cWords(n int) []uint32 { return unsafe.Slice((*uint32)(C.calloc(C.size_t(n), 4)), n) }

func freeWords(w []uint32) { C.free(unsafe.Pointer(&w[0])) }

// consumeInC does what consumer.consume does, by the reference consumer in C.
func consumeInC(rings []*ring, a *run, to *provider) {
	views := (*C.struct_bench_view)(C.calloc(C.size_t(len(rings)), C.sizeof_struct_bench_view))
	r := (*C.struct_bench_run)(C.calloc(1, C.sizeof_struct_bench_run))
	defer C.free(unsafe.Pointer(views))
	defer C.free(unsafe.Pointer(r))
	for i, v := range unsafe.Slice(views, len(rings)) {
		v.slots = (*C.uint64_t)(rings[i].memory.Slots)
		v.line = (*C.struct_shmemi_ring_progress)(unsafe.Pointer(rings[i].memory.Line))
		v.replies = (*C.struct_shmemi_reply)(rings[i].memory.Replies)
		v.log2_slots, v.log2_replies = C.uint32_t(rings[i].desc.Log2Slots), C.uint32_t(rings[i].desc.Log2Replies)
		unsafe.Slice(views, len(rings))[i] = v
	}
	r.operations, r.limit_ns = C.uint64_t(a.operations), C.uint64_t(a.limit)
	if a.paced {
		r.paced = 1
	}
	if a.yields {
		r.yields = 1
	}
	C.bench_consume(views, C.int(len(rings)), r, to.null)
	a.consumed, a.sum, a.unknown, a.batches = uint64(r.consumed), uint64(r.sum), uint64(r.unknown), uint64(r.batches)
	a.first, a.last, a.gaveUp = uint64(r.first_ns), uint64(r.last_ns), r.gave_up != 0
}

// add counts a delay.
func (d *delays) add(ns int64) {
	C.bench_delay((*C.struct_bench_delays)(unsafe.Pointer(d)), C.int64_t(ns))
}

// yield lets another thread have the core.
func yield() { C.bench_yield() }

// pin binds the calling thread to a core.
func pin(core int) bool { return C.bench_pin(C.int(core)) == 0 }

// epoch is a reading of Go's clock with CLOCK_MONOTONIC's at the same time: the two are one clock,
// but package time does not say from which moment it counts.
var epoch = func() (e struct {
	at time.Time
	ns uint64
}) {
	best := time.Duration(1 << 62)
	for range 1000 {
		t0 := time.Now()
		ns := uint64(C.bench_now())
		if window := time.Since(t0); window < best {
			best, e.at, e.ns = window, t0.Add(window/2), ns
		}
	}
	return e
}()

// now returns CLOCK_MONOTONIC in ns.
func now() uint64 { return epoch.ns + uint64(time.Since(epoch.at)) }

// producer is the table of functions of host producers or of a GPU's (producer.h).
type producer struct{ table *C.struct_bench_producer }

func hostProducer() producer { return producer{C.bench_host()} }

func gpuProducer(path string, device int) (producer, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why [256]C.char
	p := producer{C.bench_load_gpu(name, &why[0], C.int(len(why)))}
	if p.table == nil {
		return p, fmt.Errorf("load %s: %s (build bench/gpu/kernels.cu)", path, C.GoString(&why[0]))
	}
	return p, p.check("open the GPU", C.bench_open(p.table, C.int(device)))
}

func (p producer) check(op string, code C.int) error {
	if code == 0 {
		return nil
	}
	return errors.New(op + ": " + C.GoString(C.bench_error(p.table)))
}

// target is the rings into which producers push, as struct bench_target: the addresses are those of
// the producers.
type target struct {
	rings   uint64 // of the table of rings
	count   int    // of rings
	sources uint64 // of the memory for operands of puts
}

func (t target) c() *C.struct_bench_target {
	c := &C.struct_bench_target{count: C.uint32_t(t.count), sources: C.uint64_t(t.sources)}
	// The address may be one of the GPU's, which Go must not take for a pointer of its own.
	*(*uint64)(unsafe.Pointer(&c.rings)) = t.rings
	return c
}

func (p producer) push(load int, s shape, each uint64, t target) error {
	return p.check("start producers", C.bench_push(p.table, C.int(load), C.uint32_t(s.blocks), C.uint32_t(s.threads), C.uint64_t(each), t.c()))
}

func (p producer) ack(kind, count int, t target, samples uint64) error {
	var to *C.uint64_t
	*(*uint64)(unsafe.Pointer(&to)) = samples
	return p.check("start the producer", C.bench_ack(p.table, C.int(kind), C.uint32_t(count), t.c(), to))
}

func (p producer) paced(start, periodPS, count uint64, t target) error {
	return p.check("start producers", C.bench_paced(p.table, C.uint64_t(start), C.uint64_t(periodPS), C.uint64_t(count), t.c()))
}

func (p producer) wait() error { return p.check("wait for producers", C.bench_wait(p.table)) }

// reading is a comparison of the producers' clock (own) with CLOCK_MONOTONIC (host), in ns: own was
// read within window ns around host.
type reading struct{ host, own, window uint64 }

func (p producer) clock() (reading, error) {
	var c C.struct_bench_clock
	err := p.check("read the producers' clock", C.bench_clock_of(p.table, &c))
	return reading{uint64(c.host), uint64(c.own), uint64(c.window)}, err
}

// expected returns the sum of the fields of all operations of a run.
func expected(load int, threads, each, sources uint64) uint64 {
	return uint64(C.bench_expected(C.int(load), C.uint64_t(threads), C.uint64_t(each), C.uint64_t(sources)))
}

// The loads and the acknowledgements, as numbered in C.
const (
	loadP     = C.BENCH_P
	loadBurst = C.BENCH_BURST
	loadPut   = C.BENCH_PUT
	burstOps  = C.BENCH_BURST_OPS
	ackTail   = C.BENCH_ACK_TAIL
	ackQuiet  = C.BENCH_ACK_QUIET
	ackFetch  = C.BENCH_ACK_FETCH
	ackBare   = C.BENCH_ACK_BARE
)
