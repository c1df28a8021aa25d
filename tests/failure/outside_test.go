package failure

import "testing"

// TestOutside kills a PE to which a put is under way while the others are in a collective call of
// their team. The quiet in the call tells the thread that the put is lost, and the call has its
// result on each PE.
func TestOutside(t *testing.T) {
	shmemrun, program := compile(t, "outside")
	for _, hosts := range []struct{ name, layout string }{{"hosts", "4"}, {"node", "3,1"}} {
		for _, r := range networks(t, list(tcp, []string{"--hosts", hosts.layout}), true) {
			t.Run(hosts.name+r.name, func(t *testing.T) {
				j := start(t, list(goOn, r.env), shmemrun, options("4", append(r.options, program)...)...)
				out := j.wait(128 + 9)
				if n := passed(t, out); n != 3 {
					t.Errorf("%d of 3 survivors came to their end:\n%s", n, out)
				}
			})
		}
	}
}
