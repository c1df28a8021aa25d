package job

import (
	"errors"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/job/area"
	"libshmem/runtime/job/teams"
	"libshmem/runtime/topo"
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

	stopper *stopper // the job's
}

// apart is the distance that keeps words of different writers in different cache lines. GPUs have
// lines of 128 bytes.
const apart = 128

// plan gives out consecutive parts of a block of memory.
type plan struct{ size uint64 }

func (p *plan) part(n uintptr) uint64 {
	at := p.size
	p.size += area.RoundUp(uint64(n), apart)
	return at
}

// ringPlaces is where the parts of a ring are: near in the GPU's block, the others in the shared
// block.
type ringPlaces struct{ line, replies, slots, cells, near uint64 }

// Kernels returns the memory for kernels of this process, or nil if this PE has no GPU. The first
// call makes the rings and lets the proxies serve them; it is not safe for concurrent use.
func (j *Job) Kernels() (*Kernels, error) {
	switch {
	case j.GPU == nil || j.kernels != nil:
		return j.kernels, nil
	case j.rings != nil && len(j.consumers) > 0:
		return nil, errors.New("make rings of kernels: the proxies serve rings of this process's threads already (use one of the two)")
	}
	k, err := j.makeKernels()
	if err != nil {
		return nil, err
	}
	j.kernels = k
	k.over, k.gone = make(chan struct{}), make(chan struct{})
	go k.watch(j.fatal, j.boot.Over)
	j.serveRings(k.rings, true)
	j.log.Printf("gpu", config.LogDebug, "kernels reach %d PEs by loads and stores, %d by ring", j.NPEs-j.Heaps.ByRing(), j.Heaps.ByRing())
	return k, nil
}

// ringsOfKernels returns how many rings kernels need.
func (j *Job) ringsOfKernels() int {
	if len(j.Engines) == 0 || j.Heaps.ByRing() == 0 {
		return 0
	}
	return max(j.Config.RingCount, len(j.Engines))
}

func (j *Job) makeKernels() (_ *Kernels, err error) {
	count, size := j.ringsOfKernels(), j.Config.RingSize
	var shared, near plan
	image, queues := shared.part(uintptr(imageBytes)), shared.part(uintptr(count)*uintptr(imageBytes))
	heaps := shared.part(uintptr(j.NPEs) * 8)
	peers := shared.part(uintptr(j.NPEs) * unsafe.Sizeof(queue.Peer{}))
	descs := shared.part(uintptr(count) * unsafe.Sizeof(queue.Desc{}))
	copied := shared.size
	report, stop := shared.part(unsafe.Sizeof(queue.Report{})), shared.part(8)
	near.part(uintptr(copied))
	entries, lists := near.part(uintptr(j.Layout.Teams*teams.EntryBytes)), near.part(uintptr(j.Layout.Teams*j.teams.ListBytes()))
	places := make([]ringPlaces, count)
	for i := range places {
		places[i] = ringPlaces{
			line: shared.part(unsafe.Sizeof(queue.Progress{})), replies: shared.part(uintptr(queue.ReplyBytes)),
			slots: shared.part(uintptr(queue.SlotBytes(size))), near: near.part(uintptr(queue.NearBytes)),
		}
		if j.staged() {
			places[i].cells = shared.part(uintptr(queue.CellsBytes))
		}
	}
	k := &Kernels{stopper: &j.stopper}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	if k.shared, err = j.sharedMemory(shared.size); err != nil {
		return nil, err
	}
	if k.near, err = gpu.Near(j.GPU.Device(), near.size); err != nil {
		return nil, err
	}
	here := func(at uint64) unsafe.Pointer { return unsafe.Add(k.shared.Host, at) }
	there := func(at uint64) unsafe.Pointer { return (k.shared.Device + gpu.Address(at)).Pointer() }
	nearby := func(at uint64) unsafe.Pointer { return (k.near.Device + gpu.Address(at)).Pointer() }
	k.State, k.At = (*queue.State)(here(image)), k.near.Device+gpu.Address(image)
	k.report = (*queue.Report)(here(report))

	internal := j.segment.Plan().Internal
	first := (*[queue.ImagePEs]uint64)(here(image + uint64(unsafe.Sizeof(queue.State{}))))
	table := unsafe.Slice((*queue.Peer)(here(peers)), j.NPEs)
	users := unsafe.Slice((*uint64)(here(heaps)), j.NPEs)
	for pe := range table {
		if a := j.Heaps.Direct(topo.PE(pe)); a != 0 {
			users[pe] = uint64(a)
			table[pe].Direct = (a - gpu.Address(internal)).Pointer()
		}
		if pe < len(first) && j.Config.Checks != config.ChecksFull {
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
	heap := j.GPU.Address(j.Nodes.Rank(j.Me))
	*k.State = queue.State{
		Version: queue.Version, Size: uint32(unsafe.Sizeof(queue.State{})), Me: int32(j.Me), NPEs: int32(j.NPEs),
		Segment: uint64(heap) - internal, Heap: uint64(heap), HeapSize: j.Config.SymmetricSize,
		Peers: nearby(peers), Rings: nearby(descs), RingCount: uint32(count), RingMap: uint32(j.Config.RingMapBy),
		Stop: there(stop), Work: uint64(heap) + j.work.offset, WorkSize: j.work.size,
		Report: there(report), Checks: uint32(j.Config.Checks), Device: int32(j.GPU.Device().Number()),
		Teams: nearby(entries), TeamCount: uint32(j.Layout.Teams), Heaps: nearby(heaps),
	}
	for i := range uint64(count) {
		to := here(queues + i*imageBytes)
		copy(unsafe.Slice((*byte)(to), imageBytes), unsafe.Slice((*byte)(here(image)), imageBytes))
		one := (*queue.State)(to)
		one.Rings, one.RingCount = unsafe.Add(one.Rings, i*uint64(unsafe.Sizeof(queue.Desc{}))), 1
	}
	if count > 0 {
		k.State.Queues = nearby(queues)
	}
	if err := j.GPU.Device().Copy(k.near.Device, k.shared.Device, copied); err != nil {
		return nil, err
	}
	if err := j.teams.Begin(k.near.Device+gpu.Address(entries), k.near.Device+gpu.Address(lists)); err != nil {
		return nil, err
	}
	k.stopper.begin((*[2]atomic.Uint32)(here(stop)), k.rings)
	return k, nil
}

// sharedMemory allocates memory that both the proxy and kernels access.
func (j *Job) sharedMemory(n uint64) (*gpu.Memory, error) {
	kind, err := gpu.ParseKind(j.Config.RingMemory.String())
	if err != nil {
		return nil, err
	}
	m, reports, err := gpu.Ring(j.GPU.Device(), kind, n)
	for _, r := range reports {
		j.log.Printf("gpu", config.LogDebug, "memory of rings, %v", r)
	}
	return m, err
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

// HasRings reports whether kernels of this PE push operations into rings.
func (j *Job) HasRings() bool { return j.kernels != nil && len(j.kernels.rings) > 0 }

// closeKernels is called when no kernel uses the library any more. If the program breaks this rule,
// its kernels are told to end: giving their memory back waits for them.
func (j *Job) closeKernels() error {
	if j.kernels == nil {
		return nil
	}
	k := j.kernels
	j.kernels = nil
	j.teams.End()
	close(k.over)
	<-k.gone
	// The last kernel may have ended since the last look.
	if err := k.fault(); err != nil {
		j.fatal(err)
	}
	return k.close()
}
