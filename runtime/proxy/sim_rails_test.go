package proxy

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"libshmem/fabric/faults"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// A NIC is lost while random programs run: no order is broken, nothing is lost, and a repeated
// message is applied once.
func TestSimLostNIC(t *testing.T) {
	seeds := uint64(need.Load("NICs"))
	if need.Race || testing.Short() {
		seeds = 6
	}
	mem := new(memories)
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.Rough(sim.EFA()), sim.Rough(sim.EFADirect()), sim.Worst(), sim.Verbs()} {
		m.NICs, m.Rails, m.Detect = 3, 3, 200*sim.Microsecond
		lost := uint64(0)
		for seed := uint64(1); seed <= seeds && !t.Failed(); seed++ {
			n := 2 + int(seed%3)
			w := newWorld(t, sockets(m, seed), seed, n, heapSize(n), mem)
			rng := rand.New(rand.NewPCG(seed, 11))
			w.net.Plan(faults.Fault{At: sim.Time(rng.IntN(int(2 * sim.Millisecond))), Host: rng.IntN(n), NIC: rng.IntN(3)})
			runSimPrograms(w, true)
			for _, p := range w.pes {
				for _, c := range p.prov.(*rail.Provider).Rails() {
					lost += c.Lost
				}
			}
			w.close(mem)
		}
		if t.Logf("%s: %d ways lost in %d seeds", m.Name, lost, seeds); lost < seeds {
			t.Errorf("%s: %d ways lost in %d seeds: the loss comes too late", m.Name, lost, seeds)
		}
	}
}

// The proxy fills 4 and 32 NICs: payload against line rate at 1 MiB, with headers and 300 ns of the
// proxy's time for each posting.
func TestSimRailRates(t *testing.T) {
	if need.Race {
		t.Skip("virtual time is the same without the detector, which takes minutes here")
	}
	for _, c := range []struct {
		model sim.Model
		nics  int
	}{
		{sim.EFA(), 4}, {sim.EFADirect(), 4}, {sim.EFA100(), 32}, {sim.Unread(sim.EFA(), 64<<10), 4}, {sim.Unread(sim.EFADirect(), 64<<10), 4},
	} {
		m := c.model
		m.NICs, m.Rails, m.Post, m.Cross = c.nics, c.nics, post, sim.Microsecond
		const size = 1 << 20
		count := 120 * c.nics
		if m.Handshake > 0 { // at first each NIC waits for each NIC of the peer
			count *= 2
		}
		took := timeTransfer(t, m, 1, size, count, 64, false)
		signalled := timeTransfer(t, m, 1, size, count, 64, true)
		rate := func(took sim.Time) float64 {
			return float64(8*size*count) / float64(took) / (float64(m.Bandwidth) / 1e9) / float64(c.nics)
		}
		text := fmt.Sprintf("%s: %d NICs of %d Gb/s: %.3f of line rate, with signals %.3f", kind(m), c.nics, m.Bandwidth/1e9, rate(took), rate(signalled))
		if t.Log(text); rate(took) < 0.97 || rate(signalled) < 0.9*rate(took) {
			t.Error(text)
		}
	}
}
