package chaos

import (
	"strings"
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/fabric/faults"
	"libshmem/fabric/ofi"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// plans are as bad as a test can wait for.
var plans = []Plan{
	{Seed: 1},
	{Seed: 2, Faults: faults.Faults{Reorder: 0.7, Delay: 200 * time.Microsecond, Late: 0.5, Again: 0.2}},
	{Seed: 3, Faults: faults.Faults{Reorder: 0.2, Delay: 2 * time.Millisecond, Late: 0.1, Drop: 0.1}},
}

// around opens the endpoints of open, in chaos.
func around(open fabrictest.Open, plan Plan) fabrictest.Open {
	return func(c fabric.Config) (fabric.Provider, error) {
		inner, err := open(Inner(c))
		if err != nil {
			return nil, err
		}
		return New(inner, c, plan, false)
	}
}

// TestSuite holds chaos to the rules of every provider, around networks with much order and with
// none. TestLibfabric has a network that does not report when a write has arrived.
func TestSuite(t *testing.T) {
	for i, plan := range plans {
		for _, m := range []sim.Model{sim.Verbs(), sim.Worst()} {
			if i == len(plans)-1 && need.Left("suites") {
				continue
			}
			t.Run(m.Name+string(rune('1'+i)), func(t *testing.T) {
				fabrictest.RunEach(t, func(*testing.T) fabrictest.Open {
					n := sim.New(m, plan.Seed)
					hosts := 0
					return around(func(c fabric.Config) (fabric.Provider, error) {
						hosts++
						return n.Open(hosts-1, c)
					}, plan)
				}, fabrictest.Limits{Unread: fabrictest.Simulated})
			})
		}
	}
}

// TestLibfabric is the same around a network of this machine.
func TestLibfabric(t *testing.T) {
	open := func(c fabric.Config) (fabric.Provider, error) {
		c.NICs = "lo"
		return ofi.Open(c)
	}
	for _, plan := range plans[1:] {
		fabrictest.Run(t, around(open, plan), fabrictest.Limits{Unread: fabrictest.Simulated})
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Plan{
		"7":          {Seed: 7, Faults: Usual},
		"0x10":       {Seed: 16, Faults: Usual},
		"1,late=0":   {Seed: 1, Faults: faults.Faults{Reorder: Usual.Reorder, Delay: Usual.Delay, Again: Usual.Again}},
		"1,drop=0.5": {Seed: 1, Faults: faults.Faults{Reorder: Usual.Reorder, Delay: Usual.Delay, Late: Usual.Late, Again: Usual.Again, Drop: 0.5}},
		"9,reorder=1,delay=5ms,again=0,late=0.25": {Seed: 9, Faults: faults.Faults{Reorder: 1, Delay: 5 * time.Millisecond, Late: 0.25}},
	} {
		p, err := Parse(text)
		if err != nil || p.Seed != want.Seed || p.Faults != want.Faults || p.Kills != nil {
			t.Errorf("%q: %+v, error %v", text, p, err)
		}
	}
	p, err := Parse("3,drop-peer=2@40ms,drop-peer=1")
	if err != nil || len(p.Kills) != 2 || p.Kills[0] != (faults.Fault{At: 40 * time.Millisecond, Host: 2, NIC: -1}) || p.Kills[1] != (faults.Fault{Host: 1, NIC: -1}) {
		t.Errorf("kills %v, error %v", p.Kills, err)
	}
	if p, err := Parse("3,panic=2@40ms,late=0,panic=1"); err != nil || len(p.Panics) != 2 || p.Panics[0] != (faults.Fault{At: 40 * time.Millisecond, Host: 2, NIC: -1}) || p.Kills != nil || p.Check(2) == nil {
		t.Errorf("panics %v, kills %v, error %v", p.Panics, p.Kills, err)
	}
	if err := p.Check(3); err != nil {
		t.Errorf("PEs 1 and 2 of 3: %v", err)
	}
	if err := p.Check(2); err == nil || err.Error() != "drop-peer=2: there is no PE 2, the job has 2 (use 0 to 1)" {
		t.Errorf("PEs 1 and 2 of 2: %v", err)
	}
	for _, text := range []string{"", "x", "-1", "1,", "1,reorder=2", "1,delay=fast", "1,nonsense=1", "1,duplicate=0.5", "1,lose-nic=0/1", "1,drop-peer=x", "1,panic=x", "1,storm=0.1", "1,split=1"} {
		if p, err := Parse(text); err == nil && text != "1," {
			t.Errorf("%q: %+v", text, p)
		}
	}
	// The words that the error proposes for a wrong word are valid.
	for _, text := range []string{"1,nonsense=1", "1,split=1", "1,storm", "1,lose-nic=0"} {
		if _, err := Parse(text); err == nil || !strings.HasSuffix(err.Error(), "(there are reorder, delay, late, again, drop, drop-peer, panic)") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
