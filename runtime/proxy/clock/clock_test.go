package clock

import (
	"testing"
	"time"

	"libshmem/runtime/statuspage"
)

// TestNow checks that the time advances, and at the rate of the clock.
func TestNow(t *testing.T) {
	from, at := Now(), statuspage.Now()
	for last, end := from, time.Now().Add(10*time.Millisecond); time.Now().Before(end); {
		now := Now()
		if now < last {
			t.Fatalf("%d comes after %d", now, last)
		}
		last = now
	}
	if Now() == from || statuspage.Now()-at < uint64(10*time.Millisecond) {
		t.Errorf("10 ms were %d ticks and %d ns", Now()-from, statuspage.Now()-at)
	}
}

func BenchmarkNow(b *testing.B) {
	for range b.N {
		Now()
	}
}
