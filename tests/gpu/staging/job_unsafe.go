package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

const (
	internal = 4096
	heapSize = 64 << 20
	heapAt   = 4096 // start of the bytes; words and signals are before it
)

// kinds are the kinds of memory in a job.
type kinds struct{ device, mapped bool }

// job is two PEs, which may have one GPU or two.
type job struct {
	devs [2]*cuda.Device
	k    kinds
	pes  []*pe
	undo []func() error
}

// pe is one of them; a separate thread serves its engine, and also posts the test's operations.
type pe struct {
	*proxy.Engine
	stage  *gpustage.Stage
	j      *job
	dev    *cuda.Device
	module *cuda.Module
	chunk  gpu.Chunk // of the heap, if heaps are mapped
	number libshmem.PE
	heap   *block
	host   *block // a buffer of main memory
	local  *block // and one of the GPU
	seen   *uint64
	stream gpu.Stream
	next   atomic.Pointer[operation]
	failed atomic.Pointer[error]
	stop   atomic.Bool
	ended  chan struct{}
}

// operation is posted until it is not refused any more.
type operation struct {
	f    func() proxy.Status
	done atomic.Bool
	last proxy.Status
	err  error
}

// block is memory of one kind.
type block struct {
	kind string
	dev  *cuda.Device
	base unsafe.Pointer
	gpu  bool
}

func (b *block) at(o uint64) unsafe.Pointer       { return unsafe.Add(b.base, o) }
func (b *block) address(o uint64) gpu.Address     { return gpu.Address(uintptr(b.at(o))) }
func (b *block) write(data []byte) error          { return b.writeAt(0, data) }
func (b *block) writeAt(o uint64, d []byte) error { return b.move(o, d, true) }

func (b *block) read(o, n uint64) ([]byte, error) {
	d := make([]byte, n)
	return d, b.move(o, d, false)
}

func (b *block) word(o uint64) (uint64, error) {
	d, err := b.read(o, 8)
	return binary.NativeEndian.Uint64(d), err
}

// writeWords stores seed, seed+1 and so on.
func (b *block) writeWords(n, seed uint64) error {
	d := make([]byte, 0, 8*n)
	for i := range n {
		d = append(d, encode(seed+i)...)
	}
	return b.write(d)
}

func encode(v uint64) []byte { return binary.NativeEndian.AppendUint64(nil, v) }

// bounce is pinned memory through which move copies. It is kept until the process ends: the driver
// frees pinned memory when all kernels have ended, and some wait for the data of move.
type bounce struct {
	host   unsafe.Pointer
	at     gpu.Address
	size   uint64
	stream gpu.Stream
}

var bounces = map[*cuda.Device]*bounce{}

func bounceOf(dev *cuda.Device, n uint64) (*bounce, error) {
	way := bounces[dev]
	if way == nil {
		s, err := dev.NewStream()
		if err != nil {
			return nil, err
		}
		way = &bounce{stream: s}
		bounces[dev] = way
	}
	if n > way.size {
		p, a, err := dev.HostAlloc(n)
		if err != nil {
			return nil, err
		}
		way.host, way.at, way.size = p, a, n
	}
	return way, nil
}

// move copies between a block and the test, which sees pinned memory only.
func (b *block) move(o uint64, d []byte, in bool) error {
	if !b.gpu {
		there := unsafe.Slice((*byte)(b.at(o)), len(d))
		if in {
			copy(there, d)
		} else {
			copy(d, there)
		}
		return nil
	}
	way, err := bounceOf(b.dev, uint64(len(d)))
	if err != nil {
		return err
	}
	pinned := unsafe.Slice((*byte)(way.host), len(d))
	if in {
		copy(pinned, d)
		err = b.dev.CopyAsync(way.stream, b.address(o), way.at, uint64(len(d)))
	} else {
		err = b.dev.CopyAsync(way.stream, way.at, b.address(o), uint64(len(d)))
	}
	if err == nil {
		err = b.dev.SyncStream(way.stream)
	}
	if err == nil && !in {
		copy(d, pinned)
	}
	return err
}

// pattern is n bytes that differ from the ones before.
var salt byte

