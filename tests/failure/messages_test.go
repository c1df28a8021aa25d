package failure

import (
	"fmt"
	"testing"
)

// TestMessages kills a PE while the others send to it and receive from it. Their calls end and name
// it, what it had sent is received, and messages of the others arrive.
func TestMessages(t *testing.T) {
	shmemrun, program := compile(t, "messages")
	for _, c := range []struct {
		name, victim string
		pes          int
		options      []string
	}{
		{name: "node", victim: "1", pes: 5},
		{name: "hosts", victim: "2", pes: 5, options: list(tcp, []string{"--hosts", "5"})},
		{name: "hosts, pairs", victim: "0", pes: 6, options: list(tcp, []string{"--hosts", "3"})},
	} {
		for _, r := range networks(t, c.options, false) {
			t.Run(c.name+r.name, func(t *testing.T) {
				j := start(t, list(goOn, r.env), shmemrun, list(options(fmt.Sprint(c.pes), r.options...), []string{program, c.victim})...)
				out := j.wait(128 + 9)
				if n := passed(t, out); n != c.pes-1 {
					t.Errorf("%d of %d survivors came to their end:\n%s", n, c.pes-1, out)
				}
			})
		}
	}
}
