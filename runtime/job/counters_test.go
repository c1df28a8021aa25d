package job

import (
	"errors"
	"strings"
	"testing"

	"libshmem"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/stats"
	"libshmem/runtime/statuspage"
)

// TestCounters: a counter is that of one PE only if it is kept for each, and the table names the
// job.
func TestCounters(t *testing.T) {
	asked := libshmem.PE(-2)
	c := Counters{
		PEs: 3, Live: new(statuspage.PE), StatusPages: func() []*proxy.EndpointPage { return nil },
		CountOf: func(pe libshmem.PE) (all [layout.Counted]uint64) {
			asked = pe
			return all
		},
	}
	scopes := map[bool]int{}
	for n := range stats.Counters {
		if _, ok := c.One(n, allPEs); !ok {
			t.Errorf("%s of all PEs is not there", stats.Counters[n].Name)
		}
		asked = -2
		_, ok := c.One(n, 2)
		if want := stats.Counters[n].Scope == stats.Peer; ok != want || ok != (asked == 2) {
			t.Errorf("%s of PE 2: %v, asked for PE %d", stats.Counters[n].Name, ok, asked)
		}
		scopes[ok]++
	}
	if scopes[true] == 0 || scopes[false] == 0 {
		t.Errorf("counters are of one scope: %v", scopes)
	}
	for _, bad := range [][2]int{{-1, allPEs}, {len(stats.Counters), allPEs}, {0, -2}, {0, 3}} {
		if _, ok := c.One(bad[0], libshmem.PE(bad[1])); ok {
			t.Errorf("counter %d of PE %d is there", bad[0], bad[1])
		}
	}

	gather := func(mine []byte) ([][]byte, error) { return [][]byte{mine, mine, mine}, nil }
	text, err := c.Print(countsPrinting{Hosts: 2, Provider: "tcp", Gather: gather})
	if err != nil || !strings.Contains(text, "3 PEs on 2 hosts counted, over tcp (SHMEM_STATS=all prints each PE's)") {
		t.Errorf("PE 0 prints %q, error %v", text, err)
	}
	if text, err := c.Print(countsPrinting{Me: 1, Hosts: 1, Gather: gather}); err != nil || text != "" {
		t.Errorf("PE 1 prints %q, error %v", text, err)
	}
	lost := errors.New("lost")
	text, err = c.Print(countsPrinting{Me: 1, All: true, Gather: func([]byte) ([][]byte, error) { return nil, lost }})
	if !errors.Is(err, lost) || !strings.Contains(text, "PE 1 counted") {
		t.Errorf("after an error: %q, %v", text, err)
	}
}
