package pathmap_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem"
	"libshmem/runtime/pathmap"
	"libshmem/runtime/topo"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// job is a job of PEs on hosts, with the report of each PE.
type job struct {
	name string
	host func(pe int) int
	n    int
	row  func(pe, node int, places int) pathmap.Row
}

func (j *job) build(t *testing.T) *pathmap.Map {
	t.Helper()
	hosts := make([]string, j.n)
	for pe := range hosts {
		hosts[pe] = fmt.Sprint(j.host(pe))
	}
	nodes := topo.NewNodes(hosts)
	rows := make([]pathmap.Row, j.n)
	for pe := range rows {
		at := libshmem.PE(pe)
		r := j.row(pe, nodes.Node(at), len(nodes.Peers(at)))
		r.Host = own(r.Host, nodes.Rank(at))
		if r.Kernels != "" {
			r.Kernels = own(r.Kernels, nodes.Rank(at))
		}
		r.Name = fmt.Sprintf("n%d", nodes.Node(at)+1)
		rows[pe] = r
	}
	m, err := pathmap.New(nodes, rows)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// own puts in the way to the PE itself.
func own(ways string, rank int) string { return ways[:rank] + "." + ways[rank+1:] }

// all returns the same way to every PE of a host.
func all(way string, n int) string { return strings.Repeat(way, n) }

// inMain returns a PE with its heap in main memory.
func inMain(pe, node, n int) pathmap.Row {
	return pathmap.Row{Host: all("m", n), Heap: "host", Provider: "tcp", NICs: "eth0"}
}

func block(size int) func(int) int   { return func(pe int) int { return pe / size } }
func cyclic(hosts int) func(int) int { return func(pe int) int { return pe % hosts } }

// threeOne returns how shmemrun --hosts 3,1 places PEs in turn.
func threeOne(pe int) int {
	if pe == 1 {
		return 1
	}
	return 0
}

// device returns a PE on a GPU of its own, which reaches the GPUs of its host.
func device(pe, node, n int) pathmap.Row {
	return pathmap.Row{
		Host: all("c", n), Kernels: all("g", n), Heap: "device", GPU: fmt.Sprintf("0000:%02x:00.0", 0xf+pe%n),
		Provider: "efa", NICs: fmt.Sprintf("rdmap%d,rdmap%d", pe%n*2, pe%n*2+1), Reached: "by dma-buf",
	}
}

var jobs = []job{
	{"alone", block(1), 1, func(pe, node, n int) pathmap.Row { return pathmap.Row{Host: "m", Heap: "host"} }},
	{"node", block(4), 4, func(pe, node, n int) pathmap.Row { return pathmap.Row{Host: all("m", n), Heap: "host"} }},
	{"hosts-block", block(3), 4, inMain},
	{"hosts-cyclic", threeOne, 4, inMain},
	{"two-nics", block(2), 4, func(pe, node, n int) pathmap.Row {
		return pathmap.Row{Host: all("m", n), Heap: "host", Provider: "tcp", NICs: "eth0,eth1"}
	}},
	{"tiles", block(2), 4, func(pe, node, n int) pathmap.Row {
		return pathmap.Row{Host: all("m", n), Heap: "host", Provider: "efa", NICs: "rdmap0", Eager: "in tiles of 128"}
	}},
	{"gpus", block(2), 4, device},
	// One GPU does not reach the other.
	{"gpus-apart", block(2), 2, func(pe, node, n int) pathmap.Row {
		return pathmap.Row{Host: "nn", Kernels: "nn", Heap: "device", GPU: fmt.Sprintf("0000:%02x:00.0", 15+pe), Provider: "tcp", NICs: "lo",
			Reached: "staged", Why: []string{"Fake G100 has no way to memory of another"}}
	}},
	{"gpus-copied", block(2), 2, func(pe, node, n int) pathmap.Row {
		return pathmap.Row{Host: "cc", Kernels: "cc", Heap: "device", GPU: "0000:0f:00.0", Provider: "tcp", NICs: "lo",
			Reached: "staged, copied within hosts", Why: []string{"SHMEM_DISABLE_P2P is set"}}
	}},
	// Heaps of three kinds on one host, of which the first PE has no GPU.
	{"mixed", block(3), 3, func(pe, node, n int) pathmap.Row {
		r := pathmap.Row{Host: "mmn", Heap: "host", Provider: "tcp", NICs: "lo", Why: []string{"no GPU"}}
		switch pe {
		case 1:
			r.Heap, r.Kernels, r.GPU, r.Why = "pinned", "ggn", "0000:0f:00.0", []string{"another reason", "and one more"}
		case 2:
			r.Host, r.Heap, r.Kernels, r.GPU, r.Reached, r.Why = "mmc", "device", "ggg", "0000:10:00.0", "by peer memory", nil
		}
		return r
	}},
	{"64", cyclic(2), 64, inMain},
	{"65", cyclic(2), 65, inMain},
	{"1000", block(8), 1000, device},
	// The last host has fewer PEs, and every second PE of a host another GPU that it
	// does not reach the first by.
	{"1000-unequal", block(16), 1000, func(pe, node, n int) pathmap.Row {
		r := device(pe, node, n)
		ways := strings.Repeat("gn", n)[pe%16%2:]
		r.Kernels, r.NICs, r.Why = ways[:n], "rdmap0", []string{"no way between halves"}
		return r
	}},
	{"200-on-one-host", block(200), 200, func(pe, node, n int) pathmap.Row { return pathmap.Row{Host: all("m", n), Heap: "host"} }},
}

func TestPrint(t *testing.T) {
	for _, j := range jobs {
		var b strings.Builder
		if err := j.build(t).Print(&b); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", j.name+".txt")
		if *rewrite {
			if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || b.String() != string(want) {
			t.Errorf("%s (go test -rewrite writes it): %v\ngot\n%s\nwant\n%s", file, err, b.String(), want)
		}
	}
}

// TestWays: each way is the one that the PE has reported, and the network between hosts.
func TestWays(t *testing.T) {
	for _, j := range jobs {
		if j.name != "hosts-cyclic" && j.name != "mixed" {
			continue
		}
		m := j.build(t)
		var got []string
		for from := range libshmem.PE(j.n) {
			line := make([]byte, 0, 2*j.n)
			for to := range libshmem.PE(j.n) {
				line = append(line, byte(m.Host(from, to)))
			}
			for to := range libshmem.PE(j.n) {
				line = append(line, byte(m.Kernels(from, to)))
			}
			got = append(got, string(line))
		}
		want := "[.nmm---- n.nn---- mn.m---- mnm.----]"
		if j.name == "mixed" {
			want = "[.mn--- m.ng.n mm.gg.]"
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", j.name, got, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	nodes := topo.NewNodes([]string{"a", "a", "b"})
	good := []pathmap.Row{{Host: ".m"}, {Host: "m."}, {Host: ".", Kernels: "."}}
	if _, err := pathmap.New(nodes, good); err != nil {
		t.Errorf("all is well: %v", err)
	}
	for pe, bad := range []pathmap.Row{{Host: "."}, {Host: "m.", Kernels: "."}, {}} {
		rows := slices.Clone(good)
		rows[pe] = bad
		_, err := pathmap.New(nodes, rows)
		want := fmt.Sprintf("read the ways of PE %d: it has ", pe)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", bad, err, want)
		}
	}
	if _, err := pathmap.New(nodes, good[:2]); err == nil || !strings.HasPrefix(err.Error(), "read the ways of 3 PEs: 2 have reported them") {
		t.Errorf("one that has not told: %v", err)
	}
}
