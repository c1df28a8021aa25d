package job

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/config"
	"libshmem/runtime/heap/hostmem"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/pathmap"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
)

// table is where the PEs of one process meet, once.
type table struct {
	all  [][]byte
	come sync.WaitGroup
}

// gatherer is a PE at a table: a bootstrap that can only gather.
type gatherer struct {
	bootstrap.Bootstrap
	at   *table
	me   int
	came int
}

func (g *gatherer) Allgather(mine []byte) ([][]byte, error) {
	g.came++
	g.at.all[g.me] = mine
	g.at.come.Done()
	g.at.come.Wait()
	return g.at.all, nil
}

// seated returns the jobs of PEs on some hosts, with heaps in main memory.
func seated(t *testing.T, hosts string, environ string, mapper int) ([]*Job, []*bytes.Buffer) {
	t.Helper()
	cfg, _, err := config.Parse(strings.Fields(environ))
	if err != nil {
		t.Fatal(err)
	}
	n := len(hosts)
	at := &table{all: make([][]byte, n)}
	at.come.Add(n)
	jobs, said := make([]*Job, n), make([]*bytes.Buffer, n)
	nodes := topo.NewNodes(strings.Split(hosts, ""))
	for pe := range jobs {
		said[pe] = new(bytes.Buffer)
		j := &Job{Self: meet.Self{Settings: cfg, Nodes: nodes, Me: libshmem.PE(pe), NPEs: n, Boot: &gatherer{at: at, me: pe}}, heap: config.HeapHost, JobInfo: &meet.JobInfo{MapPrinter: mapper}}
		j.Heaps = meet.Heaps{Me: j.Me, Nodes: nodes, Kinds: slices.Repeat([]config.HeapKind{config.HeapHost}, n)}
		if j.Log, err = shmlog.Open(cfg, said[pe]); err != nil {
			t.Fatal(err)
		}
		if j.segment, err = hostmem.Create(hostmem.NewPlan(4096, 1<<20, len(nodes.Peers(j.Me)))); err == nil {
			t.Cleanup(func() { _ = j.segment.Close() })
			err = j.segment.Map()
			j.Heaps.Segment = j.segment
		}
		if err != nil {
			t.Fatal(err)
		}
		jobs[pe] = j
	}
	return jobs, said
}

// together runs f for all PEs at once.
func together(jobs []*Job, f func(j *Job)) {
	var all sync.WaitGroup
	for _, j := range jobs {
		all.Go(func() { f(j) })
	}
	all.Wait()
}

// TestMapOfAll: each PE has the whole map.
func TestMapOfAll(t *testing.T) {
	jobs, _ := seated(t, "abaa", "", 0)
	together(jobs, func(j *Job) {
		m, err := j.Map()
		if err != nil {
			t.Errorf("PE %d: %v", j.Me, err)
			return
		}
		got := ""
		for from := range libshmem.PE(4) {
			for to := range libshmem.PE(4) {
				got += string(rune(m.Host(from, to)))
				if k := m.Kernels(from, to); k != pathmap.None {
					t.Errorf("PE %d: kernels from %d to %d go by %c", j.Me, from, to, k)
				}
			}
			got += " "
		}
		if want := ".nmm n.nn mn.m mnm. "; got != want {
			t.Errorf("PE %d has %s, want %s", j.Me, got, want)
		}
	})
}

// TestWhoPrintsMap: PEs do not meet for a map that no PE has asked for. If one has, all meet and
// only that PE prints the map.
func TestWhoPrintsMap(t *testing.T) {
	for _, mapper := range []int{meet.NoMapPrinter, 0, 2} {
		jobs, said := seated(t, "aab", "", mapper)
		together(jobs, func(j *Job) {
			if err := j.printMap(); err != nil {
				t.Errorf("PE %d: %v", j.Me, err)
			}
		})
		for pe, j := range jobs {
			if came := j.Boot.(*gatherer).came; (came == 1) != (mapper != meet.NoMapPrinter) || came > 1 {
				t.Errorf("PE %d asks for a map: PE %d comes %d times", mapper, pe, came)
			}
			if printed := strings.HasPrefix(said[pe].String(), "shmem: map of 3 PEs on 2 hosts: "); printed != (pe == mapper) {
				t.Errorf("PE %d asks for a map: PE %d says %q", mapper, pe, said[pe])
			}
		}
	}
}

// TestWantsMap: the settings of a PE say whether it asks.
func TestWantsMap(t *testing.T) {
	for environ, want := range map[string]bool{
		"": false, "SHMEM_LOG_LEVEL=info": false, "SHMEM_LOG_LEVEL=debug": true, "NVSHMEM_DEBUG=TRACE": true, "SHMEM_DEBUG=1": true,
		"SHMEM_DEBUG=1 SHMEM_LOG_LEVEL=info": false, "SHMEM_LOG_LEVEL=debug SHMEM_LOG_SUBSYS=heap": false, "SHMEM_LOG_LEVEL=debug SHMEM_LOG_SUBSYS=pe": true,
	} {
		jobs, _ := seated(t, "a", environ, meet.NoMapPrinter)
		if got := jobs[0].wantsMap(); got != want {
			t.Errorf("%q asks for a map: %v", environ, got)
		}
	}
}

// TestMapOfOthers: a row that no PE of this version would send is refused.
func TestMapOfOthers(t *testing.T) {
	jobs, _ := seated(t, "aa", "", 0)
	strange, err := meet.Encode(pathmap.Row{Host: "..."})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{strange, {1}, nil} {
		at := &table{all: [][]byte{nil, bad}}
		at.come.Add(1)
		jobs[0].Boot = &gatherer{at: at}
		if m, err := jobs[0].Map(); m != nil || err == nil || !strings.Contains(err.Error(), "start every PE with ") || !strings.Contains(err.Error(), "PE 1") {
			t.Errorf("%s: %v, %v", fmt.Sprintf("%x", bad), m, err)
		}
	}
}
