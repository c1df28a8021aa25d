package failure

import (
	"strconv"
	"strings"
	"testing"
)

// TestExitInHandler: a PE that exits in the handler of a signal that has interrupted its call of
// the library has the right status, and neither Go nor the library's end keeps it from ending.
func TestExitInHandler(t *testing.T) {
	shmemrun, program := compile(t, "handler")
	ways := networks(t, list(tcp, []string{"--hosts", "2"}), false)
	for i := range 12 * len(ways) { // unprotected, one of three such jobs ended by a signal
		r := ways[i/12]
		j := start(t, r.env, shmemrun, list(options("2", r.options...), []string{program, "7", strconv.Itoa(10_000 + 1_700*(i%12))})...)
		out := j.wait(7)
		for _, word := range []string{"panic", "goroutine", "signal"} {
			if strings.Contains(out, word) {
				t.Fatalf("the end of the job%s says %q:\n%s", r.name, word, out)
			}
		}
	}
}
