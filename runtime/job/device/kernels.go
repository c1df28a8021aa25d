package device

// Kernels owns the memory that the kernels of this PE work with: their image of the job, the report
// of a wrong call, and the rings. It ends their waits when the job ends or a PE is lost. Its caller
// decides which engine empties the rings. A goroutine reads the report; any goroutine
// may use a Stopper, also when there are no kernels. Kernels read the state that was copied to the
// GPU before the first of them ran, and the words of a Stopper.

import (
	"errors"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"libshmem"
	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/gpu/cuda"
	"libshmem/runtime/guard"
	"libshmem/runtime/job/area"
	"libshmem/runtime/shmlog"
)

// Kernels is the memory that the kernels of this PE work with. It is made before the first of them
// runs and released after the last.
type Kernels struct {
	State *queue.State // the start of the memory of each unit of kernels, outside Go's memory
	At    gpu.Address  // the same, for kernels

	shared *gpu.Memory // the CPU and the GPU reach it
	near   *gpu.Memory // of the GPU
	report *queue.Report
	rings  []*queue.Ring
	over   chan struct{} // closed to end the reading of the report
	gone   chan struct{} // closed when it has ended

	stopper *Stopper // the job's
	teams   *TeamTable
}

// KernelsConfig is what kernels have to know, and the GPU that they run on.
type KernelsConfig struct {
	Me       libshmem.PE
	NPEs     int
	Settings *config.Config
	Device   *cuda.Device
	Rings    int                              // how many they need
	Cells    bool                             // rings have cells for bytes that would be staged
	Internal uint64                           // bytes of the internal area below each heap
	Heap     gpu.Address                      // of this PE
	Direct   func(pe libshmem.PE) gpu.Address // where they reach a heap, or 0
	Tile     func(pe libshmem.PE) int         // the largest tile of eager transfers that the network keeps on its way to a heap, or 0
	Work     struct{ Offset, Size uint64 }    // of the memory for collectives in each heap
	Counters KernelCounters
	Teams    *TeamTable
	Areas    uint64 // number of teams that can exist
	Stopper  *Stopper
	Log      *shmlog.Log
}

// KernelCounters are the notification counters of each PE.
type KernelCounters struct {
	Offset uint64      // of the counters that stores reach, in each heap
	Main   gpu.Address // of this PE, in main memory; 0: kernels do not reach them, and have no counters
	At     uint64      // where these begin in each segment
}

// ImageBytes is the size of the state for kernels: struct shmemi_device_image.
const ImageBytes = uint64(unsafe.Sizeof(queue.State{}) + 8*queue.ImagePEs)

// apart is the distance that keeps words of different writers in different cache lines. GPUs have
// lines of 128 bytes.
const apart = 128

// kernelPlan gives out consecutive parts of a block of memory.
type kernelPlan struct{ size uint64 }

func (p *kernelPlan) part(n uintptr) uint64 {
	at := p.size
	p.size += area.RoundUp(uint64(n), apart)
	return at
}

// ringPlaces is where the parts of a ring are: near in the GPU's block, the others in the shared
// block.
type ringPlaces struct{ line, replies, slots, cells, near uint64 }

