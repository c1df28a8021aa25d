package main

import (
	"errors"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/gpu"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/heap/hostmem"
)

func address(p *byte) gpu.Address { return gpu.Address(uintptr(unsafe.Pointer(p))) }

// pinned tests heaps in main memory that the GPUs reach.
func (p *player) pinned() error {
	const timeout = 20 * time.Second
	l, err := hostmem.Listen(p.n)
	if err != nil {
		return err
	}
	defer l.Close()
	known := &secret.Secret{1, 2, 3} // a job has a random one
	l.Guard(known, func(stranger string) { p.note("%s", stranger) })
	names, err := p.say(l.Name())
	if err != nil {
		return err
	}
	plan := hostmem.NewPlan(mib, size(p.dev)/4, p.n)
	var s *hostmem.Segment
	if p.me == 0 {
		if s, err = hostmem.Create(plan); err == nil {
			var others []libshmem.PE
			for pe := libshmem.PE(1); int(pe) < p.n; pe++ {
				others = append(others, pe)
			}
			err = l.Serve(s, others, timeout)
		}
	} else {
		s, err = hostmem.Receive(hostmem.Source{Name: names[0], Owner: 0, Me: libshmem.PE(p.me), Secret: known}, plan, timeout)
	}
	if err != nil {
		return err
	}
	err = s.Map()
	if err == nil {
		err = p.pin(s)
	}
	return errors.Join(err, s.Close())
}

// both commits memory and then registers it.
type both struct {
	*devmem.Pinned
	segment *hostmem.Segment
}

func (b both) Commit(end uint64) error {
	return errors.Join(b.segment.Commit(end), b.Pinned.Commit(end))
}

func (p *player) pin(s *hostmem.Segment) error {
	var at []unsafe.Pointer
	for i := range p.n {
		at = append(at, s.Heap(i))
	}
	pinned, err := devmem.Pin(p.dev, at, s.Plan().Heap)
	if err != nil {
		return err
	}
	b := both{pinned, s}
	if err = p.grow(b, s.Plan().Heap); err == nil {
		err = p.rate(b)
	}
	if err == nil {
		err = p.cpu(b)
	}
	begin := time.Now()
	err = errors.Join(err, pinned.Close())
	if p.me == 0 {
		p.note("closed in %s", since(begin))
	}
	return err
}

// cpu checks that the CPU sees in the own heap what the GPU stored.
func (p *player) cpu(s heaps) error {
	a := s.Heap(p.me)
	if err := p.dev.Fill(a, 0x01020304, 2); err != nil {
		return err
	}
	if got := *(*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&a))); got != 0x0102030401020304 {
		return errors.New("the CPU does not see what the GPU stored")
	}
	return p.together()
}
