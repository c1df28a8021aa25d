package rail

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memory is a mapping outside Go's heap, which NICs may read and write at any time.
type memory []byte

// mapMemory maps n bytes of memory that NICs access: the table of keys with the copies of injected
// operations, and receive buffers.
func mapMemory(n int) (memory, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of main memory for several NICs: %w", n, err)
	}
	return b, nil
}

// unmap ends the mapping.
func (m memory) unmap() error {
	if m == nil {
		return nil
	}
	return unix.Munmap(m)
}

// at returns the address of the byte at an offset.
func (m memory) at(offset int) unsafe.Pointer { return unsafe.Pointer(&m[offset]) }

// words returns n words at an offset, which is a multiple of their size.
func (m memory) words(offset, n int) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&m[offset])), n)
}

// store copies n bytes to an offset, and returns their new address.
func (m memory) store(offset int, from unsafe.Pointer, n int) unsafe.Pointer {
	copy(m[offset:offset+n], unsafe.Slice((*byte)(from), n))
	return unsafe.Pointer(&m[offset])
}

// copyBytes copies n bytes from a receive buffer of a NIC into one of the caller.
func copyBytes(to, from unsafe.Pointer, n int) {
	copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
}
