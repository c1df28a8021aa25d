package job

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/amo"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/heap"
	"libshmem/runtime/heap/devmem"
	"libshmem/runtime/job/driverwatch"
	"libshmem/runtime/job/registration"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/topo"
)

// graphics is this PE's GPU, with the addresses at which that GPU reaches the user heaps of the
// node.
type graphics struct {
	driver *cuda.Driver
	dev    *cuda.Device
	moves  gpu.Stream             // the stream of Move
	heaps  []gpuHeap              // by rank on the node
	device *devmem.Segment        // nil where this PE's heap is in main memory
	pinned *devmem.Pinned         // nil where every heap of the node is in a GPU's
	nics   *registration.Registry // nil if no NIC is to reach the heap
	loan   *devmem.Loan           // between Look and Lend
	apart  bool                   // proxies copy in a context of the library's own
	chosen bool                   // by the program, before init

	loans    map[heap.Offset]gpustage.Loan // by the start of the block
	lastLoan gpustage.Loan

	mu    sync.Mutex
	units map[unsafe.Pointer]*amo.Unit // by their context
}

// gpuHeap is one user heap, with its number among those of its kind.
type gpuHeap struct {
	kind   config.HeapKind
	number int
}

// growingHeap is the address space reserved for the heap of a program whose heap grows to the size
// of the GPU's memory. It is larger than any GPU's memory by now. Addresses cost nothing, and all
// PEs reserve the same.
const growingHeap = 256 << 30

// chooseHeap settles which kind of heap this PE has. kernels says that the program has kernels that
// use the library.
func (j *Job) chooseHeap(kernels bool) error {
	want := j.Config.Heap
	if want == config.HeapHost || want == config.HeapAuto && !kernels {
		j.heap = config.HeapHost
		return nil
	}
	driver, err := cuda.Open()
	switch {
	case err == nil:
		j.gpu = &graphics{driver: driver, loans: map[heap.Offset]gpustage.Loan{}}
		if j.heap = want; want == config.HeapAuto {
			j.heap = config.HeapDevice
		}
	case want != config.HeapAuto:
		return fmt.Errorf("SHMEM_HEAP=%s: %w", want, err)
	default:
		j.heap = config.HeapHost
		j.log.Printf("gpu", config.LogInfo, "the heap is in main memory and kernels cannot run: %v", err)
	}
	return nil
}

// openGPU takes the GPU that the calling thread uses already. If the thread uses none, it takes one
// by the PE's number on its node, and the thread uses it from then on. It maps the heaps of the
// node for that GPU.
func (j *Job) openGPU(listener *devmem.Listener, infos []peerInfo) error {
	g := j.gpu
	number, current, err := g.driver.Choose(j.Nodes.Rank(j.Me))
	if err != nil {
		return err
	}
	if g.dev, err = g.driver.Device(number); err != nil {
		return err
	}
	j.log.SetGPU(number)
	j.Place.GPU = g.dev.Facts().PCI
	if g.chosen = current; !current {
		if err := g.dev.Use(); err != nil {
			return err
		}
	}
	if g.moves, err = g.dev.NewStream(); err != nil {
		return err
	}
	f := g.dev.Facts()
	j.log.Printf("gpu", config.LogDebug, "%s at %s, driver of CUDA %s", g.dev.Name(), f.PCI, f.Driver)
	var members []devmem.Peer
	var main []unsafe.Pointer
	me := 0
	for _, pe := range j.Nodes.Peers(j.Me) {
		h := gpuHeap{kind: infos[pe].Kind}
		if h.kind == config.HeapDevice {
			if h.number = len(members); pe == j.Me {
				me = h.number
			}
			members = append(members, devmem.Peer{PE: pe, Socket: infos[pe].Device})
		} else {
			h.number = len(main)
			main = append(main, j.HeapOf(pe))
		}
		g.heaps = append(g.heaps, h)
	}
	plan := j.segment.Plan()
	if j.heap == config.HeapDevice {
		g.device, err = devmem.Open(g.dev, listener, devmem.Plan{
			Size: plan.Heap, Align: plan.Align, Me: me, PEs: members,
			Way: devmem.Path(j.Config.GPUShare), Timeout: j.Config.BootstrapTimeout, Secret: j.boot.Secret(),
		})
		if err != nil {
			return err
		}
	}
	if len(main) > 0 {
		if g.pinned, err = devmem.Pin(g.dev, main, plan.Heap); err == nil {
			g.pinned.Ahead(j.segment.Commit)
		}
	}
	return err
}

