package loop

import (
	"fmt"
	"time"

	"libshmem"
)

// stalled is the next position of a ring that stands still: a producer has reserved the position
// and not stored its operation.
type stalled struct {
	position uint64
	since    time.Time // zero: the position was not stalled at the last check
	reported bool
}

// watchRings reports a ring that stands still for c.stall because a thread has reserved positions
// and not stored its operation there: the thread died, or a debugger stopped it. Operations at
// later positions wait, and so does every quiet. Each position is reported once, and the wait
// continues.
func (c *Consumer) watchRings(now time.Time) {
	if c.stall <= 0 || now.Sub(c.watched) < c.stall/8 {
		return
	}
	c.watched = now
	for i, s := range c.rings {
		w := &s.stalled
		// The consumer takes positions in order, so all operations that are stored after the next
		// position wait.
		if !s.ring.StoredAhead(int(s.ring.Slots())) {
			w.since = time.Time{}
			continue
		}
		if p := s.ring.Position(); w.since.IsZero() || w.position != p {
			*w = stalled{position: p, since: now}
			continue
		}
		if now.Sub(w.since) >= c.stall && !w.reported {
			w.reported = true
			c.report(fmt.Errorf("ring %d: stands at position %d for %v: a thread took it and has not stored its operation, and later operations wait "+
				"(see whether a kernel or thread ended in the middle of a call)", i, w.position, now.Sub(w.since).Round(time.Millisecond)))
		}
	}
}

// stuck is the operation on a PE that has waited longest to be posted, at the last check.
type stuck struct {
	number, left uint64 // number of the operation, and bytes of it that are not posted
	since        time.Time
	reported     bool
}

// stuckEvery is the number of passes over the waiting operations between two reads of the clock.
const stuckEvery = 16

// watchWaiting reports each PE on which an operation could not be posted for c.stall: the PE
// acknowledges nothing, or the provider accepts nothing for it. No caller waits that could report
// it. Each operation is reported once, and continues to wait.
func (c *Consumer) watchWaiting() {
	if c.stall <= 0 || len(c.waiting) == 0 || c.pass%stuckEvery != 0 {
		return
	}
	now := time.Now()
	if now.Sub(c.stuckAt) < c.stall/8 {
		return
	}
	c.stuckAt = now
	before := c.stuck
	c.stuck = map[uint32]stuck{}
	for i := range c.waiting {
		w := &c.waiting[i]
		pe := w.op.PE
		if _, seen := c.stuck[pe]; seen {
			continue
		}
		s := before[pe]
		if s.number != w.number || s.left != w.op.Length {
			s = stuck{number: w.number, left: w.op.Length, since: now}
		}
		if !s.reported && now.Sub(s.since) >= c.stall {
			s.reported = true
			c.report(fmt.Errorf("ring: %s for PE %d has found no room for %v: the PE %s (run shmem-doctor on both hosts; the wait goes on)",
				w.op.Code, pe, c.stall, c.e.PeerStatus(libshmem.PE(pe))))
		}
		c.stuck[pe] = s
	}
}
