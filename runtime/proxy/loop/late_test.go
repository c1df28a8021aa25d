package loop

import (
	"errors"
	"testing"
	"time"
)

// TestLateness: there is a warning when a thread was off its processor for more than 10 ms, or for
// the third time within 10 s; and at most one warning each 10 s.
func TestLateness(t *testing.T) {
	const silent, noted, grave = "silent", "noted", "grave"
	type event struct {
		at   time.Duration // from the beginning
		gap  time.Duration
		want string
	}
	const second, ms = time.Second, time.Millisecond
	for name, events := range map[string][]event{
		"once":  {{0, 1100 * time.Microsecond, noted}},
		"twice": {{0, 2 * ms, noted}, {second, 2 * ms, silent}},
		"10 ms": {{0, 10 * ms, noted}, {11 * second, 10*ms + 1, grave}},
		"often": {{0, 2 * ms, noted}, {5 * second, 2 * ms, silent}, {10 * second, 2 * ms, grave}},
		"slowly": {
			{0, 2 * ms, noted}, {6 * second, 2 * ms, silent}, {12 * second, 2 * ms, noted}, {18 * second, 2 * ms, silent},
		},
		"bounded": {
			{0, 20 * ms, grave}, {second, 30 * ms, silent}, {2 * second, 2 * ms, silent}, {10 * second, 2 * ms, grave},
		},
		"after a note": {{0, 2 * ms, noted}, {second, 11 * ms, grave}},
	} {
		t.Run(name, func(t *testing.T) {
			var l lateness
			begin := time.Unix(1000, 0)
			for i, e := range events {
				got := silent
				var late *LateError
				if err := l.add(begin.Add(e.at), e.gap); errors.As(err, &late) {
					got = noted
					if late.Grave {
						got = grave
					}
					if late.Gap != e.gap || late.Times != i+1 {
						t.Errorf("event %d says %v, want %v and %d times", i, late, e.gap, i+1)
					}
				}
				if got != e.want {
					t.Errorf("event %d, %v after %v, is %s, want %s", i, e.gap, e.at, got, e.want)
				}
			}
		})
	}
}
