package proxy

import (
	"testing"

	"libshmem/runtime/proxy/layout"
)

// The bounds that Units promises, for jobs of all sizes.
func TestCredits(t *testing.T) {
	for n := 1; n < 3<<20; n += 1 + n/50 {
		units, unit := creditUnits(n)
		e := layout.State{Window: units, Unit: unit}
		most := uint64(units)
		if most > messageWindow || most > max(allMessages/uint64(n), leastMessages) || most < leastMessages {
			t.Errorf("%d PEs: %d messages", n, most)
		}
		if bytes := most << unit; bytes > max(allBytes/uint64(n), leastBytes) || bytes < leastBytes {
			t.Errorf("%d PEs: %d bytes", n, bytes)
		}
		if e.Cost(layout.HeaderSize) != 1 || e.Cost(layout.MessageSize) > most/2 || e.Cost(layout.MessageSize)<<unit < layout.CreditedMost {
			t.Errorf("%d PEs: a message takes %d to %d of %d units of %d bytes", n, e.Cost(layout.HeaderSize), e.Cost(layout.MessageSize), most, 1<<unit)
		}
		if n <= 16 && (most != messageWindow || e.Cost(layout.MessageSize) != 1) {
			t.Errorf("%d PEs have %d units, of which a message takes %d", n, most, e.Cost(layout.MessageSize))
		}
	}
}

// The bounds that Unread promises, for jobs of all sizes.
func TestUnreadBounds(t *testing.T) {
	for n := 1; n < 3<<20; n += 1 + n/50 {
		if got := unreadBytes(n); got > maxUnread || got < leastUnread || got > leastUnread && got > allUnread/uint64(n) {
			t.Errorf("%d PEs: %d bytes", n, got)
		}
	}
	if got := unreadBytes(64); got != maxUnread {
		t.Errorf("64 PEs: %d bytes, want %d", got, maxUnread)
	}
}
