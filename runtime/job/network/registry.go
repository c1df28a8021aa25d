package network

// A Registry lets NICs reach the user heap of this PE in GPU memory. It chooses the path, registers
// each part of the heap with each endpoint, and knows which flush has to precede the use of bytes
// that a NIC has written. It owns neither the heap nor the endpoints. One thread calls it at a
// time.

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/shmerr"
)

// exporter is the GPU of the heap, as a Registry needs it. *cuda.Device implements it.
type exporter interface {
	Name() string
	Number() int
	Facts() gpu.Facts
	ExportDMABuf(a gpu.Address, n uint64) (fd int, err error)
	SyncMemops(a gpu.Address) error
}

// registrant is an endpoint with which a Registry registers the heap. nicEndpoint implements it.
type registrant interface {
	Caps() fabric.Caps
	FlushBy(f func() error)
	RegisterHeap(offset uint64, loan gpustage.Loan, m fabric.GPUMemory) error
	UnregisterHeap() error
	Locked(f func())
}

// RegistryConfig describes the heap in GPU memory that a Registry registers with NICs.
type RegistryConfig struct {
	GPU exporter
	// Flush makes bytes that NICs have written visible, to the GPU alone or to all readers.
	Flush func(all bool) error
	Heap  gpu.Address
	Want  config.GPUNet // auto, or one path
	VMM   bool          // the heap is mapped chunk by chunk, and grows
	All   bool          // other GPUs load from it, too
	Log   func(level config.LogLevel, format string, args ...any)
}

// NewRegistry returns a registry without endpoints.
func NewRegistry(c RegistryConfig) *Registry { return &Registry{RegistryConfig: c} }

// Registry lets NICs reach the user heap of this PE in GPU memory.
type Registry struct {
	RegistryConfig

	registrations []registration
	unsynced      bool // the driver refused to make the program's copies synchronous, which was logged
}

// registration is the registration of the heap with one endpoint.
type registration struct {
	with registrant
	path config.GPUNet // by which the endpoint's NIC reaches the heap; stage: it does not
	done int           // parts of the heap that are registered, or will not be
}

// nicPaths are the paths by which a NIC may reach GPU memory, best first: a dma-buf needs no kernel
// module but the driver's own.
var nicPaths = []config.GPUNet{config.GPUNetDMABuf, config.GPUNetPeerMem}

// nicPathNames has the names of these paths for messages.
var nicPathNames = map[config.GPUNet]string{config.GPUNetDMABuf: "dma-buf", config.GPUNetPeerMem: "peer memory"}

// Open registers the parts of the heap so far with an endpoint, by the first path that works. It is
// called before the endpoint is connected. If none works, the bytes are staged, unless the user has
// named a path.
func (r *Registry) Open(with registrant, parts []devmem.Extent) error {
	path := config.GPUNetStage
	for _, w := range nicPaths {
		if r.Want != config.GPUNetAuto && r.Want != w {
			continue
		}
		err := r.try(with, w, parts)
		if err == nil {
			r.Log(config.LogInfo, "the NIC reaches the heap by %s, flushes: %v", nicPathNames[w], r.flush() != nil)
			path = w
			break
		}
		if r.Want == w {
			return fmt.Errorf("SHMEM_GPU_NET=%s: %w (set it to auto to use what works)", w, err)
		}
		r.Log(config.LogInfo, "the NIC does not reach the heap by %s: %v", nicPathNames[w], err)
	}
	r.registrations = append(r.registrations, registration{with, path, len(parts)})
	return nil
}

// try registers parts of the heap with the endpoint `with` by one path, a dma-buf or peer memory.
// If one part fails, none stays registered.
func (r *Registry) try(with registrant, path config.GPUNet, parts []devmem.Extent) error {
	if err := r.allows(path, with.Caps()); err != nil {
		return err
	}
	for _, x := range parts {
		if err := r.register(with, path, 0, x); err != nil {
			return errors.Join(err, with.UnregisterHeap())
		}
	}
	if f := r.flush(); f != nil {
		with.FlushBy(f)
	}
	return nil
}

// Values of gpu.Facts.WritesOrdering: the readers for which a NIC's writes are in order.
const (
	orderedForOwner = 100
	orderedForAll   = 200
)

// flush returns the function to call before anything uses bytes that a NIC has written, or nil if
// the GPU makes such writes visible in order.
func (r *Registry) flush() func() error {
	order := r.GPU.Facts().WritesOrdering
	if order >= orderedForAll || order >= orderedForOwner && !r.All {
		return nil
	}
	return func() error { return r.Flush(r.All) }
}

// firstInOrder is the first major compute capability whose memory shows what a NIC writes in order
// to a kernel that runs.
const firstInOrder = 9

// InOrder reports whether kernels of this PE see bytes that the NIC of endpoint i writes to the
// heap in the order in which they arrive, without a flush. A nil registry has no endpoints.
func (r *Registry) InOrder(i int) bool {
	if r == nil || r.registrations[i].path == config.GPUNetStage || r.unsynced {
		return false
	}
	f := r.GPU.Facts()
	return f.Major >= firstInOrder && f.WritesOrdering >= orderedForOwner
}

