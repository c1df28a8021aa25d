package ofi

import (
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
)

// blind is an endpoint as it was before its Arm looked at the descriptor: fi_trywait agrees
// to any sleep.
type blind struct{ fabric.Provider }

func (b *blind) Arm() bool { return true }

// An end whose Arm looks oversleeps nothing, but for a byte that comes as the limit passes.
// One whose Arm agrees to any sleep does again and again, where sleeps end by edges.
func TestArmLooks(t *testing.T) {
	const chance = 3
	looked := false
	for _, p := range tested {
		open := func(c fabric.Config) (fabric.Provider, error) {
			c.Provider = p.provider
			return Open(c)
		}
		prov, err := open(fabric.Config{Tokens: 8, MaxRecv: 4})
		if err != nil {
			continue // TestProviders says which answer
		}
		e := prov.(*endpoint)
		stays := e.caps.Provider == p.provider && e.c.signal_stays != 0
		if err := prov.Close(); err != nil {
			t.Fatal(err)
		}
		if !stays {
			continue
		}
		looked = true
		t.Run(p.provider, func(t *testing.T) {
			if n := fabrictest.Oversleeps(t, open, 100); n > chance {
				t.Errorf("overslept %d times", n)
			}
			n := fabrictest.Oversleeps(t, func(c fabric.Config) (fabric.Provider, error) {
				prov, err := open(c)
				return &blind{prov}, err
			}, chance+1)
			if n <= chance {
				t.Errorf("without a look overslept %d times, want more than %d", n, chance)
			}
		})
	}
	if !looked {
		t.Log("no descriptor of this libfabric has a signal that stays: their sleeps end by the level")
	}
}
