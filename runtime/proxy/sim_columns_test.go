package proxy

import (
	"flag"
	"math/bits"
	"testing"

	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// The ways in which a column reduces its share (capi/front/columns.c, column_steps.c). The messages
// are the same; what the PEs copy and combine takes no time here (combining).
const (
	straight = iota
	pairs
	halves
	owners
	waysToReduce
)

var reductionNames = [waysToReduce]string{"straight", "in pairs", "in halves", "by owners"}

// received returns the place where a member gets the bytes of another one, or of a step. What it
// sends is before that.
func (m *member) received(i, n int) int { return m.block(m.n) + (i+1)*n }

func (m *member) source(n int) []byte { return m.heap[m.block(m.n):][:n] }

func (m *member) toAll(n int) bool {
	for i := 1; i < m.n; i++ {
		if !m.data((m.me+i)%m.n, m.received(m.me, n), m.source(n)) {
			return false
		}
	}
	for i := 1; i < m.n; i++ {
		if !m.await((m.me + m.n - i) % m.n) {
			return false
		}
	}
	return true
}

func (m *member) reduce(way, n int) {
	switch way {
	case straight:
		m.toAll(n)
	case owners:
		if block := max(8, n/m.n); m.toAll(block) {
			m.toAll(block)
		}
	case pairs, halves:
		m.inSteps(way, n)
	}
}

// inSteps reduces in steps of two members each. Members beyond the largest power of two send first
// and get the result.
func (m *member) inSteps(way, n int) {
	steps := bits.Len(uint(m.n)) - 1
	power := 1 << steps
	swap := func(with, at, n int) bool { return m.data(with, m.received(at, n), m.source(n)) && m.await(with) }
	if m.me >= power {
		swap(m.me-power, 0, n)
		return
	}
	if m.me+power < m.n && !m.await(m.me+power) {
		return
	}
	for step := range steps {
		if way == halves {
			if !swap(m.me^1<<step, 1, max(8, n>>(step+1))) {
				return
			}
		} else if !swap(m.me^1<<step, step+1, n) {
			return
		}
	}
	for step := steps - 1; way == halves && step >= 0; step-- {
		if !swap(m.me^1<<step, 1, max(8, n>>(step+1))) {
			return
		}
	}
	if m.me+power < m.n {
		m.data(m.me+power, m.received(0, n), m.source(n))
	}
}

// combining is what a PE copies and combines, at 10 GB/s, as the model of collective calls has it.
func combining(hosts, way, n int) sim.Time {
	const bytes = 10 // a nanosecond
	switch way {
	case owners:
		n = (hosts + 2) * n / hosts
	case straight:
		n *= hosts + 2
	case pairs:
		n *= 2 * (bits.Len(uint(hosts)) - 1)
	case halves:
		n *= 4
	}
	return sim.Time(n/bytes) * sim.Microsecond / 1000
}

// reduceTime returns the virtual time of a reduction of n bytes by as many hosts, one PE each.
func reduceTime(t *testing.T, m sim.Model, hosts, way, n int) sim.Time {
	t.Helper()
	each, parts := n, hosts+1
	switch way {
	case owners:
		each = max(8, n/hosts)
	case pairs, halves:
		parts = bits.Len(uint(hosts)) + 3
	}
	mem := new(memories)
	w := newWorld(t, m, 1, hosts, memberHeap(hosts)+parts*each+8, mem)
	defer w.close(mem)
	all := make([]*member, hosts)
	for i, p := range w.pes {
		all[i] = &member{proc: p, w: w, n: hosts, sent: make([]uint64, hosts), seen: make([]uint64, hosts)}
	}
	// Others wait for what a PE has yet to post.
	end, done := sim.Time(0), 0
	reduce := func(p *member) {
		p.reduce(way, n)
		end = w.net.Now()
		for done++; done%hosts != 0 && p.step(); {
		}
	}
	together(w, all, reduce) // PEs have met
	together(w, all, (*member).barrier)
	start := w.net.Now()
	inTime(w, all, reduce)
	return end - start + combining(hosts, way, n)
}

var simHosts = flag.Int("sim.hosts", 0, "only so many hosts in TestSimColumns, whose figures are printed and not judged; 1,000 take half an hour")

// TestSimColumns: on EFA the way that the model of collective calls chooses (capi/front/model.c,
// and TestCollectiveModel in tests/front) takes at most 1.3 times as long as the best one.
// docs/decisions/0059 has the table.
func TestSimColumns(t *testing.T) {
	hosts := []int{4, 16}
	if !need.Left("columns") {
		hosts = append(hosts, 64, 128)
	}
	if *simHosts > 0 {
		hosts = []int{*simHosts}
	}
	t.Log("| model | hosts | bytes | straight | in pairs | in halves | by owners |")
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect()} {
		m.Post, m.Faults = post, faults.Faults{}
		for _, h := range hosts {
			for _, c := range []struct{ bytes, chosen int }{{64, straight}, {4 << 10, straight}, {64 << 10, owners}, {1 << 20, owners}} {
				var us [waysToReduce]float64
				best := straight
				for way := range us {
					if *simHosts > 0 && way == straight && c.bytes > 4<<10 {
						continue // it would take the memory of all blocks, twice
					}
					us[way] = float64(reduceTime(t, m, h, way, c.bytes)) / float64(sim.Microsecond)
					if us[way] < us[best] {
						best = way
					}
				}
				t.Logf("| %s | %d | %d | %.1f | %.1f | %.1f | %.1f |", m.Name, h, c.bytes, us[straight], us[pairs], us[halves], us[owners])
				if *simHosts == 0 && us[c.chosen] > 1.3*us[best] {
					t.Errorf("%s, %d hosts, %d bytes: %s takes %.1f us, and %s %.1f", m.Name, h, c.bytes, reductionNames[c.chosen], us[c.chosen], reductionNames[best], us[best])
				}
			}
		}
	}
}
