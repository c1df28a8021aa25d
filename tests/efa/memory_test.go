package efa

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
)

// D10: memory of GPUs within a dma-buf.
var memoryNeeds = []need{
	{name: "D10: a dma-buf without an offset", nic: "version=2.6", test: withOffset(0)},
	{name: "D10: a dma-buf with an offset, efa", nic: "version=1.22", test: withOffset(1 << 16)},
	{name: "D10: a dma-buf with an offset, efa-direct", nic: "version=2.6", test: withOffset(1 << 16)},
}

// slingshotNeeds are C1 and C2, and the proof of registered memory, which any NIC needs.
var slingshotNeeds = []need{
	{name: "C1: puts above 4040 bytes, cxi 1.22", nic: "provider=cxi version=1.22", test: everyByteOnCXI},
	{name: "C1: puts above 4040 bytes, cxi 2.3", nic: "provider=cxi version=2.3", test: everyByteOnCXI},
	{name: "C2: no dma-buf, cxi 1.22", nic: "provider=cxi version=1.22", test: noDMABuf},
	{name: "C2: no dma-buf, cxi 2.3", nic: "provider=cxi version=2.3", test: noDMABuf},
	{name: "C2: a region that nothing reaches is found", nic: "version=2.6 unreached_at=2 peer=0", test: proved},
}

// withOffset registers a part of a dma-buf that stands for memory of a GPU. A write to the address
// of the part arrives in the part.
func withOffset(offset int) func(*place) error {
	return func(p *place) error {
		const whole, size, token = 1 << 18, 4096, 1
		end, err := ofi.Open(fabric.Config{Library: p.library, Provider: "efa", Tokens: 8, MaxRecv: 4, GPU: true})
		if err != nil {
			return err
		}
		file, err := unix.MemfdCreate("gpu", unix.MFD_CLOEXEC)
		if err == nil {
			err = unix.Ftruncate(file, whole)
		}
		if err != nil {
			p.Fatal(err)
		}
		memory, err := unix.Mmap(file, 0, whole, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			p.Fatal(err)
		}
		source := bytes.Repeat([]byte("GPUs"), size/4)
		local, err := end.Register(unsafe.Pointer(&source[0]), size)
		if err == nil {
			err = end.Connect([][]byte{end.Addr()})
		}
		if err != nil {
			p.Fatal(err)
		}
		at := unsafe.Pointer(&memory[offset])
		region, err := end.RegisterGPU(fabric.GPUMemory{Base: at, Len: uint64(whole - offset), File: file, Offset: uint64(offset)})
		if err != nil {
			return err
		}
		defer func() {
			if err := errors.Join(end.Close(), unix.Munmap(memory), unix.Close(file)); err != nil {
				p.Error(err)
			}
		}()
		write := &fabric.RMA{Local: local.Base, Len: size, Desc: local.Desc, Remote: uint64(uintptr(at)), Key: region.Key, Token: token}
		for err = fabric.ErrAgain; errors.Is(err, fabric.ErrAgain); {
			if err = end.Write(write); errors.Is(err, fabric.ErrAgain) {
				_, _ = end.Poll(make([]fabric.Completion, 1)) // for room
			}
		}
		if err != nil {
			return err
		}
		var c [1]fabric.Completion
		for limit := time.Now().Add(20 * time.Second); ; {
			if n, err := end.Poll(c[:]); err != nil || n > 0 {
				if err == nil && c[0].Err != 0 {
					err = fmt.Errorf("write to the address of the part: %s", end.ErrorText(&c[0]))
				}
				if err == nil && !bytes.Equal(memory[offset:offset+size], source) {
					err = errors.New("what was written to the address of the part is not there")
				}
				return err
			}
			if time.Now().After(limit) {
				return errors.New("the write does not end")
			}
		}
	}
}

func everyByteOnCXI(p *place) error {
	out, err := p.job(2, nil, p.compile("testdata/alltoall.c"))
	if err := ends(out, err, 2); err != nil {
		return err
	}
	return p.queues(2)
}

// grown is a job whose heaps grow in GPU memory, with all CUDA libraries.
func (p *place) grown() (string, error) {
	p.Helper()
	out, err := p.job(2, p.onGPU("libcuda.so", "libcuda.so.1", "libcudart.so"), p.program("growth"))
	return out, ends(out, err, 1)
}

// noDMABuf is such a job on a NIC whose provider misinterprets a dma-buf.
func noDMABuf(p *place) error {
	out, err := p.grown()
	registered := 0
	for _, line := range p.lines(p.regions) {
		if kind, _, _ := strings.Cut(line, " "); kind == "dmabuf" {
			return errors.New("cxi is asked to register a dma-buf, which it reads as an address")
		}
		registered++
	}
	if err == nil && registered == 0 {
		err = fmt.Errorf("no memory of a GPU was registered\n%s", out)
	}
	return err
}

// proved is such a job on a NIC that accepts the second registration of each PE but does not reach
// its memory, and has no other method of registration: a write to itself shows that, and the heap
// is staged.
func proved(p *place) error {
	out, err := p.grown()
	if err == nil && !strings.Contains(out, "staged") {
		err = fmt.Errorf("nothing says that a part is staged\n%s", out)
	}
	return err
}
