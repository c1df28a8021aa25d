package failure

import (
	"strconv"
	"strings"
	"testing"
)

// TestExitInHandler: a PE that ends by exit where a signal has interrupted its call of
// the library has its status, and neither Go nor a library's end stands in its way.
func TestExitInHandler(t *testing.T) {
	shmemrun, program := compile(t, "handler")
	for i := range 12 { // without care for it, one of three such jobs ended by a signal
		j := start(t, nil, shmemrun, append(tcp, "-n", "2", "--hosts", "2", program, "7", strconv.Itoa(10_000+1_700*i))...)
		out := j.wait(7)
		for _, word := range []string{"panic", "goroutine", "signal"} {
			if strings.Contains(out, word) {
				t.Fatalf("the end of the job says %q:\n%s", word, out)
			}
		}
	}
}
