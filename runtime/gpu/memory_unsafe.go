package gpu

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/shmerr"
)

// Kind is a kind of memory for rings and for the data of their producers.
type Kind uint8

// The kinds.
const (
	Auto     Kind = iota // the first of the next three that works
	Pinned               // main memory that the GPU has mapped
	Managed              // managed memory, which the driver is advised to keep in main memory
	BAR                  // memory of the GPU that the CPU has mapped
	Ordinary             // main memory that no GPU has mapped
	Local                // memory of the GPU that the CPU does not see
)

var kindNames = [...]string{Auto: "auto", Pinned: "pinned", Managed: "managed", BAR: "bar", Ordinary: "ordinary", Local: "local"}

// String returns the kind's name; those that a user may choose are words of SHMEM_RING_MEMORY.
func (k Kind) String() string { return kindNames[k] }

// ParseKind reads a value of the setting SHMEM_RING_MEMORY.
func ParseKind(s string) (Kind, error) {
	for _, k := range []Kind{Auto, Pinned, Managed, BAR} {
		if s == kindNames[k] {
			return k, nil
		}
	}
	return Auto, &shmerr.Error{
		Op: "choose", Object: fmt.Sprintf("ring memory %q", s), Cause: shmerr.Causef(shmerr.ErrArgument, "there is no such kind"),
		Remedy: "use auto, pinned, managed or bar",
	}
}

// Memory is a block of zeroed memory that the two sides of a ring, its producers and
// the proxy, share, or that only the producers use.
type Memory struct {
	Host   unsafe.Pointer // as the CPU addresses it; nil for Local
	Device Address        // as the producers address it; of Ordinary memory the same number as Host
	Size   uint64         // at least the requested size
	Kind   Kind
	Method string // the call or the library that allocated the memory, for messages

	// Combining: the CPU's stores to this memory wait in write-combining buffers. They reach it in
	// any order and at any time, until a store fence or a locked instruction on other memory
	// flushes them. A release store alone orders nothing there, and a locked instruction on this
	// memory, such as Go's atomic stores on x86-64, locks the bus.
	Combining bool

	release []func() error // in the order of allocation
}

// Close undoes the steps of the allocation, the last one first. Neither the GPU nor the CPU may
// access the memory any more. Further calls do nothing.
func (m *Memory) Close() error {
	var errs []error
	for i := len(m.release) - 1; i >= 0; i-- {
		errs = append(errs, m.release[i]())
	}
	m.release = nil
	return errors.Join(errs...)
}

// drop releases the memory after a later step of its allocation has failed with err, and returns
// err.
func (m *Memory) drop(err error) (*Memory, error) {
	return nil, errors.Join(err, m.Close())
}

// onClose adds a step to what Close does; Close runs the steps in reverse order.
func (m *Memory) onClose(f func() error) { m.release = append(m.release, f) }

// Host allocates memory for rings whose producers are threads of this process.
func Host(n uint64) (*Memory, error) {
	const method = "mmap"
	if err := checkSize(n); err != nil {
		return nil, err
	}
	n = roundUp(n, uint64(unix.Getpagesize()))
	// Shared: a child that is forked sees the same ring and not a copy, and the
	// pages that a GPU has mapped stay those of the parent.
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, &shmerr.Error{
			Op: "allocate", Object: fmt.Sprintf("%d bytes of memory", n), Cause: shmerr.Causef(shmerr.ErrNoMemory, "mmap: %w", err), Remedy: lower,
		}
	}
	m := &Memory{Host: p, Device: Address(uintptr(p)), Size: n, Kind: Ordinary, Method: method}
	m.onClose(func() error { return unix.MunmapPtr(p, uintptr(n)) })
	return m, nil
}

// Near allocates memory for data that only the producers of a ring touch: memory of their GPU, or
// ordinary memory if dev is nil, because they are then host threads.
func Near(dev Device, n uint64) (*Memory, error) {
	if dev == nil {
		return Host(n)
	}
	if err := checkSize(n); err != nil {
		return nil, err
	}
	a, err := dev.Alloc(n)
	if err != nil {
		return nil, err
	}
	m := &Memory{Device: a, Size: n, Kind: Local, Method: "cuMemAlloc"}
	m.onClose(func() error { return dev.Free(a) })
	if err := dev.Zero(a, n); err != nil {
		return m.drop(err)
	}
	return m, nil
}

// lower is the remedy if there is not enough memory for rings.
const lower = "lower SHMEM_RING_COUNT or SHMEM_RING_SIZE"

// maxSize bounds an allocation: more than any setting needs, and small enough that rounding up does
// not overflow.
const maxSize = 1 << 40

// checkSize returns an error for a size that no ring may have.
func checkSize(n uint64) error {
	if n == 0 || n > maxSize {
		return &shmerr.Error{
			Op: "allocate", Object: fmt.Sprintf("%d bytes of memory", n), Cause: shmerr.Causef(shmerr.ErrArgument, "it is outside 1..%d", uint64(maxSize)), Remedy: lower,
		}
	}
	return nil
}

// roundUp returns n rounded up to a multiple of unit.
func roundUp(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }
