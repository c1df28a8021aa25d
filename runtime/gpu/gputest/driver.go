// Package gputest has a GPU and its driver made of main memory, for tests. A Driver is a
// gpu.Device, a devmem.Device, and what stages copies with streams (runtime/proxy/staging); it
// prefers none of them. It knows what it has given out, and reports what is misused or not given
// back.
//
// Memory of the GPU is at addresses of this process: a chunk or a block is a file without a name,
// whose descriptor is real, so that other processes can map it. Main memory is dirty when it comes.
// Calls that give something back do so even when they fail.
//
// All methods may be called from any goroutine. Streams have no thread: they do what they have
// when Run or a wait for them says so.
package gputest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// T is the part of testing.TB that is used here.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Driver is one GPU with its driver. Fields are set before it is used, or in Locked.
type Driver struct {
	T       T
	Title   string                         // Name
	Can     gpu.Facts                      // Facts
	Fail    func(call string, n int) error // called in the n-th call: an error fails it; nil: none fails
	Memory  uint64                         // bytes that it has
	Granule uint64                         // unit of chunks
	Skew    gpu.Address                    // how far into a page the addresses of Alloc are
	Dirty   bool                           // memory of Alloc is dirty, too
	Apart   bool                           // the GPU has pinned memory at other addresses than the CPU
	No      map[string]bool                // UUIDs of GPUs whose memory it does not reach
	Unknown map[string]bool                // and of those where only a trial shows it

	mu      sync.Mutex
	calls   []string
	used    uint64
	host    map[gpu.Address]*block // pinned and managed, by their address for the CPU
	blocks  map[gpu.Address]*block // of the GPU
	barMaps int

	next   uintptr
	chunks map[gpu.Chunk]*Chunk
	ranges map[gpu.Address]uint64
	maps   map[gpu.Address]*Chunk
	opened map[gpu.Address]uint64

	streams map[gpu.Stream][]func()
	events  map[gpu.Event]bool // whether they have come
}

// New returns a GPU with 1 GiB, of which a test knows the facts.
func New(t T, name string, facts gpu.Facts) *Driver {
	return &Driver{
		T: t, Title: name, Can: facts, Memory: 1 << 30, Granule: 2 << 20,
		host: map[gpu.Address]*block{}, blocks: map[gpu.Address]*block{},
		chunks: map[gpu.Chunk]*Chunk{}, ranges: map[gpu.Address]uint64{}, maps: map[gpu.Address]*Chunk{}, opened: map[gpu.Address]uint64{},
		streams: map[gpu.Stream][]func(){}, events: map[gpu.Event]bool{},
	}
}

// Locked calls f while no call is in the driver.
func (d *Driver) Locked(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// Calls are the names of all calls so far that may fail.
func (d *Driver) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Note adds a name to those of the calls.
func (d *Driver) Note(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, name)
}

// call notes one, which may have to fail.
func (d *Driver) call(name string) error {
	d.calls = append(d.calls, name)
	if d.Fail == nil {
		return nil
	}
	return d.Fail(name, len(d.calls))
}

// Name and the others are as the interfaces of their callers say.
func (d *Driver) Name() string { return d.Title }

// Facts are those that the test has set.
func (d *Driver) Facts() gpu.Facts { return d.Can }

// Number is 0.
func (d *Driver) Number() int { return 0 }

// Reaches goes by No and Unknown.
func (d *Driver) Reaches(uuid string) (yes, known bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.No[uuid], !d.Unknown[uuid], d.call("Reaches")
}

// take counts memory of the GPU.
func (d *Driver) take(n uint64) error {
	if d.used+n > d.Memory {
		return &shmerr.Error{Op: "allocate", Object: fmt.Sprintf("%d bytes on %s", n, d.Title), Cause: shmerr.Causef(shmerr.ErrNoMemory, "out of memory")}
	}
	d.used += n
	return nil
}

// Left says what was not given back; "": all was.
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

// Empty fails the test where something was not given back.
func (d *Driver) Empty() {
	d.T.Helper()
	if left := d.Left(); left != "" {
		d.T.Errorf("%s keeps %s; calls: %v", d.Title, left, d.Calls())
	}
}
