package gputest

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/gpu"
)

// block is memory from one allocating or registering call.
type block struct {
	by string // the name of the call
	n  uint64
	fd int // of its file; -1: it has none
}

// maxGarbage is the most bytes that fillGarbage overwrites.
const maxGarbage = 1 << 20

// must returns v, and panics with an error: a fake device that fails by itself is an error in a
// test.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// Pointer converts an address of the GPU to one of the CPU.
func Pointer(a gpu.Address) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// addressOf converts an address of the CPU to one of the GPU.
func addressOf(p unsafe.Pointer) gpu.Address { return gpu.Address(uintptr(p)) }

// Bytes returns n bytes at an address of the GPU.
func Bytes(a gpu.Address, n int) []byte { return unsafe.Slice((*byte)(Pointer(a)), n) }

// mapFile maps a file at an address, or anywhere for address 0; fd -1 maps no file.
func mapFile(fd int, n uint64, at gpu.Address, prot int) gpu.Address {
	flags := unix.MAP_SHARED
	if fd < 0 {
		flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	}
	if at != 0 {
		flags |= unix.MAP_FIXED
	}
	return addressOf(must(unix.MmapPtr(fd, 0, Pointer(at), uintptr(n), prot, flags)))
}

// unmapFile unmaps n bytes at an address; for n = 0 it does nothing.
func unmapFile(a gpu.Address, n uint64) {
	if n == 0 {
		return
	}
	if err := unix.MunmapPtr(Pointer(a), uintptr(n)); err != nil {
		panic(err)
	}
}

// newFile creates a file of n bytes without a name.
func newFile(n uint64) int {
	fd := must(unix.MemfdCreate("fake-gpu", unix.MFD_CLOEXEC))
	if err := unix.Ftruncate(fd, int64(n)); err != nil {
		panic(err)
	}
	return fd
}

// roundUp returns n rounded up to a multiple of unit.
func roundUp(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }

// fillGarbage overwrites new memory, so that a test fails that expects it to be zero.
func fillGarbage(a gpu.Address, n uint64) {
	b := Bytes(a, int(min(n, maxGarbage)))
	for i := range b {
		b[i] = 0xaa
	}
}

// pinned rounds n bytes of main memory up to whole pages.
func pinned(n uint64) uint64 { return roundUp(n, gpu.Page) }

// hostAlloc implements HostAlloc and ManagedAlloc, by is the one that was called. With Apart, the
// GPU's address of the memory is not the CPU's: it only looks different, and nothing is mapped
// there.
func (d *Driver) hostAlloc(by string, n uint64) (unsafe.Pointer, gpu.Address, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(by); err != nil {
		return nil, 0, err
	}
	a := mapFile(-1, pinned(n), 0, unix.PROT_READ|unix.PROT_WRITE)
	fillGarbage(a, n)
	d.host[a] = &block{by: by, n: n, fd: -1}
	if d.Apart {
		return Pointer(a), a + gpu.Page, nil
	}
	return Pointer(a), a, nil
}

// HostAlloc allocates main memory.
func (d *Driver) HostAlloc(n uint64) (unsafe.Pointer, gpu.Address, error) {
	return d.hostAlloc("HostAlloc", n)
}

// ManagedAlloc allocates main memory, as HostAlloc does.
func (d *Driver) ManagedAlloc(n uint64) (unsafe.Pointer, gpu.Address, error) {
	return d.hostAlloc("ManagedAlloc", n)
}

// hostFree releases main memory that came from one of the named calls.
func (d *Driver) hostFree(a gpu.Address, calls string) {
	b := d.host[a]
	if b == nil || !strings.Contains(calls, b.by) {
		d.T.Errorf("%#x is not main memory by %s", uint64(a), calls)
		return
	}
	if b.by != "HostRegister" {
		unmapFile(a, pinned(b.n))
	}
	delete(d.host, a)
}

// HostFree releases memory of HostAlloc.
func (d *Driver) HostFree(p unsafe.Pointer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hostFree(addressOf(p), "HostAlloc")
	return d.call("HostFree")
}

// HostRegister records that the range is registered. It does not touch the memory.
func (d *Driver) HostRegister(p unsafe.Pointer, n uint64) (gpu.Address, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("HostRegister"); err != nil {
		return 0, err
	}
	d.host[addressOf(p)] = &block{by: "HostRegister", n: n, fd: -1}
	return addressOf(p), nil
}

// HostUnregister ends a registration.
func (d *Driver) HostUnregister(p unsafe.Pointer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hostFree(addressOf(p), "HostRegister")
	return d.call("HostUnregister")
}