// NewKernels makes the memory and the rings.
func NewKernels(c KernelsConfig) (_ *Kernels, err error) {
	count, size := c.Rings, c.Settings.RingSize
	var shared, near kernelPlan
	image, queues := shared.part(uintptr(ImageBytes)), shared.part(uintptr(count)*uintptr(ImageBytes))
	heaps := shared.part(uintptr(c.NPEs) * 8)
	peers := shared.part(uintptr(c.NPEs) * unsafe.Sizeof(queue.Peer{}))
	descs := shared.part(uintptr(count) * unsafe.Sizeof(queue.Desc{}))
	copied := shared.size
	report, stop := shared.part(unsafe.Sizeof(queue.Report{})), shared.part(8)
	near.part(uintptr(copied))
	entries, lists := near.part(uintptr(c.Areas*teamEntryBytes)), near.part(uintptr(c.Areas*c.Teams.ListBytes()))
	places := make([]ringPlaces, count)
	for i := range places {
		places[i] = ringPlaces{
			line: shared.part(unsafe.Sizeof(queue.Progress{})), replies: shared.part(uintptr(queue.ReplyBytes)),
			slots: shared.part(uintptr(queue.SlotBytes(size))), near: near.part(uintptr(queue.NearBytes)),
		}
		if c.Cells {
			places[i].cells = shared.part(uintptr(queue.CellsBytes))
		}
	}
	k := &Kernels{stopper: c.Stopper, teams: c.Teams}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	if k.shared, err = c.sharedMemory(shared.size); err != nil {
		return nil, err
	}
	if k.near, err = gpu.Near(c.Device, near.size); err != nil {
		return nil, err
	}
	here := func(at uint64) unsafe.Pointer { return unsafe.Add(k.shared.Host, at) }
	there := func(at uint64) unsafe.Pointer { return (k.shared.Device + gpu.Address(at)).Pointer() }
	nearby := func(at uint64) unsafe.Pointer { return (k.near.Device + gpu.Address(at)).Pointer() }
	k.State, k.At = (*queue.State)(here(image)), k.near.Device+gpu.Address(image)
	k.report = (*queue.Report)(here(report))

	internal := c.Internal
	first := (*[queue.ImagePEs]uint64)(here(image + uint64(unsafe.Sizeof(queue.State{}))))
	table := unsafe.Slice((*queue.Peer)(here(peers)), c.NPEs)
	users := unsafe.Slice((*uint64)(here(heaps)), c.NPEs)
	for pe := range table {
		if a := c.Direct(libshmem.PE(pe)); a != 0 {
			users[pe] = uint64(a)
			table[pe].Direct = (a - gpu.Address(internal)).Pointer()
		}
		table[pe].Tile = uint32(c.Tile(libshmem.PE(pe)))
		if pe < len(first) && c.Settings.Checks != config.ChecksFull {
			first[pe] = uint64(uintptr(table[pe].Direct))
		}
	}
	for i, p := range places {
		m := queue.Memory{Slots: here(p.slots), Line: (*queue.Progress)(here(p.line)), Replies: here(p.replies)}
		// The proxy gets the address at which the CPU reaches it.
		if p.cells != 0 && here(p.cells) == there(p.cells) {
			m.Cells = here(p.cells)
		}
		r, err := queue.New(m, size)
		if err != nil {
			return nil, err
		}
		k.rings = append(k.rings, r)
		unsafe.Slice((*queue.Desc)(here(descs)), count)[i] = queue.Desc{
			Slots: there(p.slots), Line: there(p.line), Replies: there(p.replies), Near: nearby(p.near), Cells: m.Cells,
			Log2Slots: uint32(bits.TrailingZeros(uint(size))), Log2Replies: uint32(bits.TrailingZeros(queue.Replies)),
		}
	}
	*k.State = queue.State{
		Version: queue.Version, Size: uint32(unsafe.Sizeof(queue.State{})), Me: int32(c.Me), NPEs: int32(c.NPEs),
		Segment: uint64(c.Heap) - internal, Heap: uint64(c.Heap), HeapSize: c.Settings.SymmetricSize,
		Peers: nearby(peers), Rings: nearby(descs), RingCount: uint32(count), RingMap: uint32(c.Settings.RingMapBy),
		Stop: there(stop), Work: uint64(c.Heap) + c.Work.Offset, WorkSize: c.Work.Size,
		Report: there(report), Checks: uint32(c.Settings.Checks), Device: int32(c.Device.Number()),
		Teams: nearby(entries), TeamCount: uint32(c.Areas), Heaps: nearby(heaps),
	}
	if c.Counters.Main != 0 {
		k.State.NotifyCount, k.State.NotifyMain = uint32(c.Settings.NotifyCount), c.Counters.Main.Pointer()
		k.State.Notify, k.State.NotifyAt = uint64(c.Heap)+c.Counters.Offset, c.Counters.At
	}
	for i := range uint64(count) {
		to := here(queues + i*ImageBytes)
		copy(unsafe.Slice((*byte)(to), ImageBytes), unsafe.Slice((*byte)(here(image)), ImageBytes))
		one := (*queue.State)(to)
		one.Rings, one.RingCount = unsafe.Add(one.Rings, i*uint64(unsafe.Sizeof(queue.Desc{}))), 1
	}
	if count > 0 {
		k.State.Queues = nearby(queues)
	}
	if err := c.Device.Copy(k.near.Device, k.shared.Device, copied); err != nil {
		return nil, err
	}
	if err := c.Teams.Begin(k.near.Device+gpu.Address(entries), k.near.Device+gpu.Address(lists)); err != nil {
		return nil, err
	}
	k.stopper.Begin((*[2]atomic.Uint32)(here(stop)), k.rings)
	return k, nil
}

// sharedMemory allocates memory that both the proxy and kernels access.
func (c *KernelsConfig) sharedMemory(n uint64) (*gpu.Memory, error) {
	kind, err := gpu.ParseKind(c.Settings.RingMemory.String())
	if err != nil {
		return nil, err
	}
	m, reports, err := gpu.Ring(c.Device, kind, n)
	for _, r := range reports {
		c.Log.Printf("gpu", config.LogDebug, "memory of rings, %v", r)
	}
	return m, err
}

// Watch starts to read the report of kernels. It ends the job by fatal when a kernel stops because
// of a wrong call or asks for the end, and ends the waits of kernels when over reports that the job
// has ended for another reason.
func (k *Kernels) Watch(fatal func(error), over func() bool) {
	k.over, k.gone = make(chan struct{}), make(chan struct{})
	guard.Go("the watch of kernels", func() { k.watch(fatal, over) })
}

// Rings returns the rings that proxies have to serve.
func (k *Kernels) Rings() []*queue.Ring { return k.rings }

// HasRings reports whether the kernels push operations into rings. Those of a nil Kernels do not.
func (k *Kernels) HasRings() bool { return k != nil && len(k.rings) > 0 }

// Close is called when no kernel uses the library any more. If the program breaks this rule, its
// kernels are told to end: giving their memory back waits for them.
func (k *Kernels) Close(fatal func(error)) error {
	if k == nil {
		return nil
	}
	k.teams.End()
	close(k.over)
	<-k.gone
	// The last kernel may have ended since the last look.
	if err := k.fault(); err != nil {
		fatal(err)
	}
	return k.close()
}

func (k *Kernels) close() error {
	var errs []error
	k.stopper.finish()
	if k.near != nil {
		errs = append(errs, k.near.Close())
	}
	if k.shared != nil {
		errs = append(errs, k.shared.Close())
	}
	return errors.Join(errs...)
}
