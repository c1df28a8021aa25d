package meet

import (
	"slices"
	"strings"
	"testing"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/topo"
)

func TestAgree(t *testing.T) {
	one := Info{Version: "1", Heap: 1 << 20, Host: "a"}
	with := func(f func(c *Info)) Info {
		c := one
		f(&c)
		return c
	}
	elsewhere := with(func(c *Info) { c.Host, c.Machine, c.Socket = "b", "n", "s" })
	for what, test := range map[string]struct {
		cards []Info
		text  string // of the error; "": none
	}{
		"alone":     {[]Info{one}, ""},
		"alike":     {[]Info{one, elsewhere, one}, ""},
		"version":   {[]Info{one, one, with(func(c *Info) { c.Version = "2" })}, "PE 0 has version 1 of the library and PE 2 version 2 (install one version everywhere)"},
		"no card":   {[]Info{one, {}}, "PE 0 has version 1 of the library and PE 1 version  (install one version everywhere)"},
		"heap":      {[]Info{one, with(func(c *Info) { c.Heap = 5 }), one}, "SHMEM_SYMMETRIC_SIZE is 1048576 bytes on PE 0 and 5 on PE 1 (set it to the same value on all PEs)"},
		"counters":  {[]Info{one, one, with(func(c *Info) { c.Counters = 9 })}, "SHMEM_NOTIFY_COUNT is 0 on PE 0 and 9 on PE 2 (set it to the same value on all PEs)"},
		"messages":  {[]Info{one, with(func(c *Info) { c.Messages = 9 })}, "SHMEM_MESSAGE_MEMORY is 0 bytes on PE 0 and 9 on PE 1 (set it to the same value on all PEs)"},
		"the first": {[]Info{with(func(c *Info) { c.Heap = 5 }), one, one}, "SHMEM_SYMMETRIC_SIZE is 5 bytes on PE 0 and 1048576 on PE 1 (set it to the same value on all PEs)"},
	} {
		text := ""
		if err := agree(test.cards); err != nil {
			text = err.Error()
		}
		if text != test.text {
			t.Errorf("%s: %q, want %q", what, text, test.text)
		}
	}
}

func TestFewest(t *testing.T) {
	for _, test := range []struct {
		asked []int
		want  int
	}{
		{[]int{1}, 1}, {[]int{4, 4}, 4}, {[]int{4, 2, 3}, 2}, {[]int{2, 1}, 1}, {[]int{0, 3}, 1},
	} {
		var infos []Info
		for _, n := range test.asked {
			infos = append(infos, Info{Proxies: n})
		}
		if got := fewest(infos); got != test.want {
			t.Errorf("PEs that ask for %v endpoints open %d, want %d", test.asked, got, test.want)
		}
	}
}

// TestMapPrinter: the peer info says which PE asks.
func TestMapPrinter(t *testing.T) {
	for asks, want := range map[string]int{"": -1, "no": -1, "yes": 0, "no no yes yes": 2, "no yes no": 1} {
		var infos []Info
		for word := range strings.FieldsSeq(asks) {
			infos = append(infos, Info{Map: word == "yes"})
		}
		if got := mapPrinter(infos); got != want {
			t.Errorf("%q: PE %d prints, want %d", asks, got, want)
		}
	}
}

// TestMeet: PE 1 shares its machine with PE 0 and its network with PE 0 and PE 2; it does not see
// the process of PE 2.
func TestMeet(t *testing.T) {
	info := func(host, machine, network, space string) Info {
		return Info{
			Version: "1", Host: host, Machine: machine, Network: network, Proxies: 2, Kind: config.HeapHost,
			Process: Process{ID: 7, Start: 9, Space: space}, Statics: Statics{Cause: "there are none", Remedy: "leave it"},
		}
	}
	infos := []Info{info("a", "m", "n", "s"), info("b", "m", "n", "s"), info("c", "other", "n", "s"), info("d", "m", "far", "apart")}
	infos[2].Stats, infos[3].Map, infos[2].Kind = true, true, config.HeapDevice
	m, err := Meet(infos, 1, config.StaticsAuto)
	if err != nil {
		t.Fatal(err)
	}
	var near []int
	for _, n := range m.Neighbours {
		near = append(near, int(n.PE))
	}
	var seen []bool
	for i := range m.Processes {
		seen = append(seen, m.Processes[i].Visible())
	}
	if m.Sharing != 3 || !slices.Equal(near, []int{0, 1, 2}) || !slices.Equal(seen, []bool{true, true, false, false}) {
		t.Errorf("%d PEs share the machine, neighbours %v, processes in sight %v", m.Sharing, near, seen)
	}
	if len(m.Nodes.Members) != 4 || m.Kinds[2] != config.HeapDevice || m.Proxies != 2 || m.MapPrinter != 3 || !m.Stats || !m.SeveralNetworks || m.Statics.Size != 0 {
		t.Errorf("%+v", m)
	}
	// Three PEs on a machine, two of them on one processor. PE 1 is on another one, and on the host
	// of PE 0.
	infos[0].CPUs, infos[1].CPUs, infos[3].CPUs, infos[1].Host = topo.NewSet(0), topo.NewSet(1), topo.NewSet(0), "a"
	if m, err = Meet(infos, 1, config.StaticsAuto); err != nil || m.Crowded || !m.NodeCrowded {
		t.Errorf("PE 1 has a processor, PE 0 shares one: %v, %+v", err, m)
	}
	infos[3].CPUs = topo.NewSet(2)
	if m, err = Meet(infos, 1, config.StaticsAuto); err != nil || m.Crowded || m.NodeCrowded {
		t.Errorf("each PE has a processor: %v, %+v", err, m)
	}
	if _, err := Meet(infos, 1, config.StaticsOn); err == nil {
		t.Error("statics are asked for, and there are none")
	}
	infos[1].Heap = 5
	if m, err := Meet(infos, 1, config.StaticsAuto); m != nil || err == nil {
		t.Errorf("heaps of two sizes: %+v", m)
	}
}

// TestCollectives: all PEs use the algorithms that PE 0 names.
func TestCollectives(t *testing.T) {
	infos := []Info{{Host: "a", Collectives: config.CollectivesChain}, {Host: "a", Collectives: config.CollectivesFlat}}
	for me := range infos {
		m, err := Meet(infos, libshmem.PE(me), config.StaticsOff)
		if err != nil {
			t.Fatal(err)
		}
		if m.Collectives != config.CollectivesChain {
			t.Errorf("PE %d uses %v, PE 0 names %v", me, m.Collectives, config.CollectivesChain)
		}
	}
}
