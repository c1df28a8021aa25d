package topo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// simulated makes /sys of a machine whose NUMA nodes have the given numbers of cores. Linux numbers
// the first hyperthreads of all cores first. gpus are the NUMA nodes of GPUs; -1: not known.
func simulated(t *testing.T, threads int, cores []int, gpus ...int) *Processors {
	t.Helper()
	total := 0
	for _, n := range cores {
		total += n
	}
	files := map[string]string{"sys/devices/system/cpu/online": fmt.Sprintf("0-%d", total*threads-1)}
	var near []Set
	first := 0
	for node, n := range cores {
		var cpus Set
		for core := first; core < first+n; core++ {
			var siblings []int
			for k := range threads {
				siblings = append(siblings, core+k*total)
			}
			for _, cpu := range siblings {
				files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/core_cpus_list", cpu)] = NewSet(siblings...).String()
			}
			cpus = cpus.Or(NewSet(siblings...))
		}
		files["sys/devices/system/node/node"+strconv.Itoa(node)+"/cpulist"] = cpus.String()
		near = append(near, cpus)
		first += n
	}
	for i, node := range gpus {
		pci := fmt.Sprintf("0000:%02x:00.0", 0x10+i)
		files["proc/driver/nvidia/gpus/"+pci+"/information"] = "Model: fake"
		if node >= 0 {
			files["sys/bus/pci/devices/"+pci+"/local_cpulist"] = near[node].String()
		}
	}
	p, err := ReadProcessors(system(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func text(sets []Set) string {
	var words []string
	for _, s := range sets {
		words = append(words, s.String())
	}
	return strings.Join(words, " ")
}

func TestDeal(t *testing.T) {
	eight := simulated(t, 2, []int{8})
	two := simulated(t, 1, []int{4, 4}, 1, 0)
	uneven := simulated(t, 1, []int{4, 8})
	for _, c := range []struct {
		name    string
		p       *Processors
		pes     int
		portion Portion
		gpus    []int
		want    string
	}{
		{"whole cores, with both hyperthreads", eight, 4, PortionShare, nil, "0-1,8-9 2-3,10-11 4-5,12-13 6-7,14-15"},
		{"equal shares, and two cores left", eight, 3, PortionShare, nil, "0-1,8-9 2-3,10-11 4-5,12-13"},
		{"a core each, and one left", eight, 7, PortionShare, nil, "0,8 1,9 2,10 3,11 4,12 5,13 6,14"},
		{"all cores", eight, 8, PortionShare, nil, "0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15"},
		{"hyperthreads when there are too few cores", eight, 10, PortionShare, nil, "0 8 1 9 2 3 4 5 6 7"},
		{"all hyperthreads", eight, 16, PortionShare, nil, "0 8 1 9 2 10 3 11 4 12 5 13 6 14 7 15"},
		{"a core of many", eight, 3, PortionCore, nil, "0,8 1,9 2,10"},
		{"more PEs than processors", eight.Within(NewSet(0, 1)), 4, PortionShare, nil, "0 0 1 1"},
		{"two NUMA nodes, half of the PEs on each", two, 4, PortionShare, nil, "0-1 2-3 4-5 6-7"},
		{"no portion spans two NUMA nodes", two, 3, PortionShare, nil, "0-1 2-3 4-5"},
		{"cores of both NUMA nodes", two, 4, PortionCore, nil, "0 1 4 5"},
		{"NUMA nodes", two, 4, PortionNode, nil, "0-3 0-3 4-7 4-7"},
		{"NUMA nodes, more PEs than processors", two, 9, PortionNode, nil, "0-3 0-3 0-3 0-3 0-3 4-7 4-7 4-7 4-7"},
		{"near the GPUs, the first of which is at node 1", two, 2, PortionShare, []int{0, 1}, "4-7 0-3"},
		{"GPUs of one node", two, 2, PortionShare, []int{1, 1}, "0-1 2-3"},
		{"a GPU with too few processors near it", two, 5, PortionShare, []int{1, 1, 1, 1, 1}, "0 1 2 4 5"},
		{"a GPU that there is not", two, 2, PortionShare, []int{0, 2}, "0-3 4-7"},
		{"in proportion to the cores", uneven, 6, PortionShare, nil, "0-1 2-3 4-5 6-7 8-9 10-11"},
		{"one NUMA node without PEs", uneven, 1, PortionShare, nil, "4-11"},
		{"a mask that leaves hyperthreads", eight.Within(NewSet(0, 1, 2, 8)), 3, PortionShare, nil, "0,8 1 2"},
	} {
		if got := text(c.p.Deal(c.pes, c.portion, c.gpus)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := text(simulated(t, 1, []int{4, 4}, 1, -1).Deal(2, PortionShare, []int{0, 1})); got != "0-3 4-7" {
		t.Errorf("a GPU whose place is not known: %s", got)
	}
}

// TestDealAll compares the promises of Deal with what it gives on many machines.
func TestDealAll(t *testing.T) {
	for _, threads := range []int{1, 2} {
		for _, cores := range [][]int{{1}, {2}, {3, 5}, {8, 8}, {1, 7, 4}, {9, 9, 9, 9}} {
			p := simulated(t, threads, cores)
			all := p.Online.Count()
			for pes := 1; pes <= all; pes++ {
				var used Set
				sets := p.Deal(pes, PortionShare, nil)
				for pe, s := range sets {
					if s == "" || used.And(s) != "" || !slices.ContainsFunc(p.Nodes, func(n Cores) bool { return s.Within(n.CPUs()) }) {
						t.Fatalf("%d cores of %d threads, %d PEs: PE %d has %s, those before it %s", cores, threads, pes, pe, s, used)
					}
					if s.Count() != sets[0].Count() {
						t.Errorf("%d cores of %d threads, %d PEs: PE %d has %s, PE 0 %s", cores, threads, pes, pe, s, sets[0])
					}
					used = used.Or(s)
				}
			}
		}
	}
}

func TestReadProcessors(t *testing.T) {
	read := func(files map[string]string) (*Processors, error) {
		return ReadProcessors(system(t, files))
	}
	p, err := read(map[string]string{"sys/devices/system/cpu/online": "0-1,3", "sys/devices/cpu_atom/type": "10"})
	if err != nil || len(p.Nodes) != 1 || text(p.Nodes[0]) != "0 1 3" || !p.Mixed {
		t.Errorf("without nodes and cores: %+v, %v", p, err)
	}
	p, err = read(map[string]string{
		"sys/devices/system/cpu/online": "0-2", "sys/devices/system/node/node10/cpulist": "0", "sys/devices/system/node/node2/cpulist": "1-3",
		"sys/devices/system/node/node3/cpulist": "", "sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "1,3",
	})
	if err != nil || len(p.Nodes) != 2 || text(p.Nodes[0]) != "1 2" || text(p.Nodes[1]) != "0" || p.Mixed {
		t.Errorf("a processor that is off, and nodes by number: %+v, %v", p, err)
	}
	for name, files := range map[string]map[string]string{
		"no processors in ":                {"sys/other": ""},
		"1 of 2 processors are on a NUMA ": {"sys/devices/system/cpu/online": "0-1", "sys/devices/system/node/node0/cpulist": "0"},
	} {
		if _, err := read(files); err == nil || !strings.Contains(err.Error(), name) || !strings.HasSuffix(err.Error(), "(mount sysfs at /sys)") {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

func TestSetSums(t *testing.T) {
	a, b := NewSet(0, 9), NewSet(9, 70)
	if a.Or(b) != NewSet(0, 9, 70) || b.Or(a) != a.Or(b) || a.Minus(b) != NewSet(0) || b.Minus(a) != NewSet(70) || a.Minus(a) != "" {
		t.Errorf("%v and %v: %v, %v, %v", a, b, a.Or(b), a.Minus(b), b.Minus(a))
	}
}
