package job

import (
	"errors"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/gpu"
	"libshmem/runtime/job/kernels"
	"libshmem/runtime/job/rings"
	"libshmem/runtime/job/streams"
	"libshmem/runtime/onstream"
	"libshmem/runtime/proxy"
	"libshmem/runtime/topo"
)

// Waker is a C function that ends the sleep of a proxy, and its argument.
type Waker struct{ Function, Argument unsafe.Pointer }

// Rings returns the state by which threads of this process find the rings and the other PEs, a
// struct shmemi_device_state in C's memory. The first call makes the rings and lets the proxies
// serve them; it is not safe for concurrent use. waker returns what producers call when the proxy
// of the i-th engine sleeps.
func (j *Job) Rings(waker func(i int, e *proxy.Engine) Waker) (unsafe.Pointer, error) {
	if j.rings != nil {
		return unsafe.Pointer(j.rings.State), nil
	}
	if j.kernels.HasRings() {
		return nil, errors.New("make rings of threads: the proxies serve rings of this process's kernels already (use one of the two)")
	}
	count := j.Config.RingCount
	if len(j.Engines) == 0 {
		count = 0 // every PE is reached directly
	}
	h, err := queue.NewHost(max(count, len(j.Engines)), j.Config.RingSize, j.NPEs)
	if err != nil {
		return nil, err
	}
	plan := j.segment.Plan()
	user := j.Heaps.Own()
	s := h.State
	s.Me = int32(j.Me)
	s.Segment = uint64(uintptr(user)) - plan.Internal
	s.Heap, s.HeapSize = uint64(uintptr(user)), plan.Heap
	s.RingMap = uint32(j.Config.RingMapBy)
	for _, p := range j.Nodes.Peers(j.Me) {
		if at := j.Heaps.Near(p); at != nil {
			h.Peers[p].Direct = unsafe.Add(at, -int(plan.Internal))
		}
	}
	j.rings = h
	for i := range h.Rings {
		if e := len(j.Engines); e > 0 {
			w := waker(i%e, j.Engines[i%e])
			h.Wake(i, w.Function, w.Argument)
		}
	}
	j.serveRings(h.Rings, false)
	return unsafe.Pointer(s), nil
}

// serveRings lets the proxies serve rings. device: kernels are the producers.
func (j *Job) serveRings(all []*queue.Ring, device bool) {
	c := rings.Config{By: j.Network.Rings(), Settings: j.Config, Say: j.Report, Note: j.note, Log: j.log}
	if len(c.By) > 0 {
		j.driverWatch.Serve(all)
	}
	j.served = rings.Serve(c, all, device)
}

// QuietRings waits for operations pushed by kernels that have ended, see rings.Served.
func (j *Job) QuietRings(ticket *uint64) proxy.Status { return j.served.Quiet(ticket) }

// closeRings completes the pushed operations and takes the rings away.
func (j *Job) closeRings() error {
	j.served.Finish()
	j.driverWatch.Serve(nil)
	j.served.Close()
	j.served = nil
	if j.rings == nil {
		return nil
	}
	err := j.rings.Close()
	j.rings = nil
	return err
}

// Kernels returns the memory for kernels of this process, or nil if this PE has no GPU. The first
// call makes the rings and lets the proxies serve them; it is not safe for concurrent use.
func (j *Job) Kernels() (*kernels.Kernels, error) {
	switch {
	case j.GPU == nil || j.kernels != nil:
		return j.kernels, nil
	case j.rings != nil && j.served != nil:
		return nil, errors.New("make rings of kernels: the proxies serve rings of this process's threads already (use one of the two)")
	}
	k, err := kernels.New(j.kernelsConfig())
	if err != nil {
		return nil, err
	}
	j.kernels = k
	k.Watch(j.fatal, j.boot.Over)
	j.serveRings(k.Rings(), true)
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

func (j *Job) kernelsConfig() kernels.Config {
	c := kernels.Config{
		Me: j.Me, NPEs: j.NPEs, Settings: j.Config, Device: j.GPU.Device(), Rings: j.ringsOfKernels(), Cells: j.staged(),
		Internal: j.segment.Plan().Internal, Heap: j.GPU.Address(j.Nodes.Rank(j.Me)), Direct: j.Heaps.Direct,
		Teams: j.Teams, Areas: j.Layout.Teams, Stopper: &j.Stopper, Log: j.log,
	}
	c.Work.Offset, c.Work.Size = j.work.offset, j.work.size
	return c
}

// OpenStreams makes calls on streams ready, with the library's kernels from a file. It comes after
// Kernels and is not safe for concurrent use. If the file is missing or of no use, the calls that
// need it report that.
func (j *Job) OpenStreams(file string) error {
	switch {
	case j.Streams != nil:
		return nil
	case j.kernels == nil:
		return errors.New("queue work on a stream: this PE runs no kernels")
	}
	s := j.kernels.State
	c := onstream.Job{
		NPEs: j.NPEs, User: uint64(uintptr(j.Heaps.Own())), Heap: gpu.Address(s.Heap),
		Rings: s.RingCount != 0, Survives: j.Config.OnFailure == config.ReturnOnFailure, Image: j.kernels.At, Bytes: kernels.ImageBytes,
	}
	for pe := range topo.PE(j.NPEs) {
		c.Direct = append(c.Direct, j.Heaps.Direct(pe))
	}
	var err error
	if j.Streams, err = streams.Open(j.GPU.Device(), c, j.GPU.CopiesApart, file); err != nil {
		return err
	}
	if err := j.Streams.Missing(); err != nil {
		j.log.Printf("gpu", config.LogInfo, "calls on streams that need a kernel of the library do not work: %v", err)
	}
	return nil
}
