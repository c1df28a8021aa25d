package network

// A Registry lets NICs reach the user heap of this PE in GPU memory. It chooses the path, registers
// each part of the heap with each endpoint, and knows which flush has to precede the use of bytes
// that a NIC has written. Bytes of parts that a NIC does not reach are staged: they pass through
// pinned main memory (runtime/proxy/gpustage). It owns neither the heap nor the endpoints. One
// thread calls it at a time.

import (
	"errors"
	"fmt"
	"slices"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/gpudirect"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/proxy/gpustage"
)

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
	GPU  gpudirect.Exporter
	Heap gpu.Address
	Want config.GPUNet // auto, or one path
	VMM  bool          // the heap is mapped chunk by chunk, and grows
	All  bool          // other GPUs load from the heap, too, so a flush has to reach all readers
	Log  func(level config.LogLevel, format string, args ...any)
}

// NewRegistry returns a registry without endpoints.
func NewRegistry(c RegistryConfig) *Registry {
	r := &Registry{RegistryConfig: c}
	r.access = gpudirect.Access{GPU: c.GPU, VMM: c.VMM, All: c.All, Log: func(text string) { c.Log(config.LogInfo, "%s", text) }}
	return r
}

// Registry lets NICs reach the user heap of this PE in GPU memory.
type Registry struct {
	RegistryConfig

	access        gpudirect.Access
	registrations []registration
}

// registration is the registration of the heap with one endpoint.
type registration struct {
	endpoint registrant
	path     gpudirect.Path // by which the endpoint's NIC reaches the heap; 0: it does not
	done     int            // number of parts of the heap that are registered, or will not be
}

// Open registers the parts of the heap so far with an endpoint, by the first path that works. It is
// called before the endpoint is connected. If none works, the bytes are staged, unless the user has
// named a path.
func (r *Registry) Open(endpoint registrant, parts []devmem.Extent) error {
	var path gpudirect.Path
	for _, p := range gpudirect.Paths(r.Want) {
		err := r.try(endpoint, p, parts)
		if err == nil {
			r.Log(config.LogInfo, "the NIC reaches the heap by %s, flushes: %v", p, r.access.Flush() != nil)
			path = p
			break
		}
		if r.Want != config.GPUNetAuto {
			return fmt.Errorf("SHMEM_GPU_NET=%s: %w (set it to auto to use what works)", r.Want, err)
		}
		r.Log(config.LogInfo, "the NIC does not reach the heap by %s: %v", p, err)
	}
	r.registrations = append(r.registrations, registration{endpoint, path, len(parts)})
	return nil
}

// try registers parts of the heap with an endpoint by one path. If one part fails, none stays
// registered.
func (r *Registry) try(endpoint registrant, path gpudirect.Path, parts []devmem.Extent) error {
	if err := r.access.Allows(path, endpoint.Caps()); err != nil {
		return err
	}
	for _, part := range parts {
		if err := r.register(endpoint, path, noLoan, part); err != nil {
			return errors.Join(err, endpoint.UnregisterHeap())
		}
	}
	if f := r.access.Flush(); f != nil {
		endpoint.FlushBy(f)
	}
	return nil
}

// InOrder reports whether kernels of this PE see bytes that the NIC of endpoint i writes to the
// heap in the order in which they arrive, without a flush. A nil registry has no endpoints.
func (r *Registry) InOrder(i int) bool {
	return r != nil && r.registrations[i].path != 0 && r.access.InOrder()
}

// noLoan is the loan of a part of the heap that is the heap's own memory.
const noLoan gpustage.Loan = 0

// register registers one part of the heap with an endpoint. loan is the loan to which the part
// belongs, memory of the program that is part of the heap for a while, or noLoan.
func (r *Registry) register(endpoint registrant, path gpudirect.Path, loan gpustage.Loan, part devmem.Extent) error {
	return r.access.Register(path, r.Heap+gpu.Address(part.Offset), part.Size, loan != noLoan, func(m fabric.GPUMemory) error {
		return endpoint.RegisterHeap(part.Offset, loan, m)
	})
}

// Grow registers the parts by which the heap has grown with all endpoints whose NICs reach it. If
// that fails, the bytes of that part are staged, unless the user has named the path: then it is an
// error.
func (r *Registry) Grow(parts []devmem.Extent) error {
	for i := range r.registrations {
		e := &r.registrations[i]
		for ; e.path != 0 && e.done < len(parts); e.done++ {
			if err := r.handleFailure(e, parts[e.done], r.add(e, noLoan, parts[e.done])); err != nil {
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
		if e.path == 0 {
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
		for _, chunk := range chunks {
			if err := r.handleFailure(e, chunk, r.add(e, loan, chunk)); err != nil {
				return err
			}
		}
	}
	return nil
}

// add registers a part of the heap with a connected endpoint, under its engine's lock.
func (r *Registry) add(e *registration, loan gpustage.Loan, part devmem.Extent) (err error) {
	e.endpoint.Locked(func() { err = r.register(e.endpoint, e.path, loan, part) })
	return err
}

// handleFailure handles the error of a registration, if there was one: the bytes of that part are
// staged from now on, which it logs. If the user has named the path, it returns the error instead.
func (r *Registry) handleFailure(e *registration, part devmem.Extent, err error) error {
	switch {
	case err == nil:
	case r.Want != config.GPUNetAuto:
		return fmt.Errorf("SHMEM_GPU_NET=%s: %w", r.Want, err)
	default:
		r.Log(config.LogWarn, "%d bytes of the heap at offset %#x are staged: %v", part.Size, part.Offset, err)
	}
	return nil
}

// Direct reports whether some NIC reaches the heap. On a nil r it returns false.
func (r *Registry) Direct() bool {
	return r != nil && slices.ContainsFunc(r.registrations, func(e registration) bool { return e.path != 0 })
}

// Path returns the name of the path by which the first endpoint reaches the heap; "" if it does
// not.
func (r *Registry) Path() string {
	if !r.Direct() || r.registrations[0].path == 0 {
		return ""
	}
	return r.registrations[0].path.String()
}