func pattern(n uint64) []byte {
	salt += 7
	d := make([]byte, n)
	for i := range d {
		d[i] = byte(i>>8) ^ byte(i) + salt
	}
	return d
}

func open(devs [2]*cuda.Device, k kinds) (_ *job, err error) {
	j := &job{devs: devs, k: k}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.close())
		}
	}()
	ends, stages := make([]proxy.Endpoint, 2), make([]gpustage.Endpoint, 2)
	for i := range ends {
		p, err := j.open(libshmem.PE(i))
		if err != nil {
			return nil, err
		}
		ends[i], stages[i] = p.Endpoint(), p.stage.Endpoint()
	}
	for i, p := range j.pes {
		if err := p.Connect(ends); err != nil {
			return nil, err
		}
		p.stage.Connect(stages)
		if k.mapped {
			at, err := p.mapped(j.pes[1-i].chunk)
			if err != nil {
				return nil, err
			}
			p.stage.Map(libshmem.PE(1-i), at)
		}
	}
	for _, p := range j.pes {
		go p.serve()
		j.undo = append(j.undo, func() error {
			p.stop.Store(true)
			<-p.ended
			return nil
		})
	}
	return j, nil
}

// later registers a cleanup for when the job is closed, unless there is an error.
func (j *job) later(err error, f func() error) {
	if err == nil {
		j.undo = append(j.undo, f)
	}
}

// memory allocates a block.
func (p *pe) memory(device bool) (*block, error) {
	if !device {
		host, _, err := p.dev.HostAlloc(heapSize)
		p.j.later(err, func() error { return p.dev.HostFree(host) })
		return &block{kind: "main memory", dev: p.dev, base: host}, err
	}
	a, err := p.dev.Alloc(heapSize)
	p.j.later(err, func() error { return p.dev.Free(a) })
	return &block{kind: "GPU memory", dev: p.dev, base: pointer(a), gpu: true}, err
}

func pointer(a gpu.Address) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// sharedHeap allocates the heap as the library does it, by CUDA's virtual memory management (VMM),
// so that the other PE's GPU can have it at an address of its own.
func (p *pe) sharedHeap() (_ *block, err error) {
	p.chunk, err = p.dev.CreateChunk(heapSize)
	p.j.later(err, func() error { return p.dev.ReleaseChunk(p.chunk) })
	if err != nil {
		return nil, err
	}
	at, err := p.mapped(p.chunk)
	return &block{kind: "GPU memory", dev: p.dev, base: at, gpu: true}, err
}

// mapped returns the place where the PE's GPU reaches a heap.
func (p *pe) mapped(c gpu.Chunk) (unsafe.Pointer, error) {
	a, err := p.dev.Reserve(heapSize, 2<<20)
	p.j.later(err, func() error { return p.dev.Unreserve(a, heapSize) })
	if err == nil {
		err = p.dev.MapChunk(a, heapSize, c)
		p.j.later(err, func() error { return p.dev.UnmapChunk(a, heapSize) })
	}
	return pointer(a), err
}

