package proxy

import (
	"fmt"
	"math"
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
	"libshmem/tests/need"
)

// The cost of the window: PE 0 of a job of that many PEs puts to one PE, or to eight in turn, with
// a signal behind each put, 256 at a time, on a network of 200 Gb/s. The share of the link is of
// virtual time, with 300 ns of the processor for each post. docs/concepts/scale.md has the table. A
// job of more than 1,000 PEs is simulated by a smaller one with the same window.
func TestSimWindowRates(t *testing.T) {
	if need.Race {
		t.Skip("virtual time is the same without the detector")
	}
	defer func() { limits, windows = nil, 0 }()
	t.Log("| PEs | window | to one PE: 8 KiB | 64 KiB | 1 MiB | to eight: 8 KiB | 64 KiB | 1 MiB |")
	for _, c := range []struct {
		jobs    string
		pes     int
		windows uint32
		limits  map[int]int
	}{
		{"to 32", 32, 0, nil},
		{"33", 33, 0, nil},
		{"64", 64, 0, nil},
		{"256", 256, 0, nil},
		{"1,000", 1000, 0, nil},
		{"4,096", 9, 4, nil},
		{"above 32,193", 9, 0, map[int]int{0: layout.Tokens}},
	} {
		if (testing.Short() || need.Left("window rates")) && (c.pes == 64 || c.pes == 1000) {
			continue
		}
		m, mem := sim.EFADirect(), new(memories)
		m.Post = post
		limits, windows = c.limits, c.windows
		line, least := "", math.Inf(1)
		for _, targets := range []int{1, 8} {
			for _, n := range []int{8 << 10, 64 << 10, 1 << 20} {
				w := newWorld(t, m, 1, c.pes, 4096+n, mem)
				if len(line) == 0 {
					line = fmt.Sprintf("| %s | %d |", c.jobs, w.pes[0].WriteWindow())
				}
				count := max(200, min(4000, (64<<20)/n))
				share := float64(8*n*count) / float64(row(w, targets, n, count, 256)) / (float64(m.Bandwidth) / 1e9)
				line += fmt.Sprintf(" %.2f |", share)
				if n == 1<<20 {
					least = min(least, share)
				}
				w.close(mem)
			}
		}
		if t.Log(line); least < 0.8 && c.pes > 9 {
			t.Errorf("%s PEs: puts of 1 MiB reach %.2f of the line", c.jobs, least)
		}
	}
}

// row lets PE 0 put n bytes with a signal to each of some PEs in turn, count times, with a number
// of puts under way, and returns the virtual time of all. Only those PEs poll.
func row(w *world, targets, n, count, most int) sim.Time {
	a := w.pes[0]
	free := make([]*Request, most)
	for i := range free {
		free[i] = new(Request)
	}
	var busy []*Request
	start := w.net.Now()
	for posted, ended := 0, 0; ended < count && !w.ended; {
		for posted < count && len(free) > 0 {
			r := free[len(free)-1]
			*r = Request{}
			st := a.PutSignal(libshmem.PE(1+posted%targets), 4096, simAt(a.heap[:n]), uint64(n), 0, 1, fabric.OpAdd, r)
			if st == Again {
				break
			}
			if posted++; st != Pending {
				w.fail("put: status %d: %v", st, a.Err())
			}
			free, busy = free[:len(free)-1], append(busy, r)
		}
		for _, p := range w.pes[:1+targets] {
			w.poll(p)
		}
		kept := busy[:0]
		for _, r := range busy {
			if r.Done == 0 {
				kept = append(kept, r)
				continue
			}
			free = append(free, r)
			ended++
		}
		busy = kept
	}
	w.quiet(a)
	return w.net.Now() - start
}
