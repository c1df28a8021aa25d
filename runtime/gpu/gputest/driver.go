// Package gputest has a fake GPU with its driver, for tests. A Driver implements gpu.Device, the
// devices of runtime/heap/devmem and runtime/proxy/gpustage, and the Kernels of gpustage. It
// records the objects that it makes, and reports misuse and leaks.
//
// GPU memory is at addresses of this process. Each chunk and each block is a file without a name
// whose descriptor is real, so another process can map it. Main memory that the driver allocates
// is dirty at first. A call that releases something releases it even when the call fails.
//
// Methods may be called from any goroutine. A stream has no thread: its operations are carried out
// by Run and by the calls that wait for the stream.
package gputest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// T is the part of testing.TB that this package uses.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Driver is one GPU with its driver. A test sets the fields before the first call, or in Locked.
type Driver struct {
	T       T
	Title   string                         // what Name returns
	Can     gpu.Facts                      // what Facts returns
	Fail    func(call string, n int) error // called in the n-th call, which fails with the error; nil: no call fails
	Memory  uint64                         // of the GPU, in bytes
	Granule uint64                         // the unit of chunks
	Skew    gpu.Address                    // distance in bytes of the addresses of Alloc from the start of a page
	Dirty   bool                           // Alloc returns dirty memory
	Apart   bool                           // pinned memory has different addresses for the GPU and the CPU
	No      map[string]bool                // by UUID: GPUs whose memory this one cannot reach
	Unknown map[string]bool                // by UUID: GPUs for which only a trial shows whether this one reaches their memory

	// mu guards the fields below. Exported methods lock it, and put, hostAlloc and mapMemory. Other
	// methods of this type are called, and the operations of streams carried out, while it is held.
	mu      sync.Mutex
	calls   []string
	used    uint64                 // bytes of GPU memory that are allocated
	host    map[gpu.Address]*block // pinned and managed, by their address for the CPU
	blocks  map[gpu.Address]*block // of the GPU
	barMaps int                    // mappings of GPU memory for the CPU

	next   uintptr // the last handle of a chunk, stream or event
	chunks map[gpu.Chunk]*Chunk
	ranges map[gpu.Address]uint64 // reserved addresses, with their bytes
	maps   map[gpu.Address]*Chunk // mapped chunks, by their address
	opened map[gpu.Address]uint64 // memory of other processes opened by CUDA IPC, with its bytes

	streams map[gpu.Stream][]func() // the operations that are not carried out yet
	events  map[gpu.Event]bool      // true: the event has occurred
}

// New returns a GPU with 1 GiB of memory, in units of 2 MiB for chunks.
func New(t T, name string, facts gpu.Facts) *Driver {
	return &Driver{
		T: t, Title: name, Can: facts, Memory: 1 << 30, Granule: 2 << 20,
		host: map[gpu.Address]*block{}, blocks: map[gpu.Address]*block{},
		chunks: map[gpu.Chunk]*Chunk{}, ranges: map[gpu.Address]uint64{}, maps: map[gpu.Address]*Chunk{}, opened: map[gpu.Address]uint64{},
		streams: map[gpu.Stream][]func(){}, events: map[gpu.Event]bool{},
	}
}

// Locked calls f while no other call is in the driver.
func (d *Driver) Locked(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// Calls returns the names of all calls so far, in order.
func (d *Driver) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Note adds a name to Calls.
func (d *Driver) Note(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, name)
}

// call records a call and returns the error with which the test has it fail, or nil. The caller
// holds mu.
func (d *Driver) call(name string) error {
	d.calls = append(d.calls, name)
	if d.Fail == nil {
		return nil
	}
	return d.Fail(name, len(d.calls))
}

// Name returns Title. gpu.Device and the interfaces of devmem and gpustage document this method and
// the others that implement them.
func (d *Driver) Name() string { return d.Title }

// Facts returns Can.
func (d *Driver) Facts() gpu.Facts { return d.Can }

// Number returns 0.
func (d *Driver) Number() int { return 0 }

// Reaches looks the GPU up in No and Unknown.
func (d *Driver) Reaches(uuid string) (yes, known bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.No[uuid], !d.Unknown[uuid], d.call("Reaches")
}

// take counts n more bytes of GPU memory as used, or returns an error if fewer are free.
func (d *Driver) take(n uint64) error {
	if d.used+n > d.Memory {
		return &shmerr.Error{Op: "allocate", Object: fmt.Sprintf("%d bytes on %s", n, d.Title), Cause: shmerr.Causef(shmerr.ErrNoMemory, "out of memory")}
	}
	d.used += n
	return nil
}

// Left lists the kinds of objects that were not released; "": none is left.
func (d *Driver) Left() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for what, n := range map[string]int{
		"blocks of main memory": len(d.host), "blocks": len(d.blocks), "maps of the CPU": d.barMaps,
		"chunks": len(d.chunks), "ranges": len(d.ranges), "mappings": len(d.maps), "opened": len(d.opened), "bytes": int(d.used),
		"streams": len(d.streams), "events": len(d.events),
	} {
		if n != 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Empty fails the test if an object of the fake driver was not released.
func (d *Driver) Empty() {
	d.T.Helper()
	if left := d.Left(); left != "" {
		d.T.Errorf("%s keeps %s; calls: %v", d.Title, left, d.Calls())
	}
}