func (j *job) open(number libshmem.PE) (*pe, error) {
	p := &pe{j: j, dev: j.devs[number], number: number, ended: make(chan struct{})}
	var err error
	if p.module, err = p.dev.LoadModule(code); err != nil {
		return nil, err
	}
	j.undo = append(j.undo, p.module.Close)
	area, _, err := p.dev.HostAlloc(internal + heapSize)
	if err != nil {
		return nil, err
	}
	j.undo = append(j.undo, func() error { return p.dev.HostFree(area) })
	segment := mem.Segment{Base: area, Internal: internal, Size: internal + heapSize}
	p.heap = &block{kind: "main memory", dev: p.dev, base: unsafe.Add(area, internal)}
	if j.k.device {
		if j.k.mapped {
			p.heap, err = p.sharedHeap()
		} else {
			p.heap, err = p.memory(true)
		}
		if err != nil {
			return nil, err
		}
		segment.Heap = p.heap.base
	}
	if p.host, err = p.memory(false); err != nil {
		return nil, err
	}
	if p.local, err = p.memory(true); err != nil {
		return nil, err
	}
	if p.stream, err = p.dev.NewStream(); err != nil {
		return nil, err
	}
	j.undo = append(j.undo, func() error { return p.dev.CloseStream(p.stream) })
	if j.k.device {
		if err := p.load(); err != nil {
			return nil, err
		}
	}
	// The provider that is named tcp since libfabric 1.18 was net before, and the tcp of those
	// releases is slower.
	prov, err := ofi.Open(fabric.Config{Provider: "net", Tokens: layout.Tokens, MaxRecv: layout.Receives})
	if err != nil {
		prov, err = ofi.Open(fabric.Config{Provider: "tcp", Tokens: layout.Tokens, MaxRecv: layout.Receives})
	}
	if err != nil {
		return nil, err
	}
	w := new([5]uint32)
	p.Engine, err = proxy.New(prov, int(number), 2, segment,
		wake.Words{Lock: &w[0], Pollers: &w[1], Napping: &w[2], Sleepers: &w[3], Wakes: &w[4]},
		func(err error) { p.failed.CompareAndSwap(nil, &err) })
	if err != nil {
		return nil, err
	}
	j.undo = append(j.undo, p.Close)
	m, err := gpustage.NewMemory(p.dev, nil, nil)
	if err != nil {
		return nil, err
	}
	if p.stage, err = gpustage.New(p.Host(), m, gpustage.Config{Lock: new(gpustage.AtomicsLock)}); err != nil {
		return nil, err
	}
	p.Use(p.stage)
	j.pes = append(j.pes, p)
	return p, nil
}

// close undoes everything, last first.
func (j *job) close() error {
	var errs []error
	for i := len(j.undo) - 1; i >= 0; i-- {
		errs = append(errs, j.undo[i]())
	}
	return errors.Join(errs...)
}

// serve is the loop of a proxy that never sleeps.
func (p *pe) serve() {
	defer close(p.ended)
	for !p.stop.Load() {
		if op := p.next.Load(); op != nil {
			if op.last = op.f(); op.last != proxy.Again {
				if op.last == proxy.Failed {
					op.err = p.Err()
				}
				p.next.Store(nil)
				op.done.Store(true)
			}
		}
		if _, err := p.Poll(); err != nil {
			p.failed.CompareAndSwap(nil, &err)
		}
	}
}

// post makes the engine's thread post an operation, and waits until it has.
func (p *pe) post(f func() proxy.Status) error {
	op := &operation{f: f}
	p.next.Store(op)
	for until := time.Now().Add(deadline); !op.done.Load(); {
		if err := p.j.failure(); err != nil {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("PE %d: nothing happens", p.number)
		}
	}
	return op.err
}

func (j *job) failure() error {
	for _, p := range j.pes {
		if err := p.failed.Load(); err != nil {
			return fmt.Errorf("PE %d: %w", p.number, *err)
		}
	}
	return nil
}

func (p *pe) quiet() error {
	var t proxy.Ticket
	return p.post(func() proxy.Status {
		if t == 0 {
			t = p.QuietBegin()
		}
		if st := p.QuietDone(t); st != proxy.Pending {
			return st
		}
		return proxy.Again
	})
}

// do posts an operation and waits until it is complete.
func (p *pe) do(f func() proxy.Status) error {
	if err := p.post(f); err != nil {
		return err
	}
	return p.quiet()
}

// main returns the buffer of the job's kind.
func (p *pe) main() *block {
	if p.j.k.device {
		return p.local
	}
	return p.host
}

func (p *pe) put(o uint64, from unsafe.Pointer, n uint64) proxy.Status {
	return p.Put(1-p.number, libshmem.Offset(o), from, n, nil)
}

func (p *pe) get(o uint64, to unsafe.Pointer, n uint64) proxy.Status {
	return p.Get(1-p.number, libshmem.Offset(o), to, n, nil)
}

func (p *pe) add(to libshmem.PE, o, value uint64) proxy.Status {
	return p.AMO(to, libshmem.Offset(o), fabric.OpAdd, 8, value, 0, nil, nil)
}

func (p *pe) putSignal(o uint64, from unsafe.Pointer, n, at, signal uint64) proxy.Status {
	return p.PutSignal(1-p.number, libshmem.Offset(o), from, n, libshmem.Offset(at), signal, fabric.OpSet, nil)
}
