package loop

import (
	"fmt"
	"time"
)

// stalled is a ring's next position, which a producer has taken and not filled.
type stalled struct {
	position uint64
	since    time.Time // zero: the position was not stalled at the last look
	told     bool
}

// watchRings reports a ring that stands still because a thread took positions and never filled
// them: the thread died, or a debugger stopped it. Operations that were pushed behind them wait,
// and so does every quiet. Each position is reported once, and the wait goes on.
func (c *Consumer) watchRings(now time.Time) {
	if c.stall <= 0 || now.Sub(c.watched) < c.stall/8 {
		return
	}
	c.watched = now
	for i, s := range c.rings {
		w := &s.stalled
		// The consumer takes positions in order, so all slots that are filled behind the next
		// position wait.
		if !s.ring.Ahead(int(s.ring.Slots())) {
			w.since = time.Time{}
			continue
		}
		if p := s.ring.Position(); w.since.IsZero() || w.position != p {
			*w = stalled{position: p, since: now}
			continue
		}
		if now.Sub(w.since) >= c.stall && !w.told {
			w.told = true
			c.report(fmt.Errorf("ring %d: stands at position %d for %v: a thread took it and has not stored its operation, and later operations wait "+
				"(see whether a kernel or thread ended in the middle of a call)", i, w.position, now.Sub(w.since).Round(time.Millisecond)))
		}
	}
}
