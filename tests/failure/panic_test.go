package failure

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// panics runs a job whose PE 1 panics some time after it was connected, and returns the place that
// the abort function names.
func panics(t *testing.T, after time.Duration, doing string) string {
	t.Helper()
	shmemrun, program := compile(t, "panics")
	out := start(t, nil, shmemrun, "-n", "2", "--chaos", "1,panic=1@"+after.String(), program, doing).wait(134)
	if regexp.MustCompile(`(?m)^(panic|fatal error): `).MatchString(out) {
		t.Errorf("Go ended the process:\n%s", out)
	}
	said := regexp.MustCompile(`(?m)^shmem: (.*): internal error: .* \(a mistake in libshmem: please report it with the stack above\)$`).FindStringSubmatch(out)
	if said == nil || !strings.Contains(out, "shmem: the stack of the internal error below:\n") {
		t.Fatalf("nothing says where an internal error was, and its stack:\n%s", out)
	}
	return said[1]
}

// TestPanics has the library panic in a goroutine of its own and in a call. Each time the process ends
// by the abort function, with the PE, the call and the cause, and shmemrun ends the others.
func TestPanics(t *testing.T) {
	for _, c := range []struct{ what, where, doing string }{
		{"a goroutine", "PE 1: the proxy of endpoint 0", "sleep"},
		{"a call", "PE 1: poll", "call"},
	} {
		t.Run(c.what, func(t *testing.T) {
			// Both poll the network, and the first one panics. On a busy machine the time may come while
			// the program still starts.
			for after := 50 * time.Millisecond; ; after *= 2 {
				where := panics(t, after, c.doing)
				if where == c.where {
					return
				}
				if where != "PE 1: poll" && where != "PE 1: the proxy of endpoint 0" || after > 5*time.Second {
					t.Fatalf("the panic was in %s, want %s", where, c.where)
				}
			}
		})
	}
}
