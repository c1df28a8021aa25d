package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"libshmem"
)

// TestAsk: PEs answer what they do, among messages and writes to them, on every kind of network. A
// PE that does not know does not answer.
func TestAsk(t *testing.T) {
	for _, m := range append(slices.Clone(modes), rough(modes[3]), rough(modes[4])) {
		t.Run(m.name, func(t *testing.T) {
			j := newJob(t, m, 1, 3, 1<<16)
			defer j.close()
			heard := map[string]int{}
			for me, p := range j.pes {
				var says func() string
				if me != 2 {
					says = func() string { return strings.Repeat(fmt.Sprint(me), 700) }
				}
				p.Report.OnActivityRequest(says, func(pe libshmem.PE, text string) {
					heard[fmt.Sprintf("%d of %d: %.3s, %d bytes", me, pe, text, len(text))]++
				})
			}
			a, b := j.pes[0], j.pes[1]
			for range 10 {
				a.Store(1, 0, 8, 7)
				a.RequestActivity(1)
				a.RequestActivity(2)
				b.RequestActivity(0)
				j.drain()
			}
			a.quiet()
			if len(heard) != 2 || heard["0 of 1: 111, 700 bytes"] == 0 || heard["1 of 0: 000, 700 bytes"] == 0 {
				t.Errorf("%v", heard)
			}
			if s := a.Report.PeerStatus(1, false); s != "" {
				t.Errorf("after all answers: PE 1 %s", s)
			}
		})
	}
}

// TestAskLost: a PE that is lost is not asked.
func TestAskLost(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 1<<16)
	defer j.close()
	a := j.pes[0]
	a.Report.OnActivityRequest(func() string { return "is here" }, func(pe libshmem.PE, text string) { t.Errorf("PE %d %s", pe, text) })
	j.pes[1].Report.OnActivityRequest(func() string { return "is here" }, nil)
	a.Lose(1, "ended")
	a.RequestActivity(1)
	j.drain()
	j.pes[1].records(0)
}
