package loop

import (
	"sync/atomic"

	"libshmem/queue"
	"libshmem/runtime/proxy/call"
)

// order handles the quiets and fences of a consumer. A producer pushes one when all operations that
// it covers have been taken from the other rings. So these operations have been posted, or wait to
// be posted, when the consumer reads it here.
//
// A settlement is a quiet of the engine that begins after the waiting operations have been posted.
// A quiet from a ring requests a settlement of every consumer of this PE. A fence of the engine is
// enough for the operations of this consumer. But the endpoints of other consumers keep no order
// with this one's, so a fence from a ring requests a settlement of those consumers. Requests that
// arrive while a settlement is under way share the next one.
type order struct {
	others []*Consumer // all other consumers of this PE
	wake   func()      // ends this consumer's sleep; nil in tests that never sleep

	requested atomic.Uint64 // number of settlements that consumers of this PE have requested of this one
	complete  atomic.Uint64 // number of settlements that are complete
	phase     phase
	covers    uint64 // the value of requested when the settlement under way began
	after     uint64 // number of the last waiting operation that has to be posted before the engine's quiet
	ticket    call.Ticket

	quiets, fences group
}

// phase is the phase of a settlement, which is a quiet of the engine that begins when no operation
// from before it waits to be posted.
type phase uint8

const (
	settled      phase = iota // no settlement is under way
	postsWaiting              // the waiting operations have not all been posted
	quiets                    // the quiet of the engine is not complete
)

// waits has the quiets, or the fences, for which producers of one ring wait. Each is identified by
// its position in the ring.
type waits struct {
	next, now      uint64 // positions of the last one that was taken from the ring, and of the one under way
	want, underWay bool   // next is valid and not under way; now is under way
}

// request notes that a producer waits for the quiet or fence before a position of its ring.
func (w *waits) request(position uint64) { w.next, w.want = position, true }

// group has the quiets, or the fences, of all rings that are handled together: they wait for the
// same settlements.
type group struct {
	underWay bool     // a group is under way
	own      uint64   // the settlement of this consumer, for quiets
	other    []uint64 // the settlements of the other consumers
}

// Join connects the consumers of one PE, before any of them runs: a quiet or fence from a ring of
// one consumer covers the operations of all. wake[i] ends the sleep of consumer i.
func Join(consumers []*Consumer, wake []func()) {
	for i, c := range consumers {
		c.order.wake = wake[i]
		for _, other := range consumers {
			if other != c {
				c.order.others = append(c.order.others, other)
			}
		}
		c.order.quiets.other = make([]uint64, len(c.order.others))
		c.order.fences.other = make([]uint64, len(c.order.others))
		if c.inner != nil {
			c.inner.SetServesAll(len(c.order.others) == 0)
		}
	}
}

// settle requests a settlement, a quiet that begins after the waiting operations have been posted,
// and returns its number. Threads of all consumers of the PE may call it.
func (o *order) settle() uint64 {
	n := o.requested.Add(1)
	if o.wake != nil {
		o.wake()
	}
	return n
}

// Settle requests a settlement, a quiet of the operations that were taken out of the rings so far,
// and returns its number for Settled. Any thread may call it.
func (c *Consumer) Settle() uint64 { return c.order.settle() }

// Settled reports whether settlement n, which Settle requested, is complete. Any thread may call
// it.
func (c *Consumer) Settled(n uint64) bool { return c.order.complete.Load() >= n }

// advance does what is possible now: it begins groups of the quiets and fences that have arrived,
// begins and completes quiets of the engine (settlements), and replies to the producers of each
// group whose settlements are complete. It returns the number of steps that it made.
func (o *order) advance(c *Consumer) int {
	n := o.beginGroups(c)
	for o.step(c) {
		n++
	}
	return n + o.endGroups(c)
}

// beginGroups starts a group for the quiets, and one for the fences, that arrived since the last
// group of the kind ended, and returns the number of groups that it started. A group of quiets
// waits for settlements (quiets of the engine) of all consumers of this PE, a group of fences only
// for those of the other consumers: fences of this one's engine order its own operations.
func (o *order) beginGroups(c *Consumer) int {
	n := 0
	if !o.quiets.underWay && beginGroup(c, (*serving).quietWaits) {
		o.quiets.underWay = true
		o.quiets.own = o.requested.Add(1)
		o.settleOthers(o.quiets.other)
		n++
	}
	if !o.fences.underWay && beginGroup(c, (*serving).fenceWaits) {
		o.fences.underWay = true
		o.settleOthers(o.fences.other)
		n++
	}
	return n
}

// quietWaits returns the quiets for which producers of the ring wait.
func (s *serving) quietWaits() *waits { return &s.quiet }

// fenceWaits returns the fences for which producers of the ring wait.
func (s *serving) fenceWaits() *waits { return &s.fence }

// beginGroup makes a group of all quiets, or all fences, for which producers of the rings wait now.
// It returns false if there are none.
func beginGroup(c *Consumer, of func(*serving) *waits) bool {
	any := false
	for _, s := range c.rings {
		if w := of(s); w.want {
			w.now, w.underWay, w.want = w.next, true, false
			any = true
		}
	}
	return any
}

// endGroup calls reply for each ring whose quiets, or fences (of selects which), are in the group:
// the producers may continue.
func endGroup(c *Consumer, of func(*serving) *waits, reply func(*queue.Ring, uint64)) {
	for _, s := range c.rings {
		if w := of(s); w.underWay {
			w.underWay = false
			reply(s.ring, w.now)
		}
	}
}

// settleOthers requests a settlement of each other consumer of this PE, and stores their numbers in
// tickets.
func (o *order) settleOthers(tickets []uint64) {
	for i, other := range o.others {
		tickets[i] = other.order.settle()
	}
}

// othersSettled reports whether the settlements that settleOthers requested are complete.
// tickets[i] is the number of the settlement of the i-th other consumer.
func (o *order) othersSettled(tickets []uint64) bool {
	for i, other := range o.others {
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
	if o.quiets.underWay && o.complete.Load() >= o.quiets.own && o.othersSettled(o.quiets.other) {
		o.quiets.underWay = false
		endGroup(c, (*serving).quietWaits, (*queue.Ring).PublishDone)
		n++
	}
	if o.fences.underWay && o.othersSettled(o.fences.other) {
		o.fences.underWay = false
		endGroup(c, (*serving).fenceWaits, (*queue.Ring).PublishFenced)
		n++
	}
	return n
}

// step moves the settlement under way by one phase, or starts the one that was requested. When it
// is complete, the other consumers are woken, because they may wait for it. It returns false if it
// has changed nothing.
func (o *order) step(c *Consumer) bool {
	switch o.phase {
	case settled:
		if o.requested.Load() == o.covers {
			return false
		}
		o.covers = o.requested.Load()
		o.after = c.enqueued
		o.phase = postsWaiting
	case postsWaiting:
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
		for _, other := range o.others {
			if other.order.wake != nil {
				other.order.wake()
			}
		}
	}
	return true
}
