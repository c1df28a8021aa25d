package main

import (
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
)

//go:embed spin.ptx
var code []byte

// load launches each kernel once, with a signal that has arrived. CUDA loads kernels at their first
// launch. The proxies of this test copy in the program's context, where the driver does no work
// while it loads a kernel beside one that waits: PE 1's relay beside PE 0's, on one GPU.
func (p *pe) load() error {
	scratch, a, err := p.dev.HostAlloc(16)
	if err != nil {
		return err
	}
	p.j.undo = append(p.j.undo, func() error { return p.dev.HostFree(scratch) })
	signal := p.heap.address(0)
	if err := p.heap.writeAt(0, encode(1)); err != nil {
		return err
	}
	for name, args := range map[string][]uint64{
		"relay": {uint64(signal), uint64(a), 1},
		"spin":  {uint64(a), uint64(signal), 1, uint64(signal), 0, 0, uint64(a)},
	} {
		if err := p.launch(name, 1, 1, args...); err != nil {
			return err
		}
	}
	return errors.Join(p.dev.SyncStream(p.stream), p.heap.writeAt(0, encode(0)))
}

// launch runs a kernel on the PE's stream.
func (p *pe) launch(name string, blocks, threads uint32, args ...uint64) error {
	kernel, err := p.module.Function(name)
	if err != nil {
		return err
	}
	var bytes [][]byte
	for _, v := range args {
		bytes = append(bytes, encode(v))
	}
	grid := cuda.Grid{Blocks: [3]uint32{blocks, 1, 1}, Threads: [3]uint32{threads, 1, 1}}
	return p.dev.Launch(kernel, grid, p.stream, bytes...)
}

// relay makes the PE's signals visible to the host.
func (p *pe) relay(last uint64) error {
	if err := p.heap.writeAt(0, encode(0)); err != nil {
		return err
	}
	if !p.heap.gpu {
		p.seen = (*uint64)(p.heap.base)
		return nil
	}
	word, a, err := p.dev.HostAlloc(8)
	if err != nil {
		return err
	}
	p.j.undo = append(p.j.undo, func() error { return p.dev.HostFree(word) })
	p.seen = (*uint64)(word)
	atomic.StoreUint64(p.seen, 0)
	return p.launch("relay", 1, 1, uint64(p.heap.address(0)), uint64(a), last)
}

// spin fills the GPU with threads that wait until the word at signal is want. It returns when they
// all run; wait then returns when they have ended, and reports whether one of words at data was not
// seed plus its index.
func (j *job) spin(signal gpu.Address, want uint64, data gpu.Address, words, seed uint64) (wait func(time.Duration) error, err error) {
	p := j.pes[1]
	counts, a, err := p.dev.HostAlloc(8)
	if err != nil {
		return nil, err
	}
	j.undo = append(j.undo, func() error { return p.dev.HostFree(counts) })
	started, wrong := (*uint32)(counts), (*uint32)(unsafe.Add(counts, 4))
	atomic.StoreUint32(started, 0)
	atomic.StoreUint32(wrong, 0)
	// Two blocks of 1024 threads are all for which a multiprocessor has room. A copy within one
	// GPU, which did not complete beside these, gets half of it.
	blocks := uint32(2 * p.dev.Facts().SMs)
	if j.k.mapped && j.devs[0] == j.devs[1] {
		blocks /= 2
	}
	err = p.launch("spin", blocks, 1024, uint64(a), uint64(signal), want, uint64(data), words, seed, uint64(a)+4)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(deadline); atomic.LoadUint32(started) != blocks; {
		if time.Now().After(until) {
			return nil, fmt.Errorf("%d of %d blocks run", atomic.LoadUint32(started), blocks)
		}
	}
	return func(d time.Duration) error {
		for until := time.Now().Add(d); ; {
			done, err := p.dev.StreamDone(p.stream)
			switch n := atomic.LoadUint32(wrong); {
			case err != nil:
				return err
			case done && n > 0:
				return fmt.Errorf("%d of %d words were not there when the signal was", n, words)
			case done:
				return nil
			case time.Now().After(until):
				return errors.New("the kernel still waits for the signal")
			}
		}
	}, nil
}
