package chaos

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
)

// noCopy is the number of a copy where none was made.
const noCopy = -1

// arena is memory outside of Go's heap, for copies of buffers that the caller may reuse at once,
// and for the byte that a confirming read fetches.
type arena struct {
	mem    []byte // unit 0 is scratch; a copy has the unit of its number
	region fabric.Region
	unit   int   // bytes of a copy
	free   []int // numbers of copies that are not in use
}

// newArena maps memory for n copies of injected bytes, at most `unit` bytes each, and registers it
// if the provider requires that.
func newArena(prov fabric.Provider, n, unit int) (*arena, error) {
	a := &arena{unit: max(unit, 8)}
	var err error
	if a.mem, err = unix.Mmap(-1, 0, (n+1)*a.unit, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", (n+1)*a.unit, err)
	}
	if prov.Caps().LocalMR {
		if a.region, err = prov.Register(unsafe.Pointer(&a.mem[0]), uint64(len(a.mem))); err != nil {
			_ = unix.Munmap(a.mem) // the error of Register says more
			return nil, err
		}
	}
	for i := n; i > 0; i-- {
		a.free = append(a.free, i)
	}
	return a, nil
}

// scratch returns the target of confirming reads, the same byte for all: its value is not used.
func (a *arena) scratch() unsafe.Pointer { return unsafe.Pointer(&a.mem[0]) }

// store copies n bytes. It returns the number of the copy and its address, or false if no copy is
// free or n is too large.
func (a *arena) store(from unsafe.Pointer, n int) (int, unsafe.Pointer, bool) {
	last := len(a.free) - 1
	if last < 0 || n > a.unit {
		return noCopy, nil, false
	}
	i := a.free[last]
	a.free = a.free[:last]
	to := a.mem[i*a.unit : i*a.unit+n : i*a.unit+n]
	if n > 0 {
		copy(to, unsafe.Slice((*byte)(from), n))
	}
	return i, unsafe.Pointer(&a.mem[i*a.unit]), true
}

// storeBytes does for Go memory what store does for memory of C. from must not be empty.
func (a *arena) storeBytes(from []byte) (int, unsafe.Pointer, bool) {
	return a.store(unsafe.Pointer(&from[0]), len(from))
}

// release frees copy i; noCopy stands for an operation without a copy.
func (a *arena) release(i int) {
	if i != noCopy {
		a.free = append(a.free, i)
	}
}

// close unmaps the memory.
func (a *arena) close() error {
	if a.mem == nil {
		return nil
	}
	mem := a.mem
	a.mem = nil
	return unix.Munmap(mem)
}

// buffer is the caller's buffer for one received message.
type buffer struct {
	at unsafe.Pointer
	n  int
}

// bytes returns the memory of the buffer.
func (b buffer) bytes() []byte { return unsafe.Slice((*byte)(b.at), b.n) }
