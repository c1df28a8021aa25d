package loop

import (
	"sync/atomic"

	"libshmem/queue"
	"libshmem/runtime/proxy/call"
)

// order handles the quiets and fences of a consumer. A producer pushes one when all operations that
// it covers have been taken from the other rings. So these operations have been posted, or wait for
// room, when the consumer reads it here.
//
// A settlement is a quiet of the engine that begins after the waiting operations have found room. A
// quiet from a ring asks every consumer of this PE for a settlement. The engine does a fence for
// this consumer. Endpoints of other consumers keep no order with this one's, so a fence asks those
// consumers for a settlement. Requests that come while a settlement is under way share the next
// one.
type order struct {
	rest []*Consumer
	wake func() // ends this consumer's sleep; nil in tests that never sleep

	requested atomic.Uint64 // settlements that any consumer of this PE has asked for
	complete  atomic.Uint64 // settlements that are complete
	phase     phase
	covers    uint64 // the value of asked when the settlement under way began
	after     uint64 // the last operation that has to find room first
	ticket    call.Ticket

	quiets, fences group
}

type phase uint8

const (
	settled   phase = iota
	findsRoom       // until all waiting operations have been posted
	quiets          // of the engine
)

// waits is the quiet or fence that producers of one ring wait for, by position.
type waits struct {
	next, now   uint64
	want, under bool
}

func (w *waits) request(position uint64) { w.next, w.want = position, true }

// group is the quiets, or the fences, of all rings that are handled together.
type group struct {
	under bool
	own   uint64   // settlement of this consumer
	other []uint64 // settlements of the other consumers
}

// Join connects the consumers of one PE, before any of them runs. wake[i] ends the sleep of the
// i-th.
func Join(consumers []*Consumer, wake []func()) {
	for i, c := range consumers {
		c.order.wake = wake[i]
		for _, other := range consumers {
			if other != c {
				c.order.rest = append(c.order.rest, other)
			}
		}
		c.order.quiets.other = make([]uint64, len(c.order.rest))
		c.order.fences.other = make([]uint64, len(c.order.rest))
		if c.inner != nil {
			c.inner.Alone(len(c.order.rest) == 0)
		}
	}
}

// settle requests a settlement. Threads of all consumers of the PE may call it.
func (o *order) settle() uint64 {
	n := o.requested.Add(1)
	if o.wake != nil {
		o.wake()
	}
	return n
}

// Settle begins a settlement of the operations that were taken out of the rings, and Settled
// reports whether it is over. Any thread may call them.
func (c *Consumer) Settle() uint64 { return c.order.settle() }

// Settled reports whether settlement n, which Settle began, is over.
func (c *Consumer) Settled(n uint64) bool { return c.order.complete.Load() >= n }

// advance moves settlements and groups on as far as possible. It returns the number of steps.
func (o *order) advance(c *Consumer) int {
	n := o.beginGroups(c)
	for o.step(c) {
		n++
	}
	return n + o.endGroups(c)
}

// beginGroups begins to handle the quiets and fences that came since the last group ended.
func (o *order) beginGroups(c *Consumer) int {
	n := 0
	if !o.quiets.under && begin(c, (*serving).quietWaits) {
		o.quiets.under = true
		o.quiets.own = o.requested.Add(1)
		o.settleRest(o.quiets.other)
		n++
	}
	if !o.fences.under && begin(c, (*serving).fenceWaits) {
		o.fences.under = true
		o.settleRest(o.fences.other)
		n++
	}
	return n
}

func (s *serving) quietWaits() *waits { return &s.quiet }
func (s *serving) fenceWaits() *waits { return &s.fence }

func begin(c *Consumer, of func(*serving) *waits) bool {
	any := false
	for _, s := range c.rings {
		if w := of(s); w.want {
			w.now, w.under, w.want = w.next, true, false
			any = true
		}
	}
	return any
}

// end replies to the producers of each ring that waits.
func end(c *Consumer, of func(*serving) *waits, answer func(*queue.Ring, uint64)) {
	for _, s := range c.rings {
		if w := of(s); w.under {
			w.under = false
			answer(s.ring, w.now)
		}
	}
}

func (o *order) settleRest(tickets []uint64) {
	for i, other := range o.rest {
		tickets[i] = other.order.settle()
	}
}

func (o *order) restSettled(tickets []uint64) bool {
	for i, other := range o.rest {
		if other.order.complete.Load() < tickets[i] {
			return false
		}
	}
	return true
}

// endGroups answers the producers.
func (o *order) endGroups(c *Consumer) int {
	n := 0
	if o.quiets.under && o.complete.Load() >= o.quiets.own && o.restSettled(o.quiets.other) {
		o.quiets.under = false
		end(c, (*serving).quietWaits, (*queue.Ring).Done)
		n++
	}
	if o.fences.under && o.restSettled(o.fences.other) {
		o.fences.under = false
		end(c, (*serving).fenceWaits, (*queue.Ring).Fenced)
		n++
	}
	return n
}

// step moves the settlement one phase on, if it can.
func (o *order) step(c *Consumer) bool {
	switch o.phase {
	case settled:
		if o.requested.Load() == o.covers {
			return false
		}
		o.covers = o.requested.Load()
		o.after = c.enqueued
		o.phase = findsRoom
	case findsRoom:
		if c.oldestWaiting() <= o.after {
			return false
		}
		o.ticket = c.e.QuietBegin()
		o.phase = quiets
	case quiets:
		switch c.e.QuietDone(o.ticket) {
		case call.Pending:
			return false
		case call.Failed:
			c.report(c.e.Err())
		}
		o.complete.Store(o.covers)
		o.phase = settled
		for _, other := range o.rest {
			if other.order.wake != nil {
				other.order.wake()
			}
		}
	}
	return true
}