// Alloc allocates GPU memory. Its address is Skew plus an odd multiple of a granule, so that no
// test gets a larger alignment by accident.
func (d *Driver) Alloc(n uint64) (gpu.Address, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("Alloc"); err != nil {
		return 0, err
	}
	if err := d.take(n); err != nil {
		return 0, err
	}
	b := &block{by: "Alloc", n: n, fd: newFile(uint64(d.Skew) + n)}
	size := roundUp(uint64(d.Skew)+n, gpu.Page)
	start := mapFile(-1, size+2*d.Granule, 0, unix.PROT_NONE)
	at := gpu.Address(roundUp(uint64(start), d.Granule))
	if uint64(at)%(2*d.Granule) == 0 {
		at += gpu.Address(d.Granule)
	}
	mapFile(b.fd, size, at, unix.PROT_READ|unix.PROT_WRITE)
	unmapFile(start, uint64(at-start))
	end := at + gpu.Address(size)
	unmapFile(end, uint64(start)+size+2*d.Granule-uint64(end))
	at += d.Skew
	if d.Dirty {
		fillGarbage(at, n)
	}
	d.blocks[at] = b
	return at, nil
}

// Free releases memory of Alloc or ManagedAlloc.
func (d *Driver) Free(a gpu.Address) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.blocks[a]; b != nil {
		unmapFile(a-d.Skew, roundUp(uint64(d.Skew)+b.n, gpu.Page))
		_ = unix.Close(b.fd) // closing a memory file loses no data, whatever it returns
		d.used -= b.n
		delete(d.blocks, a)
	} else {
		d.hostFree(a, "ManagedAlloc")
	}
	return d.call("Free")
}

// at returns n bytes at an address, and fails the test unless they lie within one allocation.
func (d *Driver) at(a gpu.Address, n uint64) []byte {
	for _, blocks := range []map[gpu.Address]*block{d.blocks, d.host} {
		for base, b := range blocks {
			if o := uint64(a - base); o < b.n && n <= b.n-o {
				return Bytes(a, int(n))
			}
		}
	}
	d.T.Fatalf("the GPU reaches no %d bytes at %#x", n, uint64(a))
	return nil
}

// At returns n bytes at an address inside an allocation.
func (d *Driver) At(a gpu.Address, n uint64) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at(a, n)
}

// Zero clears n bytes.
func (d *Driver) Zero(a gpu.Address, n uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.at(a, n))
	return d.call("Zero")
}

// MapGDRCopy returns the memory itself, which the CPU reaches anyway.
func (d *Driver) MapGDRCopy(a gpu.Address, n uint64) (*gpu.Mapping, error) {
	return d.mapMemory("MapGDRCopy", a, n)
}

// MapDMABuf returns the memory itself, which the CPU reaches anyway.
func (d *Driver) MapDMABuf(a gpu.Address, n uint64) (*gpu.Mapping, error) {
	return d.mapMemory("MapDMABuf", a, n)
}

// mapMemory implements MapGDRCopy and MapDMABuf. The fake GPU's memory is main memory: the mapping
// is the memory itself, and counts as one until Unmap.
func (d *Driver) mapMemory(name string, a gpu.Address, n uint64) (*gpu.Mapping, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a%gpu.Page != 0 || n%gpu.Page != 0 {
		d.T.Errorf("%s of %d bytes at %#x, which are not whole pages", name, n, uint64(a))
	}
	if err := d.call(name); err != nil {
		return nil, err
	}
	d.at(a, n)
	d.barMaps++
	return &gpu.Mapping{Host: Pointer(a), Method: name, Combining: true, Unmap: func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.at(a, n) // the memory must still be allocated
		d.barMaps--
		return d.call("Unmap")
	}}, nil
}

// Share returns a handle of a block, by which other processes open it: the number of this process,
// the block's descriptor and its size.
func (d *Driver) Share(a gpu.Address) (gpu.Shared, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var s gpu.Shared
	shared := d.blocks[a]
	if shared == nil {
		return s, fmt.Errorf("share %#x", uint64(a))
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(os.Getpid()))
	b = binary.LittleEndian.AppendUint64(b, uint64(shared.fd))
	copy(s[:], binary.LittleEndian.AppendUint64(b, shared.n))
	return s, d.call("Share")
}

// OpenShared maps a block that another process shares.
func (d *Driver) OpenShared(s gpu.Shared) (gpu.Address, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("OpenShared"); err != nil {
		return 0, err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(s[8*i:]) }
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", word(0), word(1)), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	a := mapFile(fd, word(2), 0, unix.PROT_READ|unix.PROT_WRITE)
	d.opened[a] = word(2)
	return a, unix.Close(fd)
}

// CloseShared unmaps a shared block.
func (d *Driver) CloseShared(a gpu.Address) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened[a] == 0 {
		return fmt.Errorf("close %#x", uint64(a))
	}
	unmapFile(a, d.opened[a])
	delete(d.opened, a)
	return d.call("CloseShared")
}
