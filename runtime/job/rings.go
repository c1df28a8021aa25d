package job

import (
	"errors"
	"time"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/loop"
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
	if j.kernels != nil && len(j.kernels.rings) > 0 {
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

// serveRings spreads the rings over the engines. device: kernels are the producers.
func (j *Job) serveRings(rings []*queue.Ring, device bool) {
	if len(j.Engines) == 0 || len(rings) == 0 {
		return
	}
	mine := make([][]*queue.Ring, len(j.Engines))
	for i, r := range rings {
		e := i % len(j.Engines)
		mine[e] = append(mine[e], r)
	}
	locals := loop.NewLocals()
	// The producer may never ask about an operation that failed.
	j.reports = &reports{say: j.Report, note: j.note, now: time.Now}
	var wakes []func()
	for i, e := range j.Engines {
		j.consumers = append(j.consumers, loop.NewConsumer(e, mine[i], locals, j.reports.add))
		wakes = append(wakes, e.Rouse)
	}
	for i, c := range j.consumers {
		c.Stall(j.Config.Timeout)
		c.TraceTo(j.tracks[i])
	}
	j.driverWatch.Serve(rings)
	loop.Join(j.consumers, wakes)
	for i, l := range j.loops {
		l.Attach(j.consumers[i], device)
	}
	whose := "threads"
	if device {
		whose = "kernels"
	}
	j.log.Printf("ring", config.LogDebug, "%d rings of %d slots by %s for %s of this process, %d proxy threads",
		len(rings), j.Config.RingSize, j.Config.RingMapBy, whose, len(j.Engines))
}

// closeRings completes the pushed operations and takes the rings away.
func (j *Job) closeRings() error {
	for _, c := range j.consumers {
		c.Finish()
	}
	j.driverWatch.Serve(nil)
	if j.consumers != nil {
		j.reports.close()
	}
	j.consumers = nil
	if j.rings == nil {
		return nil
	}
	err := j.rings.Close()
	j.rings = nil
	return err
}
