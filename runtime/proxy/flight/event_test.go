package flight

import (
	"strings"
	"testing"
	"time"

	"libshmem/runtime/proxy/layout"
)

// TestTexts checks that each event has a text, and that an unknown one is shown as numbers.
func TestTexts(t *testing.T) {
	for what := range layout.Event(len(eventNames)) {
		if got := (Recorded{Entry: layout.Entry{What: eventWord(what, uint32(layout.KindPut)<<16|3, 2)}}).String(); what != 0 && (strings.Contains(got, "%!") || strings.HasPrefix(got, "event")) {
			t.Errorf("event %d is %q", what, got)
		}
	}
	if got := (Recorded{Entry: layout.Entry{What: eventWord(200, 1, 2)}}).String(); got != "event 200 of 1 and 2" {
		t.Error(got)
	}
	for k := layout.KindAMO; k <= layout.KindBatch; k++ {
		if s := k.String(); strings.HasPrefix(s, "kind") {
			t.Errorf("message of %s", s)
		}
	}
	r := readings{first: 1000, firstTime: 500, now: 3000, nowTime: 1500} // a tick is half a nanosecond
	for ticks, want := range map[uint64]time.Duration{3000: 0, 2000: 500, 1000: 1000, 4000: 0} {
		if got := r.ago(ticks<<layout.ContextBits | 9); got != want {
			t.Errorf("tick %d is %d ns before tick 3000, want %d", ticks, got, want)
		}
	}
	if got := Lines([]Recorded{{1500 * time.Microsecond, layout.Entry{What: eventWord(layout.EventLost, 0, 0)}}}); len(got) != 1 || got[0] != "      -1.500 ms  gave the PE up" {
		t.Errorf("%q", got)
	}
}
