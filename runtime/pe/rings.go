package pe

import (
	"fmt"
	"time"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy"
)

// Waker is a C function that ends the sleep of a proxy, and its argument.
type Waker struct{ Function, Argument unsafe.Pointer }

// Rings returns the state by which threads of this process find the rings and
// the other PEs, a struct shmemi_device_state in C's memory. The first call
// makes the rings and has the proxies serve them; it is not safe for concurrent
// use. waker gives what producers call when the i-th engine's proxy sleeps.
func (j *Job) Rings(waker func(i int, e *proxy.Engine) Waker) (unsafe.Pointer, error) {
	if j.rings != nil {
		return unsafe.Pointer(j.rings.State), nil
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
	user := j.HeapOf(j.Me)
	s := h.State
	s.Me = int32(j.Me)
	s.Segment = uint64(uintptr(user)) - plan.Internal
	s.Heap, s.HeapSize = uint64(uintptr(user)), plan.Heap
	s.RingMap = uint32(j.Config.RingMapBy)
	for _, p := range j.Nodes.Peers(j.Me) {
		h.Peers[p].Direct = unsafe.Add(j.HeapOf(p), -int(plan.Internal))
	}
	j.rings = h
	j.serveRings(waker)
	return unsafe.Pointer(s), nil
}

// serveRings spreads the rings over the engines.
func (j *Job) serveRings(waker func(int, *proxy.Engine) Waker) {
	if len(j.Engines) == 0 {
		return
	}
	mine := make([][]*queue.Ring, len(j.Engines))
	for i, r := range j.rings.Rings {
		e := i % len(j.Engines)
		mine[e] = append(mine[e], r)
		w := waker(e, j.Engines[e])
		j.rings.Wake(i, w.Function, w.Argument)
	}
	locals := proxy.NewLocals()
	// Nobody else may ever ask about an operation of a ring that failed.
	j.reports = &reports{to: j.stderr, prefix: fmt.Sprintf("PE %d", j.Me), now: time.Now}
	var wakes []func()
	for i, e := range j.Engines {
		j.consumers = append(j.consumers, proxy.NewConsumer(e, mine[i], locals, j.reports.add))
		wakes = append(wakes, e.Rouse)
	}
	for _, c := range j.consumers {
		c.Stall(j.Config.Timeout)
	}
	proxy.Join(j.consumers, wakes)
	for i, e := range j.Engines {
		e.Attach(j.consumers[i], false)
	}
	j.log.Printf("ring", config.LogDebug, "%d rings of %d slots by %s, %d proxy threads, memory: ordinary, for threads of this process",
		len(j.rings.Rings), j.Config.RingSize, j.Config.RingMapBy, len(j.Engines))
}

// closeRings completes what was pushed and takes the rings away.
func (j *Job) closeRings() error {
	for _, c := range j.consumers {
		c.Finish()
	}
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