// watchDriver watches the driver calls, if this PE has a GPU.
func (j *Job) watchDriver(asked func() uint32) {
	if j.gpu == nil || j.gpu.dev == nil {
		return
	}
	dev := j.gpu.dev
	j.driverWatch.Begin(driverwatch.Config{Facts: dev.Facts(), Limit: j.Config.Timeout, Say: j.Report, Asked: asked, Calls: dev.Calls})
}

// address returns where this PE's GPU and its copy engine reach the user heap of the PE with this
// rank on the node, or 0.
func (g *graphics) address(rank int) gpu.Address {
	switch h := g.heaps[rank]; {
	case h.kind != config.HeapDevice:
		return g.pinned.Heap(h.number)
	case g.device != nil:
		return g.device.Heap(h.number)
	}
	return 0
}

// commit is collective among the PEs of the node with heaps in GPU memory, so
// nothing that can fail on one PE alone comes before it.
func (j *Job) commit(end uint64) error {
	var err error
	if g := j.gpu; g != nil && g.device != nil {
		err = g.device.Commit(end)
	}
	if err == nil && j.mainHeaps {
		err = j.segment.Commit(end)
	}
	if g := j.gpu; err == nil && g != nil && g.pinned != nil {
		err = g.pinned.Commit(end)
	}
	if g := j.gpu; err == nil && g != nil && g.nics != nil {
		err = g.nics.Grow(g.device.Extents())
	}
	return err
}

// closeGPU gives back what openGPU took.
func (j *Job) closeGPU() error {
	g := j.gpu
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
	j.driverWatch.End()
	j.gpu = nil
	if g.dev != nil {
		errs = append(errs, g.dev.Close())
	}
	return errors.Join(errs...)
}

// GPUChosen reports whether the thread that joined the job used a GPU before, which is then this
// PE's.
func (j *Job) GPUChosen() bool { return j.gpu != nil && j.gpu.chosen }

// GPUMoved reports whether the calling thread of the operating system uses another GPU than this
// PE's. It is false if the thread uses no GPU, or if the driver does not say which.
func (j *Job) GPUMoved() bool {
	if j.gpu == nil || j.gpu.dev == nil {
		return false
	}
	number, ok, err := j.gpu.driver.Current()
	return err == nil && ok && number != j.gpu.dev.Number()
}

// GPUReset reports, and logs, whether the program has reset this PE's GPU while the job used it.
// The rest of shmem_finalize then asks nothing of the context that has ended.
func (j *Job) GPUReset() bool {
	if j.gpu == nil || j.gpu.dev == nil || !j.gpu.dev.WasReset() {
		return false
	}
	j.Report("shmem_finalize: " + j.gpu.dev.ResetText())
	return true
}

// Mapped returns where a copy of this process reaches the user heap of a PE, in main or in GPU
// memory, or nil.
func (j *Job) Mapped(pe topo.PE) unsafe.Pointer {
	if near := j.Near(pe); near != nil || j.gpu == nil || j.Nodes.Node(pe) != j.Nodes.Node(j.Me) {
		return near
	}
	return j.gpu.address(j.Nodes.Rank(pe)).Pointer()
}

// Near returns where loads and stores of this process reach the user heap of a PE, or nil.
func (j *Job) Near(pe topo.PE) unsafe.Pointer {
	if j.Nodes.Node(pe) != j.Nodes.Node(j.Me) || j.kinds[pe] == config.HeapDevice {
		return nil
	}
	return j.HeapOf(pe)
}

// UserHeap returns the address of this PE's user heap as the program sees it.
func (j *Job) UserHeap() unsafe.Pointer { return j.Mapped(j.Me) }

// GrowsTogether reports whether all PEs of a node have to take part when the heap grows.
func (j *Job) GrowsTogether() bool { return slices.Contains(j.kinds, config.HeapDevice) }

// HasGPU reports whether buffers of the program may be in GPU memory.
func (j *Job) HasGPU() bool { return j.gpu != nil }

