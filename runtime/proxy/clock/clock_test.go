package clock

import (
	"testing"
	"time"

	"libshmem/runtime/live"
)

// TestNow holds that the time goes on, and as fast as the clock.
func TestNow(t *testing.T) {
	from, at := Now(), live.Now()
	for last, end := from, time.Now().Add(10*time.Millisecond); time.Now().Before(end); {
		now := Now()
		if now < last {
			t.Fatalf("%d comes after %d", now, last)
		}
		last = now
	}
	if Now() == from || live.Now()-at < uint64(10*time.Millisecond) {
		t.Errorf("10 ms were %d ticks and %d ns", Now()-from, live.Now()-at)
	}
}

func BenchmarkNow(b *testing.B) {
	for range b.N {
		Now()
	}
}
