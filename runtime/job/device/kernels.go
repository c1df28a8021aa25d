package device

// Kernels owns the memory that the kernels of this PE work with: their image of the job, the report
// of a wrong call, and the rings. It ends their waits when the job ends or a PE is lost. Its caller
// decides which engine empties the rings. A goroutine reads the report; any goroutine may use a
// Stopper, also when there are no kernels. Kernels read the state that was copied to the GPU before
// the first of them ran, and the words of a Stopper.

import (
	"errors"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"libshmem"
	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/guard"
	"libshmem/runtime/job/area"
)

// Kernels is the memory that the kernels of this PE work with. It is made before the first of them
// runs and released after the last.
type Kernels struct {
	State *queue.State // the image of the job's state for kernels, in memory outside the Go heap
	At    gpu.Address  // the copy of the image that kernels read

	shared *gpu.Memory   // memory that the CPU and the GPU reach
	near   *gpu.Memory   // memory of the GPU
	report *queue.Report // in which a kernel describes its wrong call
	exit   *[2]uint32    // in which device code of NVIDIA's archive requests the end of the job: exitRequested, and the status
	exitAt gpu.Address   // the address of exit for kernels
	rings  []*queue.Ring
	// channel is the proxy channel for device code of NVIDIA's archive; nil: there is none, and
	// channelErr says why, or the job serves no such code.
	channel    *kernelChannel
	channelErr error
	over       chan struct{} // closed to end watch
	gone       chan struct{} // closed when watch has ended

	stopper *Stopper // the job's
	teams   *TeamTable
}

// imageBytes is the size of the state for kernels: struct shmemi_device_image.
const imageBytes = uint64(unsafe.Sizeof(queue.State{}) + 8*queue.ImagePEs)

// spacing is the distance that keeps words of different writers in different cache lines. GPUs have
// lines of 128 bytes.
const spacing = 128

// kernelPlan divides a block of memory into consecutive parts.
type kernelPlan struct{ size uint64 }

// part adds a part of n bytes to the block, and returns its offset.
func (p *kernelPlan) part(n uintptr) uint64 {
	at := p.size
	p.size += area.RoundUp(uint64(n), spacing)
	return at
}

// ringPlaces are the offsets of a ring's parts: near in the block of GPU memory, the others in the
// block that the CPU and the GPU share.
type ringPlaces struct{ line, replies, slots, cells, near uint64 }

// heap returns the address at which kernels of this PE reach its user heap.
func (p *Producers) heap() gpu.Address { return p.GPU.Address(p.Nodes.Rank(p.Me)) }

