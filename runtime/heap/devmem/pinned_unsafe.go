package devmem

import (
	"errors"
	"fmt"
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// Registrar is a GPU that main memory is mapped into; *cuda.Device is one.
type Registrar interface {
	Name() string
	Facts() gpu.Facts
	HostRegister(p unsafe.Pointer, n uint64) (gpu.Address, error)
	HostUnregister(p unsafe.Pointer) error
}

// Pinned is the heaps of a node, this PE's and the others', in main memory that the GPU reaches:
// the driver has locked their committed parts.
type Pinned struct {
	dev       Registrar
	heaps     []unsafe.Pointer
	size      uint64                 // bytes of each heap
	committed uint64                 // bytes of each heap that are registered
	ranges    []unsafe.Pointer       // start of each registration, in order
	afford    func(end uint64) error // reports whether Commit may register ahead (Ahead)
}

const (
	// pinPage is the unit of registration.
	pinPage = 4096

	// pinUnit is the size of a registration with Ahead: all of a heap of the default size.
	pinUnit = 1 << 30
)

// Pin returns a Pinned for heaps of size bytes each, at the addresses where this process has them
// mapped. It registers nothing yet. The heaps must stay mapped until Close.
func Pin(dev Registrar, heaps []unsafe.Pointer, size uint64) (*Pinned, error) {
	p := &Pinned{dev: dev, heaps: heaps, size: size}
	switch f := dev.Facts(); {
	case !f.RegisterHost:
		return nil, p.fail(size, shmerr.Causef(shmerr.ErrUnsupported, "the GPU cannot map main memory of the program"), "set SHMEM_HEAP to host")
	case !f.HostPointers:
		// Ranges that are registered one after the other would have addresses
		// that do not follow each other.
		return nil, p.fail(size, shmerr.Causef(shmerr.ErrUnsupported, "the GPU sees main memory at other addresses than the CPU"), "set SHMEM_HEAP to host")
	}
	return p, nil
}

// Ahead lets Commit register a GiB at once if afford(end) returns nil, because there is memory for
// the heaps up to the offset end. CUDA refuses a copy that reaches from one registration into the
// next, so fewer registrations are better: package cuda splits its own copies there, but a
// program's cudaMemcpy of symmetric memory fails. Registering takes 0.5 ms for each MiB, and
// allocates the memory.
func (p *Pinned) Ahead(afford func(end uint64) error) { p.afford = afford }

// Commit makes sure that the GPU reaches the first end bytes of each heap. It does not communicate:
// each PE registers the heaps of all. The caller has checked that there is memory, by
// hostmem.Segment.Commit; registering allocates all pages. If it fails, earlier registrations
// remain.
func (p *Pinned) Commit(end uint64) error {
	if end <= p.committed {
		return nil
	}
	if end > p.size {
		return p.fail(end, shmerr.Causef(shmerr.ErrInternal, "the heap has %d bytes", p.size), "")
	}
	least := min(roundUp(end, pinPage), p.size)
	most := min(max(least, p.committed+Step), p.size)
	if p.afford != nil {
		if most = min(roundUp(end, pinUnit), p.size); most > least && p.afford(most) != nil {
			most = least
		}
	}
	err := p.grow(most)
	if err != nil && most > least {
		err = p.grow(least)
	}
	if err != nil {
		return p.fail(end, shmerr.Causef(err, "%s", shmerr.OneLine(err)), "allocate less, run fewer PEs on the node or free memory")
	}
	return nil
}

// grow registers the bytes from p.committed to the offset `to` of every heap. If one registration
// fails, it undoes those of the other heaps. The GPU must map the bytes at the CPU's address,
// because Heap returns that address.
func (p *Pinned) grow(to uint64) error {
	n := to - p.committed
	before := len(p.ranges)
	for _, heap := range p.heaps {
		at := unsafe.Add(heap, p.committed)
		a, err := p.dev.HostRegister(at, n)
		if err == nil {
			p.ranges = append(p.ranges, at)
			if a != gpu.Address(uintptr(at)) {
				err = &shmerr.Error{Op: "register", Object: "memory on " + p.dev.Name(), Cause: shmerr.Causef(shmerr.ErrUnsupported, "the CPU has it at %p and the GPU at %#x", at, uint64(a))}
			}
		}
		if err != nil {
			return errors.Join(err, p.shrink(before))
		}
	}
	p.committed = to
	return nil
}

// shrink undoes the latest registrations until only `to` registrations are left.
func (p *Pinned) shrink(to int) error {
	var errs []error
	for n := len(p.ranges); n > to; n-- {
		errs = append(errs, p.dev.HostUnregister(p.ranges[n-1]))
		p.ranges = p.ranges[:n-1]
	}
	return errors.Join(errs...)
}

// Heap returns the address of the i-th heap for the GPU: the same as for the CPU.
func (p *Pinned) Heap(i int) gpu.Address { return gpu.Address(uintptr(p.heaps[i])) }

// Committed returns the part of each heap that the GPU reaches.
func (p *Pinned) Committed() uint64 { return p.committed }

// Close undoes all registrations. Further calls do nothing.
func (p *Pinned) Close() error {
	err := p.shrink(0)
	p.committed = 0
	if err != nil {
		return &shmerr.Error{Op: "release", Object: "the pinned symmetric heap", Cause: shmerr.Causef(err, "%s", shmerr.OneLine(err))}
	}
	return nil
}

// fail returns the error for heaps of which the first n bytes cannot be pinned.
func (p *Pinned) fail(n uint64, cause error, remedy string) error {
	return &shmerr.Error{
		Op: "pin", Object: fmt.Sprintf("%s of the symmetric heap of each of %d PEs on %s", amount(n), len(p.heaps), p.dev.Name()),
		Cause: cause, Remedy: remedy,
	}
}
