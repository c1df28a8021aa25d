package main

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"libshmem/runtime/gpu/cuda"
)

// spin is a kernel that runs until a word of main memory is not 0.
const spin = `.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 word)
{
	.reg .u64 %a;
	.reg .u32 %v;
	.reg .pred %p;
	ld.param.u64 %a, [word];
again:
	ld.volatile.global.u32 %v, [%a];
	setp.eq.u32 %p, %v, 0;
	@%p bra again;
	ret;
}
`

// spinTimeout limits the time that a kernel spins: an operation that waits for the kernel takes at
// least that long, and so is noticed.
const spinTimeout = 2 * time.Second

// busy runs something while a kernel runs on this PE's GPU, as can happen when the program
// allocates, and reports whether it had to wait for the kernel.
func (p *player) busy(what string, f func() error) error {
	m, err := p.dev.LoadModule([]byte(spin))
	if err != nil {
		// A container may have the driver without its compiler.
		if p.me == 0 {
			p.note("%s, but not while a kernel runs: %v", what, err)
		}
		return f()
	}
	err = p.whileSpinning(m, what, f)
	return errors.Join(err, m.Close())
}

func (p *player) whileSpinning(m *cuda.Module, what string, f func() error) error {
	kernel, err := m.Function("spin")
	if err != nil {
		return err
	}
	host, at, err := p.dev.HostAlloc(64)
	if err != nil {
		return err
	}
	word := (*uint32)(host)
	atomic.StoreUint32(word, 0)
	stream, err := p.dev.NewStream()
	if err != nil {
		return errors.Join(err, p.dev.HostFree(host))
	}
	one := [3]uint32{1, 1, 1}
	// The first launch of a kernel loads it, which must not delay the test.
	atomic.StoreUint32(word, 1)
	launch := func() error {
		return p.dev.Launch(kernel, cuda.Grid{Blocks: one, Threads: one}, stream, binary.LittleEndian.AppendUint64(nil, uint64(at)))
	}
	err = errors.Join(launch(), p.dev.SyncStream(stream))
	atomic.StoreUint32(word, 0)
	if err == nil {
		err = launch()
	}
	stop := time.AfterFunc(spinTimeout, func() { atomic.StoreUint32(word, 1) })
	if err == nil {
		err = p.together()
	}
	begin := time.Now()
	if err == nil {
		err = f()
	}
	took := since(begin)
	waited := !stop.Stop()
	atomic.StoreUint32(word, 1)
	if p.me == 0 && err == nil {
		p.note("%s while a kernel runs: %s; it waits for the kernel: %v", what, took, waited)
	}
	return errors.Join(err, p.dev.SyncStream(stream), p.dev.CloseStream(stream), p.dev.HostFree(unsafe.Pointer(word)))
}