// newKernels makes the memory of kernels and their rings, and with archive the proxy channel for
// device code of NVIDIA's archive. The CPU writes the parts up to `copied`
// in the shared block, and then copies them to the start of the block of GPU memory, where kernels
// read them.
func (p *Producers) newKernels(archive bool) (_ *Kernels, err error) {
	count, size := p.ringsOfKernels(), p.Settings.RingSize
	dev, heap := p.GPU.Device(), p.heap()
	var shared, near kernelPlan
	image, queues := shared.part(uintptr(imageBytes)), shared.part(uintptr(count)*uintptr(imageBytes))
	heaps := shared.part(uintptr(p.NPEs) * 8)
	peers := shared.part(uintptr(p.NPEs) * unsafe.Sizeof(queue.Peer{}))
	descs := shared.part(uintptr(count) * unsafe.Sizeof(queue.Desc{}))
	copied := shared.size
	// stop is for the two words of the Stopper, exit for the two of Kernels.exit.
	report, stop, exit := shared.part(unsafe.Sizeof(queue.Report{})), shared.part(8), shared.part(8)
	near.part(uintptr(copied))
	entries, lists := near.part(uintptr(p.Areas*teamEntryBytes)), near.part(uintptr(p.Areas*p.Teams.ListBytes()))
	places := make([]ringPlaces, count)
	for i := range places {
		places[i] = ringPlaces{
			line: shared.part(unsafe.Sizeof(queue.Progress{})), replies: shared.part(uintptr(queue.ReplyBytes)),
			slots: shared.part(uintptr(queue.SlotBytes(size))), near: near.part(uintptr(queue.NearBytes)),
		}
		if p.Staged() {
			places[i].cells = shared.part(uintptr(queue.CellsBytes))
		}
	}
	k := &Kernels{stopper: &p.Stopper, teams: p.Teams}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	if k.shared, err = p.sharedMemory(shared.size); err != nil {
		return nil, err
	}
	if k.near, err = gpu.Near(dev, near.size); err != nil {
		return nil, err
	}
	onHost := func(at uint64) unsafe.Pointer { return unsafe.Add(k.shared.Host, at) }
	onGPU := func(at uint64) unsafe.Pointer { return (k.shared.Device + gpu.Address(at)).Pointer() }
	inNear := func(at uint64) unsafe.Pointer { return (k.near.Device + gpu.Address(at)).Pointer() }
	k.State, k.At = (*queue.State)(onHost(image)), k.near.Device+gpu.Address(image)
	k.report = (*queue.Report)(onHost(report))
	k.exit, k.exitAt = (*[2]uint32)(onHost(exit)), k.shared.Device+gpu.Address(exit)

	internal := p.Internal
	first := (*[queue.ImagePEs]uint64)(onHost(image + uint64(unsafe.Sizeof(queue.State{}))))
	table := unsafe.Slice((*queue.Peer)(onHost(peers)), p.NPEs)
	users := unsafe.Slice((*uint64)(onHost(heaps)), p.NPEs)
	for pe := range table {
		if a := p.Heaps.Direct(libshmem.PE(pe)); a != 0 {
			users[pe] = uint64(a)
			table[pe].Direct = (a - gpu.Address(internal)).Pointer()
		}
		table[pe].Tile = uint32(p.Network.Tile(libshmem.PE(pe)))
		// If the image has the address of a PE, a kernel uses it without a look at the table and
		// without checks. With full checks these addresses stay 0, so that each call is checked.
		if pe < len(first) && p.Settings.Checks != config.ChecksFull {
			first[pe] = uint64(uintptr(table[pe].Direct))
		}
	}
	for i, at := range places {
		m := queue.Memory{Slots: onHost(at.slots), Line: (*queue.Progress)(onHost(at.line)), Replies: onHost(at.replies)}
		// Cells are used only if the CPU and the GPU reach them at one address.
		if at.cells != 0 && onHost(at.cells) == onGPU(at.cells) {
			m.Cells = onHost(at.cells)
		}
		r, err := queue.New(m, size)
		if err != nil {
			return nil, err
		}
		k.rings = append(k.rings, r)
		unsafe.Slice((*queue.Desc)(onHost(descs)), count)[i] = queue.Desc{
			Slots: onGPU(at.slots), Line: onGPU(at.line), Replies: onGPU(at.replies), Near: inNear(at.near), Cells: m.Cells,
			Log2Slots: uint32(bits.TrailingZeros(uint(size))), Log2Replies: uint32(bits.TrailingZeros(queue.Replies)),
		}
	}
	*k.State = queue.State{
		Version: queue.Version, Size: uint32(unsafe.Sizeof(queue.State{})), Me: int32(p.Me), NPEs: int32(p.NPEs),
		Segment: uint64(heap) - internal, Heap: uint64(heap), HeapSize: p.Settings.SymmetricSize,
		Peers: inNear(peers), Rings: inNear(descs), RingCount: uint32(count), RingMap: uint32(p.Settings.RingMapBy),
		Stop: onGPU(stop), Work: uint64(heap) + p.work.offset, WorkSize: p.work.size,
		Report: onGPU(report), Checks: uint32(p.Settings.Checks), Device: int32(dev.Number()),
		Teams: inNear(entries), TeamCount: uint32(p.Areas), Heaps: inNear(heaps),
	}
	if p.counts.main != 0 {
		k.State.NotifyCount, k.State.NotifyMain = uint32(p.Settings.NotifyCount), p.counts.main.Pointer()
		k.State.Notify, k.State.NotifyAt = uint64(heap)+p.counts.offset, p.Internal-p.Notify
	}
	// For each ring there is one more image, of a job with that ring alone.
	for i := range uint64(count) {
		to := onHost(queues + i*imageBytes)
		copy(unsafe.Slice((*byte)(to), imageBytes), unsafe.Slice((*byte)(onHost(image)), imageBytes))
		one := (*queue.State)(to)
		one.Rings, one.RingCount = unsafe.Add(one.Rings, i*uint64(unsafe.Sizeof(queue.Desc{}))), 1
	}
	if count > 0 {
		k.State.Queues = inNear(queues)
	}
	if archive && len(p.engines()) > 0 {
		if k.channel, k.channelErr = newKernelChannel(dev, size, internal); k.channel != nil {
			k.rings = append(k.rings, k.channel.ring)
		}
	}
	if err := dev.Copy(k.near.Device, k.shared.Device, copied); err != nil {
		return nil, err
	}
	if err := p.Teams.Begin(k.near.Device+gpu.Address(entries), k.near.Device+gpu.Address(lists)); err != nil {
		return nil, err
	}
	k.stopper.Begin((*[2]atomic.Uint32)(onHost(stop)), k.rings)
	return k, nil
}

// sharedMemory allocates n bytes that both the proxy and kernels access, of the kind that
// SHMEM_RING_MEMORY names; with auto, of the first kind that works.
func (p *Producers) sharedMemory(n uint64) (*gpu.Memory, error) {
	kind, err := gpu.ParseKind(p.Settings.RingMemory.String())
	if err != nil {
		return nil, err
	}
	m, reports, err := gpu.Ring(p.GPU.Device(), kind, n)
	for _, r := range reports {
		p.Log.Printf("gpu", config.LogDebug, "memory of rings, %v", r)
	}
	return m, err
}

// Watch starts to read the report of kernels. It ends the job by fatal when a kernel stops because
// of a wrong call or requests the end, and ends the waits of kernels when jobOver reports that the
// job has ended for another reason.
func (k *Kernels) Watch(fatal func(error), jobOver func() bool) {
	k.over, k.gone = make(chan struct{}), make(chan struct{})
	guard.Go("the watch of kernels", func() { k.watch(fatal, jobOver) })
}

// Rings returns the rings that proxies have to serve.
func (k *Kernels) Rings() []*queue.Ring { return k.rings }

// HasRings reports whether the kernels push operations into rings. Those of a nil Kernels do not.
func (k *Kernels) HasRings() bool { return k != nil && len(k.rings) > 0 }

// Close releases the memory of kernels. No kernel may use the library any more. If the program
// breaks this rule, the Stopper ends the waits of its kernels, because freeing their memory waits
// for them. fatal ends the job, if the last kernel has reported a wrong call.
func (k *Kernels) Close(fatal func(error)) error {
	if k == nil {
		return nil
	}
	k.teams.End()
	close(k.over)
	<-k.gone
	// The last kernel may have ended since the last check.
	if err := k.fault(); err != nil {
		fatal(err)
	}
	return k.close()
}

// close ends the waits of kernels and frees their memory.
func (k *Kernels) close() error {
	var errs []error
	k.stopper.finish()
	errs = append(errs, k.channel.close())
	if k.near != nil {
		errs = append(errs, k.near.Close())
	}
	if k.shared != nil {
		errs = append(errs, k.shared.Close())
	}
	return errors.Join(errs...)
}
