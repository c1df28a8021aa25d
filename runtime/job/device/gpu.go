// Package device owns this PE's GPU and what runs on it: the addresses at which the GPU reaches the
// user heaps of the node, the copies and atomic operations that host calls submit to it, memory of
// the program that is lent to the heap, kernels with the teams that they know, and calls on CUDA
// streams. It joins the producers of operations: kernels, streams, and threads with rings. Its
// caller decides for what the heap is used.
//
// Any goroutine may call the methods that move or change bytes, or that end waits of kernels. One
// thread at a time opens, grows, lends and closes.
package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/amo"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/gpu/gpudirect"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/heap/hostmem"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/job/network"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/shmerr"
)

// GPU is this PE's GPU, with the addresses at which that GPU reaches the user heaps of the
// node. Any goroutine may call the methods that C calls, except those of loans (loan.go).
type GPU struct {
	driver *cuda.Driver
	dev    *cuda.Device
	moves  gpu.Stream      // the stream of Move
	heaps  []gpuHeap       // by rank on the node
	device *devmem.Segment // the GPU heaps of the node; nil if this PE's heap is in main memory
	pinned *devmem.Pinned  // the main-memory heaps of the node; nil if there are none
	loan   *devmem.Loan    // chunks that were found and not lent yet, between FindChunks and Lend
	chosen bool            // the program used this GPU before init

	// NICs is nil if no NIC is to reach the heap.
	NICs *network.Registry

	loans    map[libshmem.Offset]gpustage.Loan // by the start of their blocks of the heap
	lastLoan gpustage.Loan                     // the number of the last loan

	mu    sync.Mutex
	units map[unsafe.Pointer]*amo.Unit // by their context
}

// gpuHeap is the user heap of one PE of the node, with its number among those of its kind.
type gpuHeap struct {
	kind   config.HeapKind
	number int
}

// NewGPU opens the GPU driver. Open chooses the GPU.
func NewGPU() (*GPU, error) {
	driver, err := cuda.Open()
	if err != nil {
		return nil, err
	}
	return &GPU{driver: driver, loans: map[libshmem.Offset]gpustage.Loan{}}, nil
}

// Maps reports whether the driver can map GPU memory chunk by chunk, as heaps that grow need.
func (g *GPU) Maps() bool { return g.driver.Maps() }

// Device returns the GPU; nil if there is none, or before Open.
func (g *GPU) Device() *cuda.Device {
	if g == nil {
		return nil
	}
	return g.dev
}

// exporter gives NICs access to the GPU, and records its flushes under another name than its other
// calls.
type exporter struct {
	*cuda.Device
	flushes *cuda.Device
}

// FlushWrites makes bytes that NICs have written visible, to the GPU alone or to all readers.
func (e exporter) FlushWrites(all bool) error { return e.flushes.FlushWrites(all) }

// Exporter returns the GPU for a registry of NICs. Its flushes are recorded under the name flusher.
func (g *GPU) Exporter(flusher string) gpudirect.Exporter { return exporter{g.dev, g.dev.For(flusher)} }

// HostAtomics reports whether the GPU's atomic operations on main memory are atomic with those of
// the CPU.
func (g *GPU) HostAtomics() bool { return g.dev.Facts().HostAtomics }

// Heap returns this PE's heap in GPU memory; nil if it is in main memory.
func (g *GPU) Heap() *devmem.Segment { return g.device }

// Open opens the GPU that the calling thread uses already. If the thread uses none, it selects one
// by the PE's rank on its node, and the thread uses it from then on. It maps the heaps of the node
// for that GPU. main has the main-memory heaps of the node.
//
// listener is nil if this PE's heap is in main memory.
func (g *GPU) Open(self *meet.Self, infos []meet.Info, main *hostmem.Segment, listener *devmem.Listener) error {
	rank := self.Nodes.Rank(self.Me)
	number, current, err := g.driver.Choose(rank)
	if err != nil {
		return err
	}
	if g.dev, err = g.driver.Device(number); err != nil {
		return err
	}
	self.Log.SetGPU(number)
	if g.chosen = current; !current {
		if err := g.dev.Use(); err != nil {
			return err
		}
	}
	if g.moves, err = g.dev.NewStream(); err != nil {
		return err
	}
	f := g.dev.Facts()
	self.Log.Printf("gpu", config.LogDebug, "%s at %s, driver of CUDA %s", g.dev.Name(), f.PCI, f.Driver)
	plan := main.Plan()
	var members []devmem.Peer
	var inMain []unsafe.Pointer
	for _, pe := range self.Nodes.Peers(self.Me) {
		h := gpuHeap{kind: infos[pe].Kind}
		if h.kind == config.HeapDevice {
			h.number = len(members)
			members = append(members, devmem.Peer{PE: pe, Socket: infos[pe].Device})
		} else {
			h.number = len(inMain)
			inMain = append(inMain, main.Heap(self.Nodes.Rank(pe)))
		}
		g.heaps = append(g.heaps, h)
	}
	if own := g.heaps[rank]; own.kind == config.HeapDevice {
		g.device, err = devmem.Open(g.dev, listener, devmem.Plan{
			Size: plan.Heap, Align: plan.Align, Me: own.number, PEs: members, Share: devmem.Path(self.Settings.GPUShare),
			Timeout: self.Settings.BootstrapTimeout, Secret: self.Boot.Secret(),
		})
		if err != nil {
			return err
		}
	}
	if len(inMain) > 0 {
		if g.pinned, err = devmem.Pin(g.dev, inMain, plan.Heap); err == nil {
			g.pinned.Ahead(main.Commit) // registers a GiB at once where memory allows
		}
	}
	return err
}

