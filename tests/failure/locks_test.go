package failure

import (
	"fmt"
	"strings"
	"testing"
)

// TestLocks kills PEs that hold locks, wait for them, or are their homes. The others get the locks,
// one at a time, and the first of them gets the error that the owner has died.
func TestLocks(t *testing.T) {
	shmemrun, program := compile(t, "locks")
	for _, c := range []struct {
		name, way, victims string
		pes                int
		options            []string
		gpu                bool
	}{
		{name: "node", way: "holder", pes: 4, victims: "1"},
		{name: "node", way: "heir", pes: 5, victims: "1 2"},
		{name: "node", way: "waiter", pes: 4, victims: "2"},
		{name: "node", way: "any", pes: 6, victims: "1 2"},
		{name: "node, one of two", way: "holder", pes: 2, victims: "0"},
		{name: "node, all but one", way: "heir", pes: 3, victims: "0 2"},
		{name: "node, all but one", way: "any", pes: 3, victims: "0 2"},
		{name: "hosts", way: "holder", pes: 4, victims: "0", options: list(tcp, []string{"--hosts", "2"})},
		{name: "hosts", way: "heir", pes: 5, victims: "0 2", options: list(tcp, []string{"--hosts", "5"})},
		{name: "hosts", way: "waiter", pes: 5, victims: "3", options: list(tcp, []string{"--hosts", "3"})},
		{name: "hosts", way: "any", pes: 6, victims: "1 2 3", options: list(tcp, []string{"--hosts", "3"})},
		{name: "chaos", way: "any", pes: 3, victims: "1", options: list(tcp, []string{"--chaos", "7,delay=100us"})},
		{name: "GPU memory", way: "any", pes: 4, victims: "1", options: list(tcp, []string{"--hosts", "2"}), gpu: true},
	} {
		for _, r := range networks(t, c.options, c.name == "hosts" && c.way == "any") {
			t.Run(c.name+" "+c.way+r.name, func(t *testing.T) {
				env := list(goOn, r.env)
				if c.gpu {
					env = list(env, r.onGPU(t))
				}
				victims := strings.Fields(c.victims)
				for seed := range *seeds {
					j := start(t, env, shmemrun, list(options(fmt.Sprint(c.pes), r.options...), []string{program, c.way, fmt.Sprint(seed)}, victims)...)
					out := j.wait(128 + 9)
					if n := passed(t, out); n != c.pes-len(victims) {
						t.Errorf("seed %d: %d of %d survivors came to their end:\n%s", seed, n, c.pes-len(victims), out)
					}
					if t.Failed() {
						return
					}
				}
			})
		}
	}
}
