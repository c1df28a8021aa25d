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
// quiet from a ring requests a settlement of every consumer of this PE. The engine does a fence for
// this consumer. Endpoints of other consumers keep no order with this one's, so a fence requests a
// settlement of those consumers. Requests that come while a settlement is under way share the next
// one.
type order struct {
	rest []*Consumer // the other consumers of this PE
	wake func()      // ends this consumer's sleep; nil in tests that never sleep

	requested atomic.Uint64 // settlements that consumers of this PE have requested of this one
	complete  atomic.Uint64 // settlements that are complete
	phase     phase
	covers    uint64 // the value of requested when the settlement under way began
	after     uint64 // the last waiting operation that has to find room before the engine's quiet
	ticket    call.Ticket

	quiets, fences group
}

// phase is the phase of a settlement, which is a quiet of the engine behind the operations that
// wait for room.
type phase uint8

const (
	settled   phase = iota // none is under way
	findsRoom              // until all waiting operations have been posted
	quiets                 // until the quiet of the engine is complete
)

// waits are the quiets, or the fences, for which producers of one ring wait. They are named by
// their positions in the ring.
type waits struct {
	next, now   uint64 // the latest one that was taken from the ring, and the one under way
	want, under bool   // there is one that was taken, and one under way
}

// request notes that a producer waits for the quiet or fence before a position of its ring.
func (w *waits) request(position uint64) { w.next, w.want = position, true }

// group is the quiets, or the fences, of all rings that are handled together: they wait for the
// same settlements.
type group struct {
	under bool     // one is under way
	own   uint64   // the settlement of this consumer, for quiets
	other []uint64 // the settlements of the other consumers
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

// settle requests a settlement, a quiet of the engine behind the operations that wait for room, and
// returns its number. Threads of all consumers of the PE may call it.
func (o *order) settle() uint64 {
	n := o.requested.Add(1)
	if o.wake != nil {
		o.wake()
	}
	return n
}

// Settle begins a settlement of the operations that were taken out of the rings, and Settled
// reports whether it is complete. Any thread may call them.
func (c *Consumer) Settle() uint64 { return c.order.settle() }

// Settled reports whether settlement n, which Settle began, is complete.
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

// begin takes the quiets, or the fences, for which producers of the rings wait into a group. It
// returns false if there are none.
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

// end calls reply for each ring whose quiets, or fences, are in the group: the producers may go on.
func end(c *Consumer, of func(*serving) *waits, reply func(*queue.Ring, uint64)) {
	for _, s := range c.rings {
		if w := of(s); w.under {
			w.under = false
			reply(s.ring, w.now)
		}
	}
}

// settleRest requests a settlement of each other consumer of this PE.
func (o *order) settleRest(tickets []uint64) {
	for i, other := range o.rest {
		tickets[i] = other.order.settle()
	}
}

// restSettled reports whether the settlements that settleRest requested are complete.
func (o *order) restSettled(tickets []uint64) bool {
	for i, other := range o.rest {
		if other.order.complete.Load() < tickets[i] {
			return false
		}
	}
	return true
}

// endGroups replies to the producers of the quiets and fences whose settlements are complete. It
// returns the number of groups that it ended.
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

// step moves the settlement, or begins the one that was requested, by one phase. False: nothing has
// changed.
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
