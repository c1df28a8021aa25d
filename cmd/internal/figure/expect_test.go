package figure

import (
	"cmp"
	"strings"
	"testing"

	"libshmem/cmd/internal/facts"
)

const tableText = `# two hosts
machine two hosts with 10 Gb/s
nic     eth0 10000

put latency   8  network ..30     # us
put bandwidth 1M network 80%..    # of the NIC
put latency   8  node    0.1..0.5
`

func readTable(t *testing.T, text string) *Table {
	t.Helper()
	table, err := ReadTable(strings.NewReader(text), "table")
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestReadTable(t *testing.T) {
	table := readTable(t, tableText)
	if table.Name != "two hosts with 10 Gb/s" || table.NIC != "eth0" || table.Mbps != 10000 || len(table.Rows) != 3 {
		t.Errorf("table %+v", table)
	}
	if got, want := table.Rows[1], (Row{Test: "put", Measure: "bandwidth", Scope: "host", Size: 1 << 20, Path: "network", Low: 80, Share: true}); got != want {
		t.Errorf("row %+v, want %+v", got, want)
	}
	for text, want := range map[string]string{
		"":                                  "it has no row",
		"put latency 8 network\n":           "line 1: a row has five words",
		"put latency x network ..1\n":       `"x" is not a size`,
		"put latency by 8 node ..1\n":       "line 1: a row has five words",
		"put latency by gpu 8 node ..1\n":   "there is no scope gpu (say host, stream,",
		"put latency 8 wire ..1\n":          "path wire is neither node nor network",
		"put latency 8 node 1\n":            "range 1 has no limit",
		"put latency 8 node ..\n":           "range .. has no limit",
		"put latency 8 node -1..\n":         "-1 is not a number above 0",
		"\nnic\n":                           "line 2: nic: a name",
		"nic eth0 fast\n":                   "fast is not a number of Mb/s",
		"put bandwidth 8 network 80%..\n":   "no speed of the NIC",
		"nic *\nput rate 8 network 80%..\n": "no speed of the NIC",
	} {
		if _, err := ReadTable(strings.NewReader(text), "table"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// measured returns figures of a run on two such hosts, where bandwidth is in GB/s and latency in
// us.
func measured(host facts.Host, nic string, bandwidth, latency, node float64) *Set {
	host.Online, host.Processors = cmp.Or(host.Online, 8), 1 // each PE is bound to one
	last := host
	last.PE = 1
	s := &Set{Runs: []*Run{
		{ID: "far", PEs: 2, Path: "network", NICs: []string{nic}, Hosts: []facts.Host{host, last}},
		{ID: "near", PEs: 2, Path: "node", Hosts: []facts.Host{host, last}},
	}}
	add := func(run, measure, unit, path string, size int64, value float64) {
		f := made(run, "put", measure, unit, value)
		f.Size, f.Path = size, path
		s.Figures = append(s.Figures, f)
	}
	add("far", "bandwidth", "GB/s", "network", 1<<20, bandwidth)
	add("far", "latency", "us", "network", 8, latency)
	add("near", "latency", "us", "node", 8, node)
	return s
}

func TestExpect(t *testing.T) {
	good := []facts.NIC{{Name: "eth0", Mbps: 10000, Up: true}, {Name: "eth1", Mbps: 1000, Up: true}, {Name: "eth2", Mbps: 100000}}
	limited := []facts.NIC{{Name: "eth0", Mbps: 10000, Up: true, Limit: 200, By: "tbf"}}
	for _, c := range []struct {
		name string
		set  *Set
		last string // the last line
	}{
		{"good", measured(facts.Host{NICs: good}, "eth0", 1.1, 20, 0.2), "all 3 figures are as expected of two hosts with 10 Gb/s."},
		{
			"throttled link", measured(facts.Host{NICs: limited}, "eth0", 0.02, 20, 0.2),
			"2 of 3 figures are as expected of two hosts with 10 Gb/s. Not so: put bandwidth of 1M: maybe because of a throttled link: " +
				"tbf lets 200 Mb/s of eth0 through on the host of PE 0 (tc qdisc show dev eth0); a throttled link: " +
				"tbf lets 200 Mb/s of eth0 through on the host of PE 1 (tc qdisc show dev eth0).",
		},
		{
			"wrong NIC", measured(facts.Host{NICs: good}, "eth1", 0.1, 20, 0.2),
			"2 of 3 figures are as expected of two hosts with 10 Gb/s. Not so: put bandwidth of 1M: maybe because of a wrong NIC: " +
				"the job used eth1, and the table is for eth0 (SHMEM_NIC_LIST=eth0); a slow link: eth1 runs at 1 Gb/s on the host of PE 0, and " +
				"should at 10 Gb/s (check its cable and switch port); a wrong NIC: the job used eth1 with 1 Gb/s, and eth0 with 10 Gb/s was up " +
				"on the host of PE 0 (SHMEM_NIC_LIST=eth0); a slow link: eth1 runs at 1 Gb/s on the host of PE 1, and should at 10 Gb/s " +
				"(check its cable and switch port); a wrong NIC: the job used eth1 with 1 Gb/s, and eth0 with 10 Gb/s was up on the host of " +
				"PE 1 (SHMEM_NIC_LIST=eth0).",
		},
		{
			"sleeping governor", measured(facts.Host{NICs: good, Governor: "powersave", MHz: 800, MaxMHz: 3700}, "eth0", 1.1, 20, 2),
			"2 of 3 figures are as expected of two hosts with 10 Gb/s. Not so: put latency of 8: maybe because of a sleeping governor: " +
				"powersave on the host of PE 0, at 800 of 3700 MHz (cpupower frequency-set -g performance).",
		},
		{
			"nothing known", measured(facts.Host{NICs: good}, "eth0", 0.02, 20, 0.2),
			"2 of 3 figures are as expected of two hosts with 10 Gb/s. Not so: put bandwidth of 1M: no cause is known: nothing about the machine stands out.",
		},
		{
			"better", measured(facts.Host{NICs: limited}, "eth0", 1.1, 20, 0.05),
			"2 of 3 figures are as expected of two hosts with 10 Gb/s. Not so: put latency of 8: better than the table, which may be for another machine.",
		},
		{
			"too few processors", measured(facts.Host{NICs: good, Online: 1}, "eth0", 1.1, 20, 2),
			"2 of 3 figures are as expected of two hosts with 10 Gb/s. Not so: put latency of 8: maybe because of too few processors: " +
				"2 PEs share 1 on the host of PE 0 (start fewer).",
		},
		{
			"busy", measured(facts.Host{NICs: good, Load: 6}, "eth0", 1.1, 20, 2),
			"2 of 3 figures are as expected of two hosts with 10 Gb/s. Not so: put latency of 8: maybe because of a busy machine: a load of 6.0 on 8 processors " +
				"on the host of PE 0 before the run (measure when nothing else runs).",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := readTable(t, tableText)
			all, missing := Expect(c.set, table)
			var out strings.Builder
			bad := PrintExpectation(&out, table, all, missing)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if got := lines[len(lines)-1]; got != c.last {
				t.Errorf("%s\nwant\n%s", got, c.last)
			}
			if want := strings.Count(out.String(), "\nno ") + strings.Count(out.String()[:3], "no "); bad != want || len(lines) != 4 {
				t.Errorf("%d are not as expected:\n%s", bad, out.String())
			}
		})
	}
}

// TestExpectScope: a row of a scope is compared with figures of that scope alone.
func TestExpectScope(t *testing.T) {
	table := readTable(t, "put latency by block 8 node ..2\nput latency 8 node ..1\n")
	s := &Set{}
	for scope, v := range map[string]float64{"host": 0.5, "block": 3, "stream": 9} {
		f := &Figure{System: Ours, Test: "put", Measure: "latency", Scope: scope, Size: 8, PEs: 2, Path: "node", Unit: "us", Batches: []float64{v}}
		f.setMedian()
		s.Figures = append(s.Figures, f)
	}
	all, missing := Expect(s, table)
	if len(all) != 2 || missing != 0 || all[0].Good || !all[1].Good {
		t.Fatalf("found are %+v, %d missing", all, missing)
	}
	if want := "put latency by block of 8, node: 3.00 us, expected at most 2.00"; all[0].Text != want {
		t.Errorf("%q, want %q", all[0].Text, want)
	}
}

func TestExpectMissing(t *testing.T) {
	table := readTable(t, tableText)
	s := measured(facts.Host{}, "eth0", 1.1, 20, 0.2)
	s.Figures = s.Figures[:1]
	all, missing := Expect(s, table)
	var out strings.Builder
	PrintExpectation(&out, table, all, missing)
	if want := "ok  put bandwidth of 1M, network: 1.10 GB/s, expected at least 1.00\nall 1 figures are as expected of two hosts with 10 Gb/s. 2 rows were not measured.\n"; out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
