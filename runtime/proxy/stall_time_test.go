package proxy

import (
	"testing"
	"time"
)

// TestStallTime gives the clock by hand: time counts from the look that found no room
// to the last that found none, and no other.
func TestStallTime(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	e, now := j.pes[0].Engine, time.Now()
	for i, look := range []struct {
		after time.Duration
		stuck bool
		want  time.Duration // in all
	}{
		{0, false, 0},
		{time.Second, false, 0},
		{time.Second, true, 0}, // since when is not known
		{3 * time.Millisecond, true, 3 * time.Millisecond},
		{4 * time.Millisecond, true, 7 * time.Millisecond},
		{time.Second, false, 7 * time.Millisecond},
		{time.Second, true, 7 * time.Millisecond},
		{time.Nanosecond, true, 7*time.Millisecond + time.Nanosecond},
	} {
		now = now.Add(look.after)
		e.Report.Stalls(now, look.stuck)
		if got := e.Report.Stalled(); got != look.want {
			t.Errorf("look %d: stalled for %v, want %v", i, got, look.want)
		}
	}
	j.close()
}
