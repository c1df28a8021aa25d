package failure

import (
	"fmt"
	"testing"
)

// TestEnds has PEs that end without shmem_finalize: what they have sent arrives, so that each comes
// to its end. In chaos it waits for milliseconds within the sender, and would be lost with it.
func TestEnds(t *testing.T) {
	shmemrun, program := compile(t, "ends")
	for _, what := range []string{"barrier", "sum", "put"} {
		for seed := range *seeds * 3 {
			chaos := fmt.Sprintf("%d,delay=5ms", seed)
			for _, r := range networks(t, list(tcp, []string{"--hosts", "4", "--chaos", chaos}), false) {
				t.Run(fmt.Sprintf("%s %d%s", what, seed, r.name), func(t *testing.T) {
					t.Parallel()
					j := start(t, r.env, shmemrun, options("4", append(r.options, program, what)...)...)
					if n := passed(t, j.wait(0)); n != 4 {
						t.Errorf("%d of 4 PEs came to their end:\n%s", n, j.output())
					}
				})
			}
		}
	}
}

// TestEndsInHandler has PEs that end by exit(0) in the handler of a signal, which interrupts calls
// of the library that hold its lock: the job ends all the same.
func TestEndsInHandler(t *testing.T) {
	shmemrun, program := compile(t, "ends")
	for _, r := range networks(t, list(tcp, []string{"--hosts", "4"}), false) {
		start(t, r.env, shmemrun, options("4", append(r.options, program, "handler")...)...).wait(0)
	}
}
