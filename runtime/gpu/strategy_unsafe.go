package gpu

import (
	"fmt"
	"unsafe"

	"libshmem/runtime/shmerr"
)

// strategies are the methods to get memory that a GPU and the CPU share, in the order
// of preference. Their errors name the cause first and end with the remedy.
var strategies = []struct {
	kind  Kind
	alloc func(Device, uint64) (*Memory, error)
}{
	{Pinned, allocPinned},
	{Managed, allocManaged},
	{BAR, allocBAR},
}

// allocPinned allocates main memory that the GPU has mapped.
func allocPinned(dev Device, n uint64) (*Memory, error) {
	facts := dev.Facts()
	if !facts.MapHost {
		return nil, closed("the GPU cannot map main memory", "")
	}
	// Proxies poll this memory, also after the program has reset the GPU. Registered memory of the
	// process then stays mapped for the CPU; memory that the driver allocated does not.
	var registerErr error
	if facts.RegisterHost {
		m, err := allocRegistered(dev, n)
		if err == nil {
			return m, nil
		}
		registerErr = err
	}
	p, a, err := dev.HostAlloc(n)
	switch {
	case err != nil && registerErr != nil:
		return nil, both(registerErr, err)
	case err != nil:
		return nil, err
	}
	m := &Memory{Host: p, Device: a, Size: n, Kind: Pinned, Method: "cuMemHostAlloc"}
	m.onClose(func() error { return dev.HostFree(p) })
	clear(unsafe.Slice((*byte)(p), n))
	return m, nil
}

// allocRegistered allocates pinned memory: memory of the process that is registered with the GPU's
// driver.
func allocRegistered(dev Device, n uint64) (*Memory, error) {
	m, err := Host(n)
	if err != nil {
		return nil, err
	}
	a, err := dev.HostRegister(m.Host, m.Size)
	if err != nil {
		return m.drop(err)
	}
	m.onClose(func() error { return dev.HostUnregister(m.Host) })
	m.Device, m.Kind, m.Method = a, Pinned, "cuMemHostRegister"
	return m, nil
}

// maxManaged is the most managed memory that allocManaged allocates. Rings of the default size take
// half a megabyte. If a driver has to move more managed memory than the GPU has room for, the GPU
// may hang for every program on it.
const maxManaged = 8 << 20

// allocManaged allocates managed memory, which the driver is advised to keep in main memory.
func allocManaged(dev Device, n uint64) (*Memory, error) {
	switch facts := dev.Facts(); {
	case !facts.Managed:
		return nil, closed("the GPU has no managed memory", "")
	case !facts.Concurrent:
		return nil, closed("concurrentManagedAccess is 0: the CPU must not touch managed memory while a kernel runs, but with a ring it has to", "")
	case n > maxManaged:
		return nil, closed(fmt.Sprintf("%d bytes are more than the %d that are asked of managed memory", n, maxManaged), lower)
	}
	p, a, err := dev.ManagedAlloc(n)
	if err != nil {
		return nil, err
	}
	m := &Memory{Host: p, Device: a, Size: n, Kind: Managed, Method: "cuMemAllocManaged"}
	m.onClose(func() error { return dev.Free(a) })
	// The CPU clears the memory: the first touch puts the pages into main memory, as advised.
	clear(unsafe.Slice((*byte)(p), n))
	return m, nil
}

// allocBAR allocates zeroed memory of the GPU and maps it for the CPU, through the BAR, a window of
// the PCI bus to GPU memory. It allocates one Page more, to align the memory.
func allocBAR(dev Device, n uint64) (*Memory, error) {
	n = roundUp(n, Page)
	// cuMemAlloc promises an alignment of 256 bytes only.
	block, err := dev.Alloc(n + Page)
	if err != nil {
		return nil, err
	}
	m := &Memory{Device: Address(roundUp(uint64(block), Page)), Size: n, Kind: BAR}
	m.onClose(func() error { return dev.Free(block) })
	if err := dev.Zero(m.Device, n); err != nil {
		return m.drop(err)
	}
	mapping, err := mapBAR(dev, m.Device, n)
	if err != nil {
		return m.drop(err)
	}
	m.onClose(mapping.Unmap)
	m.Host, m.Method, m.Combining = mapping.Host, mapping.Method, mapping.Combining
	return m, nil
}

// mapBAR maps memory of the GPU for the CPU, by GDRCopy or else by a dma-buf.
func mapBAR(dev Device, a Address, n uint64) (*Mapping, error) {
	mapping, gdrErr := dev.MapGDRCopy(a, n)
	if gdrErr == nil {
		return mapping, nil
	}
	bufErr := dmaBufClosed(dev.Facts())
	if bufErr == nil {
		if mapping, bufErr = dev.MapDMABuf(a, n); bufErr == nil {
			return mapping, nil
		}
	}
	return nil, both(gdrErr, bufErr)
}

// dmaBufClosed returns nil if the CPU can map a dma-buf of the GPU's memory, or why it cannot.
func dmaBufClosed(f Facts) error {
	switch {
	case !f.DMABuf:
		return closed("the driver, of CUDA "+f.Driver+", does not export this GPU's memory as a dma-buf",
			"use the open kernel modules of a driver of CUDA 11.7 or later, and Linux 5.12 or later")
	case !f.DMABufMap:
		return closed("the driver, of CUDA "+f.Driver+", does not let the CPU map a dma-buf of this GPU's memory",
			"install a driver of CUDA 13.3 or later")
	}
	return nil
}

// closed returns the error for a kind of ring memory that this machine does not have.
func closed(cause, remedy string) error {
	return &shmerr.Error{Op: "map", Object: "GPU memory", Cause: shmerr.Causef(shmerr.ErrUnsupported, "%s", cause), Remedy: remedy}
}

// both joins the errors of two methods that failed, for a message in one line.
func both(a, b error) error { return fmt.Errorf("%w; %w", a, b) }