// Address returns where this PE's GPU and its copy engine reach the user heap of the PE with this
// rank on the node, or 0.
func (g *GPU) Address(rank int) gpu.Address {
	switch h := g.heaps[rank]; {
	case h.kind != config.HeapDevice:
		return g.pinned.Heap(h.number)
	case g.device != nil:
		return g.device.Heap(h.number)
	}
	return 0
}

// Unmapped returns the reason why this PE's GPU has no address for the heap of the PE with this
// rank on the node.
func (g *GPU) Unmapped(rank int) string {
	if g.device == nil {
		return "its own heap is not in GPU memory, and others are"
	}
	err := g.device.Why(g.heaps[rank].number)
	if e, ok := errors.AsType[*shmerr.Error](err); ok {
		err = e.Cause // without the error's object: the caller names the PE itself
	}
	return fmt.Sprint(err)
}

// Commit maps GPU memory into the heaps of the node, up to the offset end. It is collective among
// the PEs of the node with heaps in GPU memory, so a caller does nothing before it that can fail on
// one PE alone.
func (g *GPU) Commit(end uint64) error {
	if g == nil || g.device == nil {
		return nil
	}
	return g.device.Commit(end)
}

// Reach makes new memory of the heaps accessible to the GPU and to NICs. It is called after Commit,
// and after main memory is committed.
func (g *GPU) Reach(end uint64) error {
	if g == nil {
		return nil
	}
	if g.pinned != nil {
		if err := g.pinned.Commit(end); err != nil {
			return err
		}
	}
	if g.NICs != nil {
		return g.NICs.Grow(g.device.Extents())
	}
	return nil
}

// Release unmaps the heaps and releases the other resources that Open allocated, but not the GPU.
func (g *GPU) Release() error {
	if g == nil {
		return nil
	}
	var errs []error
	if g.pinned != nil {
		errs = append(errs, g.pinned.Close())
	}
	if g.device != nil {
		errs = append(errs, g.device.Close())
	}
	for _, u := range g.units {
		errs = append(errs, u.Close())
	}
	if g.moves != 0 {
		errs = append(errs, g.dev.CloseStream(g.moves))
	}
	return errors.Join(errs...)
}

// Close releases the GPU. It is called after Release.
func (g *GPU) Close() error {
	if g == nil || g.dev == nil {
		return nil
	}
	return g.dev.Close()
}

// Chosen reports whether the thread that joined the job used a GPU before, which is then this PE's.
func (g *GPU) Chosen() bool { return g != nil && g.chosen }

// Moved reports whether the calling thread of the operating system has switched to another GPU than
// this PE's. It is false if the thread uses no GPU, or if the driver does not say which.
func (g *GPU) Moved() bool {
	if g.Device() == nil {
		return false
	}
	number, ok, err := g.driver.Current()
	return err == nil && ok && number != g.dev.Number()
}

// Move copies n bytes from one place of this process to another, each in main or in GPU memory, and
// returns when the copy is complete.
func (g *GPU) Move(to, from unsafe.Pointer, n uint64) error {
	if err := g.dev.CopyAsync(g.moves, gpu.Address(uintptr(to)), gpu.Address(uintptr(from)), n); err != nil {
		return err
	}
	return g.dev.SyncStream(g.moves)
}

// Settle waits for the copies that callers in C have begun on the stream `moves` (Mover).
func (g *GPU) Settle() error { return g.dev.SyncStream(g.moves) }

// Settled reports whether the copies that callers in C have begun are complete, without waiting.
func (g *GPU) Settled() (bool, error) {
	if g.Device() == nil {
		return true, nil
	}
	return g.dev.StreamDone(g.moves)
}

