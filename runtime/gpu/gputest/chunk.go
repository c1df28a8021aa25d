package gputest

import (
	"fmt"

	"golang.org/x/sys/unix"

	"libshmem/runtime/gpu"
)

// Chunk is GPU memory that has an address only while it is mapped.
type Chunk struct {
	Private bool // no descriptor of it can be made for other processes
	Device  int  // the number of its GPU

	fd    int    // of the file that is the memory
	n     uint64 // bytes
	own   bool   // CreateChunk made it, so it counts as memory of this GPU
	name  gpu.Chunk
	names int // how many calls returned the name and were not followed by a ReleaseChunk
}

// Granularity returns the unit of chunks and of the ranges into which they are mapped: the Granule
// that the test has set.
func (d *Driver) Granularity() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Granule, d.call("Granularity")
}

// Reserve reserves n bytes of addresses from a multiple of align on, which nothing can access until
// a chunk is mapped there.
func (d *Driver) Reserve(n, align uint64) (gpu.Address, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("Reserve"); err != nil {
		return 0, err
	}
	align = max(align, d.Granule)
	start := mapFile(-1, n+align, 0, unix.PROT_NONE) // has an aligned range of n bytes
	at := gpu.Address(roundUp(uint64(start), align))
	unmapFile(start, uint64(at-start))
	end := at + gpu.Address(n)
	unmapFile(end, uint64(start)+n+align-uint64(end))
	d.ranges[at] = n
	return at, nil
}

// Unreserve releases a range of addresses, as Reserve returned it, in which no chunk is mapped.
func (d *Driver) Unreserve(a gpu.Address, n uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ranges[a] != n || n == 0 {
		return fmt.Errorf("unreserve %#x", uint64(a))
	}
	for at := range d.maps {
		if at >= a && at < a+gpu.Address(n) {
			return fmt.Errorf("unreserve %#x while %#x is mapped", uint64(a), uint64(at))
		}
	}
	unmapFile(a, n)
	delete(d.ranges, a)
	return d.call("Unreserve")
}

// CreateChunk allocates n bytes of the GPU as a chunk, which is not mapped yet.
func (d *Driver) CreateChunk(n uint64) (gpu.Chunk, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("CreateChunk"); err != nil {
		return 0, err
	}
	if err := d.take(n); err != nil {
		return 0, err
	}
	return d.addName(&Chunk{fd: newFile(n), n: n, own: true}), nil
}

// addName returns the handle of a chunk, and counts one more use of the handle.
func (d *Driver) addName(k *Chunk) gpu.Chunk {
	if k.names == 0 {
		d.next++
		k.name = gpu.Chunk(d.next)
		d.chunks[k.name] = k
	}
	k.names++
	return k.name
}

// ChunkAt returns the chunk that is mapped at an address, and false if there is none. The caller
// releases the chunk.
func (d *Driver) ChunkAt(a gpu.Address) (gpu.Chunk, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("ChunkAt"); err != nil {
		return 0, false, err
	}
	for at, k := range d.maps {
		if a >= at && uint64(a-at) < k.n {
			return d.addName(k), true, nil
		}
	}
	return 0, false, nil
}

// Lendable returns the GPU of a chunk, and whether it can be shared, as a test has set them.
func (d *Driver) Lendable(c gpu.Chunk) (gpu.Lendable, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.chunks[c]
	return gpu.Lendable{Device: k.Device, Shared: !k.Private}, d.call("Lendable")
}

// ReleaseChunk ends one use of a chunk's handle.
func (d *Driver) ReleaseChunk(c gpu.Chunk) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.chunks[c]
	if k == nil {
		return fmt.Errorf("release chunk %d", c)
	}
	if k.names--; k.names == 0 {
		delete(d.chunks, c)
		d.dropUnused(k)
	}
	return d.call("ReleaseChunk")
}

// dropUnused frees a chunk that is not mapped and whose handle is not in use.
func (d *Driver) dropUnused(k *Chunk) {
	for _, mapped := range d.maps {
		if mapped == k {
			return
		}
	}
	if k.names > 0 {
		return
	}
	if k.own {
		d.used -= k.n
	}
	_ = unix.Close(k.fd) // closing a memory file loses no data, whatever it returns
}

// ShareChunk returns a descriptor of the chunk's file.
func (d *Driver) ShareChunk(c gpu.Chunk) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("ShareChunk"); err != nil {
		return -1, err
	}
	return unix.FcntlInt(uintptr(d.chunks[c].fd), unix.F_DUPFD_CLOEXEC, 0)
}

// ImportChunk returns a chunk for a descriptor from another process, which stays the caller's.
func (d *Driver) ImportChunk(fd int) (gpu.Chunk, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("ImportChunk"); err != nil {
		return 0, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	return d.addName(&Chunk{fd: must(unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)), n: uint64(st.Size)}), nil
}

// MapChunk maps a whole chunk of n bytes into a range of Reserve, where nothing else is mapped.
func (d *Driver) MapChunk(a gpu.Address, n uint64, c gpu.Chunk) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call("MapChunk"); err != nil {
		return err
	}
	k := d.chunks[c]
	if k == nil || k.n != n || d.maps[a] != nil {
		return fmt.Errorf("map %d bytes at %#x", n, uint64(a))
	}
	for at, size := range d.ranges {
		if a >= at && uint64(a-at)+n <= size {
			mapFile(k.fd, n, a, unix.PROT_READ|unix.PROT_WRITE)
			d.maps[a] = k
			return nil
		}
	}
	return fmt.Errorf("map at %#x, which is not reserved", uint64(a))
}

// UnmapChunk unmaps a chunk of n bytes from an address of MapChunk. The addresses stay reserved.
func (d *Driver) UnmapChunk(a gpu.Address, n uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.maps[a]
	if k == nil || k.n != n {
		return fmt.Errorf("unmap %d bytes at %#x", n, uint64(a))
	}
	mapFile(-1, n, a, unix.PROT_NONE)
	delete(d.maps, a)
	d.dropUnused(k)
	return d.call("UnmapChunk")
}

// Mapped calls f for each mapped chunk.
func (d *Driver) Mapped(f func(*Chunk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.maps {
		f(k)
	}
}
