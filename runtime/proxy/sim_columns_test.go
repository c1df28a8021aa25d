package proxy

import (
	"math/bits"
	"testing"

	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// The ways in which a column reduces its share (capi/front/columns.c). What the PEs compute is left
// out: the messages are the same.
const (
	straight = iota
	pairs
	owners
	waysToReduce
)

var reductionNames = [waysToReduce]string{"straight", "in pairs", "by owners"}

// received is where a member gets the bytes of another one, or of a step, and what it sends is
// behind.
func (m *member) received(i, n int) int { return m.block(m.n) + i*n }

func (m *member) source(n int) []byte { return m.heap[m.received(m.n, n):][:n] }

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
	case pairs:
		for step := range bits.Len(uint(m.n)) - 1 {
			if other := m.me ^ 1<<step; !m.data(other, m.received(step, n), m.source(n)) || !m.await(other) {
				return
			}
		}
	}
}

// reduceTime is the virtual time of a reduction of n bytes by as many hosts, one PE each.
func reduceTime(t *testing.T, m sim.Model, hosts, way, n int) sim.Time {
	t.Helper()
	each := n
	if way == owners {
		each = max(8, n/hosts)
	}
	mem := new(memories)
	w := newWorld(t, m, 1, hosts, memberHeap(hosts)+(hosts+1)*each+8, mem)
	defer w.close(mem)
	all := make([]*member, hosts)
	for i, p := range w.pes {
		all[i] = &member{proc: p, w: w, n: hosts, sent: make([]uint64, hosts), seen: make([]uint64, hosts)}
	}
	together(w, all, (*member).barrier) // PEs have met
	start, end, done := w.net.Now(), sim.Time(0), 0
	together(w, all, func(p *member) {
		p.reduce(way, n)
		done++
		end = w.net.Now()
		for done < hosts && p.step() { // others wait for what this PE has yet to post
		}
	})
	return end - start
}

// TestSimColumns: on EFA the way that the model of collective calls chooses (capi/front/model.c, and
// TestCollectiveModel in tests/front) takes at most 1.3 times as long as the best one.
// docs/decisions/0059 has the table.
func TestSimColumns(t *testing.T) {
	hosts := []int{4, 16}
	if !need.Left("columns") {
		hosts = append(hosts, 64, 128)
	}
	t.Log("| model | hosts | bytes | straight | in pairs | by owners |")
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect()} {
		m.Post, m.Faults = post, faults.Faults{}
		for _, h := range hosts {
			for _, c := range []struct{ bytes, chosen int }{{64, straight}, {4 << 10, straight}, {64 << 10, owners}, {1 << 20, owners}} {
				var us [waysToReduce]float64
				best := straight
				for way := range us {
					us[way] = float64(reduceTime(t, m, h, way, c.bytes)) / float64(sim.Microsecond)
					if us[way] < us[best] {
						best = way
					}
				}
				t.Logf("| %s | %d | %d | %.1f | %.1f | %.1f |", m.Name, h, c.bytes, us[straight], us[pairs], us[owners])
				if us[c.chosen] > 1.3*us[best] {
					t.Errorf("%s, %d hosts, %d bytes: %s takes %.1f us, and %s %.1f", m.Name, h, c.bytes, reductionNames[c.chosen], us[c.chosen], reductionNames[best], us[best])
				}
			}
		}
	}
}
