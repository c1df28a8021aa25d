package proxy

import (
	"testing"
	"time"

	"libshmem/fabric"
)

// A wait has overslept if it ends at its limit while the network has a completion, although a
// descriptor should have ended it. A provider without a descriptor sleeps by time, and none of its
// waits has overslept.
func TestOverslept(t *testing.T) {
	for _, c := range []struct {
		name       string
		descriptor bool
		came       bool // an event ended the wait
		ready      bool // the network has a completion
		late       bool // the thread had no processor at the limit
		want       uint64
	}{
		{"a descriptor that said nothing", true, false, true, false, 1},
		{"a descriptor, and nothing came", true, false, false, false, 0},
		{"a descriptor that ended the wait", true, true, true, false, 0},
		{"a descriptor, and no processor at the limit", true, false, true, true, 0},
		{"no descriptor", false, false, true, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := modes[0]
			m.caps.WaitFD = c.descriptor
			p := newJob(t, m, 1, 2, 1<<16).pes[0]
			p.locked(func() { p.armedAt = p.Polls })
			p.end.net.mu.Lock()
			kept := p.end.queue
			if c.ready {
				p.end.queue = append(kept, fabric.Completion{})
			}
			p.end.net.mu.Unlock()
			limit := time.Now().Add(time.Hour) // the test itself may lose its processor
			if c.late {
				limit = time.Now().Add(-2 * wakeupTime)
			}
			p.NoteSleepEnd(c.came, 2*longSleep, limit)
			p.end.net.mu.Lock()
			p.end.queue = kept
			p.end.net.mu.Unlock()
			if got := p.Report.Overslept(); got != c.want {
				t.Errorf("overslept %d times, want %d", got, c.want)
			}
		})
	}
}