// Mover returns the driver's C functions and the stream of Move, with which callers in C copy. Both
// are empty without a GPU.
func (g *GPU) Mover() (cuda.Native, unsafe.Pointer) {
	if g == nil {
		return cuda.Native{}, nil
	}
	return g.dev.Native(), *(*unsafe.Pointer)(unsafe.Pointer(&g.moves))
}

// Clear zeroes GPU memory.
func (g *GPU) Clear(at unsafe.Pointer, n uint64) error {
	return g.dev.Zero(gpu.Address(uintptr(at)), n)
}

// Atomic applies an operation to a word of GPU memory of 4 or 8 bytes and returns the old value, if
// the operation fetches; otherwise the result means nothing. A load needs no kernel, nor does a
// store if streams can store words (StreamOps): they complete even while kernels of the program fill
// the GPU and wait for them.
func (g *GPU) Atomic(at unsafe.Pointer, op fabric.Op, width int, operand, compare uint64) (uint64, error) {
	a := gpu.Address(uintptr(at))
	switch {
	case op == fabric.OpFetch:
		word := make([]byte, 8)
		err := g.dev.CopyOut(word[:width], a)
		return binary.NativeEndian.Uint64(word), err
	case op == fabric.OpSet && g.dev.Facts().StreamOps:
		return 0, g.store(a, width, operand)
	}
	u, err := g.Unit(g.dev)
	if err != nil {
		return 0, err
	}
	return u.Do(a, int(op), width, operand, compare)
}

// store writes a word of 4 or 8 bytes to GPU memory by the stream for copies, and waits for it.
func (g *GPU) store(at gpu.Address, width int, value uint64) error {
	var err error
	if width == 4 {
		err = g.dev.Write32(g.moves, at, uint32(value))
	} else {
		err = g.dev.Write64(g.moves, at, value)
	}
	if err != nil {
		return err
	}
	return g.dev.SyncStream(g.moves)
}

// Unit returns the unit for atomic operations in the context of dev, and makes it at the first
// call: the kernels of a unit belong to one context.
func (g *GPU) Unit(dev *cuda.Device) (*amo.Unit, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if u := g.units[dev.Context()]; u != nil {
		return u, nil
	}
	u, err := amo.New(dev)
	if err != nil {
		return nil, err
	}
	if g.units == nil {
		g.units = map[unsafe.Pointer]*amo.Unit{}
	}
	g.units[dev.Context()] = u
	return u, nil
}

// Holds reports whether an address of this process is in memory of a GPU.
func (g *GPU) Holds(at unsafe.Pointer) bool {
	p, err := g.dev.Pointer(gpu.Address(uintptr(at)))
	return err == nil && p.Place == gpu.OnDevice
}

// stateVariable is the variable in which device code of this library keeps the job's state.
const stateVariable = "shmemi_here"

// Variable returns the address and the size of a variable of a loaded module of the program.
// library: the handle is a CUlibrary, else a CUmodule. The variable of the job's state is refused in
// code that was linked with the bitcode library of another version of libshmem.
func (g *GPU) Variable(library bool, handle unsafe.Pointer, name string) (unsafe.Pointer, uint64, error) {
	find := g.dev.ModuleGlobal
	if library {
		find = g.dev.LibraryGlobal
	}
	at, n, err := find(handle, name)
	if name != stateVariable {
		return at.Pointer(), n, err
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w (compile the code with shmem/shmem.cuh, and use the library in it)", err)
	}
	// nvcc and NVRTC compile the headers, which have no such variable.
	if words, size, err := find(handle, "nvshmemi_device_lib_version_d"); err == nil {
		b := make([]byte, size)
		if err := g.dev.CopyOut(b, words); err != nil {
			return nil, 0, err
		}
		if err := fits(b); err != nil {
			return nil, 0, err
		}
	}
	return at.Pointer(), n, nil
}

// fits returns an error unless version, the three words in a bitcode library, is that of this
// library's own bitcode. The first two words are NVSHMEM's version, so only the last decides.
func fits(version []byte) error {
	var have struct{ Major, Minor, Patch int32 }
	if _, err := binary.Decode(version, binary.NativeEndian, &have); err == nil && have.Patch == queue.BitcodePatch {
		return nil
	}
	return &shmerr.Error{
		Op: "check the version of", Object: "libnvshmem_device.bc in the code",
		Cause:  shmerr.Causef(shmerr.ErrUnsupported, "it is %d.%d.%d, of another version of libshmem: the last number of this library's is %d", have.Major, have.Minor, have.Patch, queue.BitcodePatch),
		Remedy: "link the code with the file beside this library: NVSHMEM_LIB_DIR or NVSHMEM_HOME names its folder",
	}
}
