package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

// fake is a Device that notes its calls and fails where a test says so. Its memory is dirty when it
// is allocated.
type fake struct {
	t     *testing.T
	facts Facts
	fails map[string]error // by the name of the method
	calls []string
	live  map[Address]*block
	next  Address
}

type block struct {
	taken string // by which method
	bytes []byte
}

var errFake = errors.New("the fake fails")

// able is a device on which everything works.
var able = Facts{Driver: "13.3", MapHost: true, RegisterHost: true, Managed: true, Concurrent: true, DMABuf: true, DMABufMap: true}

func newFake(t *testing.T, facts Facts, fails ...string) *fake {
	f := &fake{t: t, facts: facts, fails: map[string]error{}, live: map[Address]*block{}, next: 0x7000_0000_0200}
	for _, name := range fails {
		f.fails[name] = fmt.Errorf("%s: %w", name, errFake)
	}
	return f
}

func (f *fake) note(name string) error {
	f.calls = append(f.calls, name)
	return f.fails[name]
}

func (f *fake) take(method string, n uint64) (*block, Address) {
	b := &block{taken: method, bytes: bytes.Repeat([]byte{0xaa}, int(n))}
	a := f.next
	f.next += Address(n) + 3*Page
	f.live[a] = b
	return b, a
}

func (f *fake) give(a Address, methods string) {
	b := f.live[a]
	if b == nil || !strings.Contains(methods, b.taken) {
		f.t.Errorf("%#x is not allocated by %s", uint64(a), methods)
		return
	}
	delete(f.live, a)
}

// at is the memory behind an address.
func (f *fake) at(a Address, n uint64) []byte {
	for start, b := range f.live {
		if a >= start && uint64(a-start)+n <= uint64(len(b.bytes)) {
			return b.bytes[a-start:][:n]
		}
	}
	f.t.Errorf("%d bytes at %#x are not allocated", n, uint64(a))
	return make([]byte, n)
}

func (f *fake) of(p unsafe.Pointer) Address {
	for a, b := range f.live {
		if unsafe.Pointer(&b.bytes[0]) == p {
			return a
		}
	}
	return 0
}

func (f *fake) Name() string { return "GPU 0 Fake" }
func (f *fake) Facts() Facts { return f.facts }

func (f *fake) HostAlloc(n uint64) (unsafe.Pointer, Address, error) {
	if err := f.note("HostAlloc"); err != nil {
		return nil, 0, err
	}
	b, a := f.take("HostAlloc", n)
	return unsafe.Pointer(&b.bytes[0]), a, nil
}

func (f *fake) HostFree(p unsafe.Pointer) error {
	f.give(f.of(p), "HostAlloc")
	return f.note("HostFree")
}

func (f *fake) HostRegister(p unsafe.Pointer, n uint64) (Address, error) {
	if err := f.note("HostRegister"); err != nil {
		return 0, err
	}
	a := f.next
	f.next += Address(n) + 3*Page
	f.live[a] = &block{taken: "HostRegister", bytes: unsafe.Slice((*byte)(p), n)}
	return a, nil
}

func (f *fake) HostUnregister(p unsafe.Pointer) error {
	f.give(f.of(p), "HostRegister")
	return f.note("HostUnregister")
}

func (f *fake) ManagedAlloc(n uint64) (unsafe.Pointer, Address, error) {
	if err := f.note("ManagedAlloc"); err != nil {
		return nil, 0, err
	}
	b, a := f.take("ManagedAlloc", n)
	return unsafe.Pointer(&b.bytes[0]), a, nil
}

func (f *fake) Alloc(n uint64) (Address, error) {
	if err := f.note("Alloc"); err != nil {
		return 0, err
	}
	_, a := f.take("Alloc", n)
	return a, nil
}

func (f *fake) Free(a Address) error {
	f.give(a, "Alloc ManagedAlloc")
	return f.note("Free")
}

func (f *fake) Zero(a Address, n uint64) error {
	clear(f.at(a, n))
	return f.note("Zero")
}

func (f *fake) MapGDRCopy(a Address, n uint64) (*Mapping, error) { return f.mapIt("MapGDRCopy", a, n) }
func (f *fake) MapDMABuf(a Address, n uint64) (*Mapping, error)  { return f.mapIt("MapDMABuf", a, n) }

func (f *fake) mapIt(name string, a Address, n uint64) (*Mapping, error) {
	if a%Page != 0 || n%Page != 0 {
		f.t.Errorf("%s of %d bytes at %#x, which are not whole pages", name, n, uint64(a))
	}
	if err := f.note(name); err != nil {
		return nil, err
	}
	_, key := f.take(name, 1) // a mapping is something to give back too
	return &Mapping{
		Host: unsafe.Pointer(&f.at(a, n)[0]), Way: name, Combining: true,
		Unmap: func() error {
			f.at(a, n) // must still be there
			f.give(key, name)
			return f.note("Unmap")
		},
	}, nil
}

// empty fails the test where something was not given back.
func (f *fake) empty() {
	f.t.Helper()
	for a, b := range f.live {
		f.t.Errorf("%#x from %s was not given back; calls: %v", uint64(a), b.taken, f.calls)
	}
}
