package rail_test

import (
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// post is the processor's time for one posting in the models of this file.
const post = 300

// transfer moves n bytes count times to or from each peer of each site, window at a time, and
// returns the virtual time of all.
func transfer(t *testing.T, net *sim.Network, sites []*site, n, count, window int, read bool) sim.Time {
	t.Helper()
	start := net.Now()
	type flow struct {
		sent, ended int
		free        []fabric.Token
	}
	flows := make([]flow, len(sites))
	for i := range flows {
		for tok := range window {
			flows[i].free = append(flows[i].free, fabric.Token(tok))
		}
	}
	all := count * (len(sites) - 1)
	until(t, "end of the transfers", func() bool {
		rest := false
		for i, s := range sites {
			f := &flows[i]
			for _, c := range s.comps {
				if c.Err != 0 {
					t.Fatal(s.ErrorText(&c))
				}
				f.free = append(f.free, c.Token)
				f.ended++
			}
			s.comps = s.comps[:0]
			for f.sent < all && len(f.free) > 0 {
				tok := f.free[len(f.free)-1]
				op := s.rma(sites[(i+1+f.sent%(len(sites)-1))%len(sites)], 0, 0, n, tok)
				move := s.Write
				if read {
					move = s.Read
				}
				if err := move(op); err == fabric.ErrAgain {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				f.sent++
				f.free = f.free[:len(f.free)-1]
			}
			rest = rest || f.ended < all
		}
		return !rest
	}, sites...)
	return net.Now() - start
}

// acquaint has each NIC of each site write to all of the others, where the first write takes a
// handshake.
func acquaint(t *testing.T, net *sim.Network, sites ...*site) {
	t.Helper()
	if m := net.Model(); m.Handshake > 0 {
		transfer(t, net, sites, 8, 16*m.NICs*m.NICs, 64, false)
	}
}

// calm returns a model of several NICs without faults.
func calm(m sim.Model, nics int) sim.Model {
	m.Faults = faults.Faults{}
	m.NICs, m.Rails, m.Cross, m.Post = nics, nics, sim.Microsecond, post
	return m
}

// rate returns payload over the bytes that all NICs could carry if packets had no headers.
func rate(m sim.Model, bytes int, took sim.Time) float64 {
	return float64(bytes) * 8e9 / float64(took) / float64(m.Bandwidth) / float64(m.NICs)
}

// Two PEs reach line rate with all NICs, 1 MiB at a time, in payload: headers and the
// processor's time for each posting count against it.
func TestRates(t *testing.T) {
	if need.Race {
		t.Skip("virtual time is the same without the detector, which takes minutes here: make test comes once more without")
	}
	for _, c := range []struct {
		model  sim.Model
		nics   int
		policy rail.Policy
		least  float64
	}{
		{sim.EFA(), 4, rail.Auto, 0.97},
		{sim.EFADirect(), 4, rail.Auto, 0.97},
		{sim.EFA(), 4, rail.Split, 0.97},
		{sim.EFADirect(), 4, rail.Split, 0.97},
		{sim.EFA(), 4, rail.RoundRobin, 0.97},
		{sim.EFADirect(), 4, rail.RoundRobin, 0.97},
		{sim.EFA100(), 32, rail.Auto, 0.97},
		{sim.EFA100(), 32, rail.RoundRobin, 0.97},
		// 32 parts of 300 ns each take longer than 1 MiB takes 32 NICs, so that cutting
		// each operation up is limited by the processor.
		{sim.EFA100(), 32, rail.Split, 0.25},
	} {
		for _, read := range []bool{false, true} {
			m := calm(c.model, c.nics)
			net := sim.New(m, 1)
			a, b := newSite(t, net, 0, c.nics, c.policy), newSite(t, net, 1, c.nics, c.policy)
			connect(t, a, b)
			acquaint(t, net, a, b)
			const size = 1 << 20
			count := 120 * c.nics
			if c.nics > 4 {
				count = need.Load("rates") * c.nics
			}
			// One direction: b does nothing but serve.
			took := oneWay(t, net, a, b, size, count, 4*c.nics, read)
			share := rate(m, size*count, took)
			t.Logf("%s, %d NICs, %s, read %v: %.3f of line rate, %.0f Gb/s", m.Name, c.nics, c.policy, read, share, share*float64(m.Bandwidth)*float64(c.nics)/1e9)
			if share < c.least || share > 1 {
				t.Errorf("%.3f of line rate, want %.2f", share, c.least)
			}
			balanced(t, a, size*count, read)
			for nic := range c.nics {
				from, to := 0, 1
				if read {
					from, to = to, from
				}
				out, _ := net.Carried(from, nic)
				_, in := net.Carried(to, nic)
				mean := float64(size*count) / float64(c.nics)
				if d := float64(out)/mean - 1; d < -0.1 || d > 0.1 || in != out {
					t.Errorf("NIC %d has sent %d bytes and its peer taken %d, of %.0f", nic, out, in, mean)
				}
			}
		}
	}
}

func oneWay(t *testing.T, net *sim.Network, a, b *site, n, count, window int, read bool) sim.Time {
	t.Helper()
	start, sent, ended := net.Now(), 0, 0
	var free []fabric.Token
	for tok := range min(window, siteTokens) {
		free = append(free, fabric.Token(tok))
	}
	until(t, "end of the transfer", func() bool {
		for _, c := range a.comps {
			if c.Err != 0 {
				t.Fatal(a.ErrorText(&c))
			}
			free = append(free, c.Token)
			ended++
		}
		a.comps = a.comps[:0]
		for sent < count && len(free) > 0 {
			op := a.rma(b, 0, 0, n, free[len(free)-1])
			move := a.Write
			if read {
				move = a.Read
			}
			if err := move(op); err == fabric.ErrAgain {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			sent++
			free = free[:len(free)-1]
		}
		return ended == count
	}, a, b)
	return net.Now() - start
}

// balanced wants each NIC to have carried its part, by the provider's own counters.
func balanced(t *testing.T, s *site, bytes int, read bool) {
	t.Helper()
	counts := s.Rails()
	for _, c := range counts {
		moved := c.Out
		if read {
			moved = c.In
		}
		mean := float64(bytes) / float64(len(counts))
		if d := float64(moved)/mean - 1; d < -0.1 || d > 0.1 || c.Ops == 0 {
			t.Errorf("NIC %s has counted %d bytes of %.0f", c.NIC, moved, mean)
		}
	}
}

// One operation alone goes by all NICs, unless they take turns.
func TestAlone(t *testing.T) {
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect()} {
		t.Run(m.Name, func(t *testing.T) { alone(t, calm(m, 4)) })
	}
}

func alone(t *testing.T, m sim.Model) {
	alone := func(policy rail.Policy) sim.Time {
		net := sim.New(m, 1)
		a, b := newSite(t, net, 0, 4, policy), newSite(t, net, 1, 4, policy)
		connect(t, a, b)
		acquaint(t, net, a, b)
		return oneWay(t, net, a, b, 8<<20, 1, 1, false)
	}
	auto, split, turns := alone(rail.Auto), alone(rail.Split), alone(rail.RoundRobin)
	t.Logf("8 MiB in %d us, split %d us, round-robin %d us", auto/1000, split/1000, turns/1000)
	if float64(turns) < 3.2*float64(split) || auto > split+split/50 {
		t.Errorf("8 MiB in %d ns, split %d ns, round-robin %d ns", auto, split, turns)
	}
}

// Small operations fill all NICs alike, some on one before the next, in both
// directions and with any number of NICs at the other end.
func TestPlayedSmallBalance(t *testing.T) {
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect()} {
		t.Run(m.Name, func(t *testing.T) { smallBalance(t, m) })
	}
}

func smallBalance(t *testing.T, model sim.Model) {
	for _, ends := range [][2]int{{4, 4}, {4, 2}, {3, 2}, {2, 4}, {32, 32}} {
		m := calm(model, max(ends[0], ends[1]))
		net := sim.New(m, 1)
		a, b := newSite(t, net, 0, ends[0], rail.Auto), newSite(t, net, 1, ends[1], rail.Auto)
		connect(t, a, b)
		const size = 3000
		for _, read := range []bool{false, true} {
			before := a.Rails()
			count := 16 * ends[0] * ends[1] * 5
			oneWay(t, net, a, b, size, count, 64, read)
			for i, c := range a.Rails() {
				moved := c.Out - before[i].Out
				if read {
					moved = c.In - before[i].In
				}
				mean := float64(size*count) / float64(ends[0])
				if d := float64(moved)/mean - 1; d < -0.1 || d > 0.1 {
					t.Errorf("%v NICs, read %v: NIC %d has counted %d bytes of %.0f", ends, read, i, moved, mean)
				}
			}
		}
		for nic := range ends[1] {
			_, in := net.Carried(1, nic)
			out, _ := net.Carried(1, nic)
			mean := float64(size*16*ends[0]*5) * float64(ends[1]) / float64(ends[1])
			if float64(in)/mean < 0.9 || float64(out)/mean < 0.9 {
				t.Errorf("%v NICs: NIC %d of the peer has taken %d and sent %d bytes of %.0f", ends, nic, in, out, mean)
			}
		}
	}
}

// All of eight PEs write to all, and every NIC takes its part of it.
func TestPlayedAllToAll(t *testing.T) {
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect()} {
		t.Run(m.Name, func(t *testing.T) { playedAllToAll(t, m) })
	}
}

func playedAllToAll(t *testing.T, model sim.Model) {
	for _, policy := range []rail.Policy{rail.Auto, rail.Split, rail.RoundRobin} {
		const pes, nics, size, count = 8, 4, 256 << 10, 12
		m := calm(model, nics)
		net := sim.New(m, 1)
		var sites []*site
		for i := range pes {
			sites = append(sites, newSite(t, net, i, nics, policy))
		}
		connect(t, sites...)
		acquaint(t, net, sites...)
		took := transfer(t, net, sites, size, count, 64, false)
		mean := float64(size*count*(pes-1)) / nics
		least, most := 2.0, 0.0
		for host := range pes {
			for nic := range nics {
				_, in := net.Carried(host, nic)
				share := float64(in) / mean
				least, most = min(least, share), max(most, share)
			}
		}
		t.Logf("%s: %.3f of line rate; a NIC takes %.3f to %.3f of its part", policy, rate(m, size*count*(pes-1), took), least, most)
		if least < 0.9 || most > 1.1 {
			t.Errorf("%s: a NIC takes %.3f to %.3f of its part", policy, least, most)
		}
	}
}