// CopiesApart reports whether the proxies' copies for this PE wait for no kernel of the
// program: the proxies have a context of their own, and calls on CUDA streams use bounce
// buffers for operands that are tied to the program's context.
func (j *Job) CopiesApart() bool { return j.gpu != nil && j.gpu.apart }

// Move copies n bytes from one place of this process to another, each in main or in GPU memory, and
// returns when the copy is done.
func (j *Job) Move(to, from unsafe.Pointer, n uint64) error {
	g := j.gpu
	if err := g.dev.CopyAsync(g.moves, gpu.Address(uintptr(to)), gpu.Address(uintptr(from)), n); err != nil {
		return err
	}
	return g.dev.SyncStream(g.moves)
}

// Settle waits for the copies that callers in C have begun.
func (j *Job) Settle() error { return j.gpu.dev.SyncStream(j.gpu.moves) }

// Mover returns what callers in C copy with: the driver and the stream of Move. It is empty without
// a GPU.
func (j *Job) Mover() (cuda.Native, unsafe.Pointer) {
	if j.gpu == nil {
		return cuda.Native{}, nil
	}
	return j.gpu.dev.Native(), *(*unsafe.Pointer)(unsafe.Pointer(&j.gpu.moves))
}

// Clear zeroes GPU memory.
func (j *Job) Clear(at unsafe.Pointer, n uint64) error {
	return j.gpu.dev.Zero(gpu.Address(uintptr(at)), n)
}

// Atomic applies an operation to a word of GPU memory of 4 or 8 bytes and returns the old value. A
// store and a load need no kernel: they are done even while kernels of the program fill the GPU and
// wait for them.
func (j *Job) Atomic(at unsafe.Pointer, op proxy.Op, width int, operand, compare uint64) (uint64, error) {
	g, a := j.gpu, gpu.Address(uintptr(at))
	switch {
	case op == proxy.OpFetch:
		word := make([]byte, 8)
		err := g.dev.CopyOut(word[:width], a)
		return binary.NativeEndian.Uint64(word), err
	case op == proxy.OpSet && g.dev.Facts().StreamOps:
		return 0, g.store(a, width, operand)
	}
	u, err := g.unit(g.dev)
	if err != nil {
		return 0, err
	}
	return u.Do(a, int(op), width, operand, compare)
}

// store writes one word on the copy stream and waits.
func (g *graphics) store(at gpu.Address, width int, value uint64) error {
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

// unit returns the unit for atomic operations in a context, and makes it at the first call.
func (g *graphics) unit(dev *cuda.Device) (*amo.Unit, error) {
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

// OnGPU reports whether an address of this process is in GPU memory.
func (j *Job) OnGPU(at unsafe.Pointer) bool {
	p, err := j.gpu.dev.Pointer(gpu.Address(uintptr(at)))
	return err == nil && p.Place == gpu.OnDevice
}

// someGPU reports whether some PE of the job has a heap that its GPU reaches.
func (j *Job) someGPU() bool {
	return slices.ContainsFunc(j.kinds, func(k config.HeapKind) bool { return k != config.HeapHost })
}

// someApart reports whether PEs of the job need the network; all PEs get the same answer. The whole
// job decides, because a GPU may not reach another GPU of its host.
func (j *Job) someApart() (bool, error) {
	if len(j.Nodes.Members) > 1 {
		return true, nil
	}
	if !j.someGPU() {
		return false, nil
	}
	mine := []byte{0}
	for pe := range topo.PE(j.NPEs) {
		if j.Mapped(pe) == nil || j.gpu != nil && j.direct(pe) == 0 {
			mine[0] = 1
		}
	}
	all, err := j.boot.Allgather(mine)
	for _, b := range all {
		if len(b) == 1 && b[0] == 1 {
			return true, err
		}
	}
	return false, err
}

// heaps returns what the banner says of the heaps.
func (j *Job) heaps() string {
	size := config.FormatSize(j.Config.SymmetricSize) + " a PE"
	var count [4]int
	for _, k := range j.kinds {
		count[k]++
	}
	text := ""
	for k := config.HeapHost; k <= config.HeapDevice; k++ {
		switch count[k] {
		case 0:
		case len(j.kinds):
			return fmt.Sprintf("%s %s", k, size)
		default:
			text += fmt.Sprintf("%s on %d PEs, ", k, count[k])
		}
	}
	return text + size
}
