package mem

import (
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
)

// Apply performs op on a naturally aligned element of 4 or 8 bytes, and returns the old value.
func Apply(op fabric.Op, at unsafe.Pointer, width uint8, operand, compare uint64) uint64 {
	if width == 4 {
		return uint64(apply32(op, at, uint32(operand), uint32(compare)))
	}
	return apply64(op, at, operand, compare)
}

// apply32 performs op on a naturally aligned word of 4 bytes and returns the old value. Its
// instructions are those that gcc emits for the on-node path: lock xadd, xchg, cmpxchg.
func apply32(op fabric.Op, at unsafe.Pointer, operand, compare uint32) uint32 {
	p := (*uint32)(at)
	switch op {
	case fabric.OpSet, fabric.OpSwap:
		return atomic.SwapUint32(p, operand)
	case fabric.OpAdd, fabric.OpFetchAdd:
		return atomic.AddUint32(p, operand) - operand
	case fabric.OpAnd, fabric.OpFetchAnd:
		return atomic.AndUint32(p, operand)
	case fabric.OpOr, fabric.OpFetchOr:
		return atomic.OrUint32(p, operand)
	case fabric.OpXor, fabric.OpFetchXor:
		for {
			old := atomic.LoadUint32(p)
			if atomic.CompareAndSwapUint32(p, old, old^operand) {
				return old
			}
		}
	case fabric.OpCompareSwap:
		for {
			old := atomic.LoadUint32(p)
			if old != compare || atomic.CompareAndSwapUint32(p, old, operand) {
				return old
			}
		}
	default:
		return atomic.LoadUint32(p)
	}
}

// apply64 performs op on a naturally aligned word of 8 bytes and returns the old value. An
// operation without its own case is a fetch.
func apply64(op fabric.Op, at unsafe.Pointer, operand, compare uint64) uint64 {
	p := (*uint64)(at)
	switch op {
	case fabric.OpSet, fabric.OpSwap:
		return atomic.SwapUint64(p, operand)
	case fabric.OpAdd, fabric.OpFetchAdd:
		return atomic.AddUint64(p, operand) - operand
	case fabric.OpAnd, fabric.OpFetchAnd:
		return atomic.AndUint64(p, operand)
	case fabric.OpOr, fabric.OpFetchOr:
		return atomic.OrUint64(p, operand)
	case fabric.OpXor, fabric.OpFetchXor:
		for {
			old := atomic.LoadUint64(p)
			if atomic.CompareAndSwapUint64(p, old, old^operand) {
				return old
			}
		}
	case fabric.OpCompareSwap:
		for {
			old := atomic.LoadUint64(p)
			if old != compare || atomic.CompareAndSwapUint64(p, old, operand) {
				return old
			}
		}
	default:
		return atomic.LoadUint64(p)
	}
}

// Store writes an element of 1, 2, 4 or 8 bytes. If the element is naturally aligned, no reader
// sees only a part of the new bytes. Otherwise it uses a plain store: an atomic one across two
// cache lines would lock the bus of the whole machine.
func Store(at unsafe.Pointer, width uint8, value uint64) {
	aligned := uintptr(at)&uintptr(width-1) == 0
	switch {
	case width == 1:
		*(*uint8)(at) = uint8(value)
	case width == 2:
		*(*uint16)(at) = uint16(value)
	case width == 4 && aligned:
		atomic.StoreUint32((*uint32)(at), uint32(value))
	case width == 4:
		*(*uint32)(at) = uint32(value)
	case aligned:
		atomic.StoreUint64((*uint64)(at), value)
	default:
		*(*uint64)(at) = value
	}
}

// Load reads an element of 1, 2, 4 or 8 bytes, aligned to its size.
func Load(at unsafe.Pointer, width int) uint64 {
	switch width {
	case 1:
		return uint64(*(*uint8)(at))
	case 2:
		return uint64(*(*uint16)(at))
	case 4:
		return uint64(*(*uint32)(at))
	default:
		return *(*uint64)(at)
	}
}

// Copy copies n bytes between memory that Go does not manage.
func Copy(to, from unsafe.Pointer, n int) {
	copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
}
