package device

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"libshmem/queue"
	"libshmem/queue/channel"
	"libshmem/runtime/gpu"
	"libshmem/runtime/guard"
	"libshmem/runtime/proxy/wait"
)

const (
	// channelSpin is the time for which a channel is polled after the last request before its
	// goroutine sleeps, and channelPoll how long it then sleeps between two polls: as a proxy does
	// for the rings of kernels (runtime/proxy/loop), which cannot wake it either.
	channelSpin = 100 * time.Millisecond
	channelPoll = 500 * time.Microsecond
)

// kernelChannel is the proxy channel for kernels of NVIDIA's device archive, with the ring into
// which a goroutine pushes its requests. The methods of a nil kernelChannel do nothing.
type kernelChannel struct {
	addresses channel.Addresses // for kernels
	ring      *queue.Ring       // which the proxies have to serve

	channel *channel.Channel
	memory  []*gpu.Memory
	ending  atomic.Bool   // the goroutine is to end
	ended   chan struct{} // closed when it has ended; nil: it never began
}

// newKernelChannel makes a channel, and a ring of `slots` slots for it. internal is the number of
// bytes from the start of a PE's symmetric segment to its user heap.
func newKernelChannel(dev gpu.Device, slots int, internal uint64) (_ *kernelChannel, err error) {
	k := &kernelChannel{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make a proxy channel for device code of NVIDIA's archive: %w", err), k.close())
		}
	}()
	// Pinned memory alone: kernels change words that the CPU polls, and the CPU those that they do.
	shared, _, err := gpu.Ring(dev, gpu.Pinned, channel.SharedBytes)
	if err != nil {
		return nil, err
	}
	k.memory = append(k.memory, shared)
	near, err := gpu.Near(dev, channel.NearBytes)
	if err != nil {
		return nil, err
	}
	k.memory = append(k.memory, near)
	var plan kernelPlan
	at := ringPlaces{line: plan.part(unsafe.Sizeof(queue.Progress{})), replies: plan.part(uintptr(queue.ReplyBytes)), slots: plan.part(uintptr(queue.SlotBytes(slots)))}
	own, err := gpu.Host(plan.size)
	if err != nil {
		return nil, err
	}
	k.memory = append(k.memory, own)
	in := func(at uint64) unsafe.Pointer { return unsafe.Add(own.Host, at) }
	k.ring, err = queue.New(queue.Memory{Slots: in(at.slots), Line: (*queue.Progress)(in(at.line)), Replies: in(at.replies)}, slots)
	if err != nil {
		return nil, err
	}
	m := channel.Memory{Host: shared.Host, Device: uint64(shared.Device), Near: uint64(near.Device)}
	k.addresses, k.channel = m.Addresses(), channel.New(m, k.ring, internal)
	return k, nil
}

// begin starts the goroutine that pushes requests into the ring, before the first kernel that may
// store one; further calls do nothing. The goroutine ends the job by fatal when a kernel stores a
// request that is not served.
func (k *kernelChannel) begin(fatal func(error)) {
	if k == nil || k.ended != nil {
		return
	}
	k.ended = make(chan struct{})
	guard.GoPolling("the proxy channel", func() { k.run(fatal) })
}

// run pushes requests until finish is called and nothing is left to do.
func (k *kernelChannel) run(fatal func(error)) {
	defer close(k.ended)
	for worked := time.Now(); ; {
		did, err := k.channel.Poll()
		switch {
		case err != nil:
			fatal(fmt.Errorf("kernel with device code of NVIDIA's archive: %w", err))
			return
		case did:
			worked = time.Now()
		case k.ending.Load() && k.channel.Idle():
			return
		case time.Since(worked) < channelSpin:
			wait.Yield()
		default:
			wait.Sleep(channelPoll)
		}
	}
}

// quietFrom marks a ticket of a quiet that waits for the requests of a channel: the rest of the
// ticket is the position of the channel when the quiet began.
const quietFrom = 1 << 63

// drained reports whether the requests that kernels had stored when a quiet began are in the ring.
// *ticket is 0 in the first call for a quiet, and again when drained has waited and returns true. A
// ticket without quietFrom is that of the step after this one (network.Rings.Quiet): then nothing is
// left to wait for here. Other kernels may go on storing requests, so the channel may never be
// empty: then it is enough that as many have been taken as the channel has room for.
func (k *kernelChannel) drained(ticket *uint64) bool {
	if k == nil || *ticket != 0 && *ticket&quietFrom == 0 {
		return true
	}
	if *ticket == 0 {
		*ticket = quietFrom | k.channel.Position()
	}
	if !k.channel.Taken() && k.channel.Position()-*ticket&^uint64(quietFrom) < channel.Room {
		return false
	}
	*ticket = 0
	return true
}

// finish waits until the requests are in the ring and their results at the kernels, and ends the
// goroutine. No kernel stores requests any more, and the proxies still serve the ring.
func (k *kernelChannel) finish() {
	if k == nil || k.ended == nil {
		return
	}
	k.ending.Store(true)
	<-k.ended
}

// close frees the memory. Proxies do not serve the ring any more.
func (k *kernelChannel) close() error {
	if k == nil {
		return nil
	}
	var errs []error
	for _, m := range k.memory {
		errs = append(errs, m.Close())
	}
	k.memory = nil
	return errors.Join(errs...)
}
