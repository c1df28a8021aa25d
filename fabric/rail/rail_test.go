package rail_test

import (
	"fmt"
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// open opens an end with NICs 0 to n-1 of a host.
func open(net *sim.Network, host, n int, c rail.Config) (*rail.Provider, error) {
	return openEach(func(c fabric.Config) (fabric.Provider, error) { return net.Open(host, c) }, n, c)
}

// openEach opens an end with NICs 0 to n-1, each by openNIC.
func openEach(openNIC func(fabric.Config) (fabric.Provider, error), n int, c rail.Config) (*rail.Provider, error) {
	var ends []fabric.Provider
	for i := range n {
		inner := rail.Inner(c.Config)
		inner.NICs = fmt.Sprintf("nic%d", i)
		e, err := openNIC(inner)
		if err != nil {
			return nil, err
		}
		ends = append(ends, e)
	}
	return rail.New(ends, c)
}

// Several NICs are a Provider as any other, alike at both ends or not.
func TestSuite(t *testing.T) {
	type ends struct {
		name   string
		model  sim.Model
		nics   []int // of the ends, in turn
		policy rail.Policy
	}
	cases := []ends{
		{"efa, 2", sim.EFA(), []int{2}, rail.Auto},
		{"efa-direct, 4 and 2, round-robin", sim.EFADirect(), []int{4, 2}, rail.RoundRobin},
		{"efa, 1 and 3, split", sim.EFA(), []int{1, 3}, rail.Split},
		{"tcp, 2, split", sim.TCP(), []int{2}, rail.Split},
		{"worst, 3, sockets", sim.Unread(sim.Worst(), 4096), []int{3}, rail.RoundRobin},
		{"worst, 3 and 2", sim.Worst(), []int{3, 2}, rail.Auto},
	}
	if !need.Left("suites") {
		cases = append(cases, []ends{
			{"efa-direct, 2", sim.EFADirect(), []int{2}, rail.Auto},
			{"efa, 4, split", sim.EFA(), []int{4}, rail.Split},
			{"efa-direct, 4, split", sim.EFADirect(), []int{4}, rail.Split},
			{"efa, 32", sim.EFA100(), []int{32}, rail.Auto},
			{"efa, 4 and 2, round-robin", sim.EFA(), []int{4, 2}, rail.RoundRobin},
			{"efa-direct, 1 and 3, split", sim.EFADirect(), []int{1, 3}, rail.Split},
			{"verbs, 2, split", sim.Verbs(), []int{2}, rail.Split},
			{"tcp, 2 and 1, sockets", sim.Unread(sim.TCP(), 1), []int{2, 1}, rail.Split},
			{"worst, 3 and 2, split", sim.Worst(), []int{3, 2}, rail.Split},
			{"bare, 2", sim.Bare(), []int{2}, rail.Auto},
		}...)
	}
	if need.Race { // make test-full comes once more without the detector
		cases = cases[:2]
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range c.nics {
				c.model.NICs = max(c.model.NICs, n)
			}
			c.model.Rails, c.model.Cross = c.model.NICs, sim.Microsecond
			fabrictest.RunEach(t, func(*testing.T) fabrictest.Open {
				net := sim.New(c.model, 1)
				hosts := 0
				return func(f fabric.Config) (fabric.Provider, error) {
					hosts++
					return open(net, hosts-1, c.nics[(hosts-1)%len(c.nics)], rail.Config{Config: f, Policy: c.policy})
				}
			}, fabrictest.Limits{Unread: fabrictest.Simulated})
		})
	}
}

// All writes of the others may come by one NIC, so the one with the smallest queue limits their
// number.
func TestArrivals(t *testing.T) {
	const tokens = 64
	for small := range 3 {
		m := sim.EFA()
		m.NICs, m.Rails = 3, 3
		net := sim.New(m, 1)
		c := rail.Config{Config: fabric.Config{Tokens: tokens, MaxRecv: 8, Data: true, Arrivals: 4000}}
		var ends []fabric.Provider
		for i := range 3 {
			net.LimitQueues(0, 0)
			if i == small {
				net.LimitQueues(0, 1024)
			}
			inner := rail.Inner(c.Config)
			inner.NICs = fmt.Sprintf("nic%d", i)
			e, err := net.Open(0, inner)
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, e)
		}
		p, err := rail.New(ends, c)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.Caps().Arrivals, 1024-rail.Inner(c.Config).Tokens; got != want {
			t.Errorf("the small queue is that of NIC %d: %d arrivals, want %d", small, got, want)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
