package need

import (
	"testing"
	"time"
)

// Eventually waits until a condition holds, for a minute at most, because a machine may be busy;
// then it fails.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}