// allows returns why a path cannot be used, or nil if only an attempt will show.
func (r *Registry) allows(path config.GPUNet, c fabric.Caps) error {
	f := r.GPU.Facts()
	no := func(format string, args ...any) error {
		return &shmerr.Error{Op: "register", Object: "memory of " + r.GPU.Name(), Cause: shmerr.Causef(shmerr.ErrUnsupported, format, args...)}
	}
	switch {
	case r.flush() != nil && f.FlushWrites&1 == 0:
		return no("a NIC's writes there are not in order, and the driver, of CUDA %s, has no call to flush it", f.Driver)
	case path == config.GPUNetDMABuf && !f.DMABuf:
		return no("the driver, of CUDA %s, exports no dma-buf of it", f.Driver)
	case path == config.GPUNetDMABuf && c.GPU && !c.DMABuf:
		return no("the provider takes no dma-bufs (efa and verbs do, of libfabric 1.20 and later)")
	case path == config.GPUNetPeerMem && (!f.RDMA || r.VMM && !f.RDMAVMM):
		return no("the driver does not give NICs access to it")
	}
	return nil // only the provider knows whether it accepts the memory
}

// register registers one part of the heap, which may belong to a loan.
func (r *Registry) register(with registrant, path config.GPUNet, loan gpustage.Loan, x devmem.Extent) error {
	at := r.Heap + gpu.Address(x.Offset)
	m := fabric.GPUMemory{Base: at.Pointer(), Len: x.Size, Device: r.GPU.Number(), File: -1, Live: loan != 0}
	if path == config.GPUNetDMABuf {
		fd, err := r.GPU.ExportDMABuf(at, x.Size)
		if err != nil {
			return err
		}
		// The registration holds a reference to the memory, so the descriptor can be closed.
		defer func() {
			if err := unix.Close(fd); err != nil {
				r.Log(config.LogError, "close a dma-buf: %v", err)
			}
		}()
		m.File = fd
	}
	if err := with.RegisterHeap(x.Offset, loan, m); err != nil {
		return err
	}
	if err := r.GPU.SyncMemops(at); err != nil && !r.unsynced {
		r.unsynced = true
		r.Log(config.LogInfo, "a NIC may read before a synchronous copy by the program has arrived: %v", err)
	}
	return nil
}

// Grow registers the parts by which the heap has grown with all endpoints whose NICs reach it. If
// that fails, the bytes of that part are staged, unless the user has named the path: then it is an
// error.
func (r *Registry) Grow(parts []devmem.Extent) error {
	for i := range r.registrations {
		e := &r.registrations[i]
		for ; e.path != config.GPUNetStage && e.done < len(parts); e.done++ {
			if err := r.handleFailure(e, parts[e.done], r.add(e, 0, parts[e.done])); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lend registers consecutive chunks of a loan, memory of the program that is lent to the heap:
// together, or one by one if the driver or the provider refuses to register them together.
func (r *Registry) Lend(loan gpustage.Loan, chunks []devmem.Extent) error {
	last := chunks[len(chunks)-1]
	all := devmem.Extent{Offset: chunks[0].Offset, Size: last.Offset + last.Size - chunks[0].Offset}
	for i := range r.registrations {
		e := &r.registrations[i]
		if e.path == config.GPUNetStage {
			continue
		}
		err := r.add(e, loan, all)
		if err == nil || len(chunks) == 1 {
			if err := r.handleFailure(e, all, err); err != nil {
				return err
			}
			continue
		}
		r.Log(config.LogInfo, "%d bytes that are lent to the heap are registered in %d parts: %v", all.Size, len(chunks), err)
		for _, x := range chunks {
			if err := r.handleFailure(e, x, r.add(e, loan, x)); err != nil {
				return err
			}
		}
	}
	return nil
}

// add registers a part of the heap with a connected endpoint, under its engine's lock.
func (r *Registry) add(e *registration, loan gpustage.Loan, x devmem.Extent) (err error) {
	e.with.Locked(func() { err = r.register(e.with, e.path, loan, x) })
	return err
}

// handleFailure handles the error of a registration, if there was one: the bytes of that part are
// staged from now on, which it logs. If the user has named the path, it returns the error instead.
func (r *Registry) handleFailure(e *registration, x devmem.Extent, err error) error {
	switch {
	case err == nil:
	case r.Want == e.path:
		return fmt.Errorf("SHMEM_GPU_NET=%s: %w", e.path, err)
	default:
		r.Log(config.LogWarn, "%d bytes of the heap at offset %#x are staged: %v", x.Size, x.Offset, err)
	}
	return nil
}

// Direct reports whether some NIC reaches the heap. On a nil r it returns false.
func (r *Registry) Direct() bool {
	return r != nil && slices.ContainsFunc(r.registrations, func(e registration) bool { return e.path != config.GPUNetStage })
}

// Path returns the name of the path by which the first endpoint reaches the heap; "" if it does
// not.
func (r *Registry) Path() string {
	if r == nil {
		return ""
	}
	return nicPathNames[r.registrations[0].path]
}
