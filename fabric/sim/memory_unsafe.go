package sim

import (
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/runtime/shmerr"
)

// region is registered memory.
type region struct {
	fabric.Region
	live bool // registered now; else the entry is free
}

// Register implements fabric.Provider: it returns a region with a new key.
func (e *endpoint) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.closed || base == nil || n == 0 {
		return fabric.Region{}, &shmerr.Error{Op: "register", Object: e.caps.Provider, Cause: shmerr.Causef(shmerr.ErrArgument, "%d bytes, endpoint closed %v", n, e.closed)}
	}
	e.keys++
	r := region{fabric.Region{Base: base, Len: n, Key: faults.Throw(e.net.seed, uint64(e.id), faults.ForKey, e.keys).Number(faults.ForKey)}, true}
	id := 0
	for id < len(e.regions) && e.regions[id].live {
		id++
	}
	if id == len(e.regions) {
		e.regions = append(e.regions, region{})
	}
	if r.ID = id; e.caps.LocalMR {
		r.Desc = uintptr(r.Key | 1) // not 0, and not an address
	}
	e.regions[id] = r
	return r.Region, nil
}

// RegisterGPU registers memory of the process that stands for memory of a GPU.
func (e *endpoint) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	if !e.caps.GPU {
		return fabric.Region{}, &shmerr.Error{Op: "register", Object: e.caps.Provider, Cause: shmerr.Causef(shmerr.ErrUnsupported, "the network has no GPUs")}
	}
	return e.Register(m.Base, m.Len)
}

// Unregister implements fabric.Provider. A region that was not registered, or was unregistered
// before, is an error.
func (e *endpoint) Unregister(r fabric.Region) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if r.ID < 0 || r.ID >= len(e.regions) || !e.regions[r.ID].live || e.regions[r.ID].Key != r.Key {
		return &shmerr.Error{Op: "unregister", Object: e.caps.Provider, Cause: shmerr.Causef(shmerr.ErrArgument, "there is no such region")}
	}
	e.regions[r.ID] = region{}
	return nil
}

// checkLocal returns an error if a local buffer must be registered (Caps.LocalMR) and is not.
func (e *endpoint) checkLocal(at unsafe.Pointer, n int, desc uintptr) error {
	if !e.caps.LocalMR || n == 0 {
		return nil
	}
	for i := range e.regions {
		r := &e.regions[i]
		if !r.live || r.Desc != desc {
			continue
		}
		if o := uint64(uintptr(at) - uintptr(r.Base)); o <= r.Len && uint64(n) <= r.Len-o {
			return nil
		}
	}
	return shmerr.Causef(shmerr.ErrArgument, "%d bytes of local memory are not in the region of their descriptor", n)
}

// target returns the address, in this endpoint's memory, of the byte at an offset in the memory
// that a one-sided operation names. nil: no region has the key, or the region does not have all
// bytes of the operation.
func (e *endpoint) target(m *message, offset int) unsafe.Pointer {
	for i := range e.regions {
		r := &e.regions[i]
		if !r.live || r.Key != m.key && e.net.model.Broken != AnyKey {
			continue
		}
		at := m.remote
		if e.caps.VirtualAddress {
			at -= uint64(uintptr(r.Base))
		}
		if at > r.Len || uint64(m.n) > r.Len-at || uint64(m.width) > r.Len-at {
			return nil
		}
		return unsafe.Add(r.Base, at+uint64(offset))
	}
	return nil
}

// load copies n bytes of an endpoint's memory to the buffer `to`, and returns them. The program may
// write that memory at the same time, as with any NIC: the provider's promises, and not Go's memory
// model, decide which bytes are seen. So the race detector must not check the loads.
//
//go:norace
func load(to []byte, from unsafe.Pointer, n int) []byte {
	if n == 0 {
		return to[:0]
	}
	return append(to[:0], unsafe.Slice((*byte)(from), n)...)
}

// store writes bytes to an endpoint's memory. The program may read that memory at the same time, as
// with any NIC, so the race detector must not check the stores.
//
//go:norace
func store(to unsafe.Pointer, from []byte) {
	// An aligned word of 8 bytes is one store, so that no reader sees half of it.
	if len(from) == 8 && uintptr(to)%8 == 0 {
		*(*uint64)(to) = *(*uint64)(unsafe.Pointer(unsafe.SliceData(from)))
		return
	}
	copy(unsafe.Slice((*byte)(to), len(from)), from)
}

// storeWord stores a word of 4 or 8 bytes in an endpoint's memory. The program may read that memory
// at the same time, as with any NIC, so the race detector must not check the store.
//
//go:norace
func storeWord(to unsafe.Pointer, width int, v uint64) {
	if width == 4 {
		*(*uint32)(to) = uint32(v)
	} else {
		*(*uint64)(to) = v
	}
}

// apply performs an atomic operation on a word of the program with the CPU's instructions, as other
// threads may use it, and returns the old value.
func apply(op fabric.Op, at unsafe.Pointer, width int, operand, compare uint64) uint64 {
	if width == 4 {
		p := (*uint32)(at)
		for {
			old := atomic.LoadUint32(p)
			if v := result(op, uint64(old), operand, uint64(uint32(compare))); atomic.CompareAndSwapUint32(p, old, uint32(v)) {
				return uint64(old)
			}
		}
	}
	p := (*uint64)(at)
	for {
		old := atomic.LoadUint64(p)
		if atomic.CompareAndSwapUint64(p, old, result(op, old, operand, compare)) {
			return old
		}
	}
}

// result returns the value of a word after an atomic operation.
func result(op fabric.Op, old, operand, compare uint64) uint64 {
	switch op {
	case fabric.OpSet, fabric.OpSwap:
		return operand
	case fabric.OpAdd, fabric.OpFetchAdd:
		return old + operand
	case fabric.OpAnd, fabric.OpFetchAnd:
		return old & operand
	case fabric.OpOr, fabric.OpFetchOr:
		return old | operand
	case fabric.OpXor, fabric.OpFetchXor:
		return old ^ operand
	case fabric.OpCompareSwap:
		if old == compare {
			return operand
		}
	}
	return old
}
