package failure

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// seeds is the number of runs of each kind; -seeds=40 is for make test-full.
var seeds = flag.Uint64("seeds", 1, "seeds of each way to die")

// TestTeams kills PEs one after another, outside calls, in collective calls, and while the
// survivors agree on their team. Each time the survivors make a team, the same on each, and all
// collective calls work in it.
func TestTeams(t *testing.T) {
	shmemrun, program := compile(t, "teams")
	for _, c := range []struct {
		name, way, victims string
		pes                int
		options            []string
		namespaces, gpu    bool
	}{
		{name: "node", way: "before", pes: 5, victims: "3 0"},
		{name: "node", way: "working", pes: 8, victims: "2 0 1"},
		{name: "node", way: "inside", pes: 8, victims: "0 1 2 7"},
		{name: "hosts", way: "before", pes: 6, victims: "0 4", options: list(tcp, []string{"--hosts", "3"})},
		{name: "hosts", way: "working", pes: 8, victims: "0 1 6", options: list(tcp, []string{"--hosts", "4"})},
		{name: "hosts", way: "inside", pes: 8, victims: "0 1 2 7", options: list(tcp, []string{"--hosts", "4"})},
		{name: "namespaces", way: "inside", pes: 4, victims: "0", options: []string{"--hosts", "2", "--host-netns"}, namespaces: true},
		{name: "chaos", way: "inside", pes: 5, victims: "0 3", options: list(tcp, []string{"--chaos", "7,delay=300us"})},
		{name: "GPU memory", way: "inside", pes: 6, victims: "0 5", options: list(tcp, []string{"--hosts", "3"}), gpu: true},
	} {
		for _, r := range networks(t, c.options, c.name == "hosts" && c.way == "inside") {
			t.Run(c.name+" "+c.way+r.name, func(t *testing.T) {
				if c.namespaces {
					need.Namespaces(t)
				}
				env := list(goOn, r.env)
				if c.gpu {
					env = list(env, r.onGPU(t))
				}
				victims := strings.Fields(c.victims)
				for seed := range *seeds {
					j := start(t, env, shmemrun, list(options(fmt.Sprint(c.pes), r.options...),
						[]string{program, c.way, fmt.Sprint(seed)}, victims)...)
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
