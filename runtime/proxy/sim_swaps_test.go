package proxy

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/collective"
	"libshmem/tests/need"
)

// An all-to-all in steps (capi/front/alltoall_steps.c): in step i a PE sends on, over a distance of
// 1<<i, all blocks whose number, the distance that they have to go, has bit i.

// stepBlocks returns the numbers of the blocks that a step sends.
func stepBlocks(n, i int) (numbers []int) {
	for number := 1 << i; number < n; number = (number + 1) | 1<<i {
		numbers = append(numbers, number)
	}
	return numbers
}

// swapHeap returns the bytes behind memberHeap that an all-to-all in steps needs: for what it sends,
// and for what it receives.
func swapHeap(n, block int) int {
	blocks := 0
	for i := range bits.Len(uint(n - 1)) {
		blocks += len(stepBlocks(n, i))
	}
	return 2 * blocks * block
}

// at returns the PE at a distance from this one, or before it.
func (m *member) at(distance int, before bool) int {
	switch {
	case m.n&(m.n-1) == 0:
		return m.me ^ distance
	case before:
		return (m.me + m.n - distance) % m.n
	}
	return (m.me + distance) % m.n
}

func (m *member) allToAllInSteps(block int) {
	now := make([][]byte, m.n) // the blocks, by their numbers
	for number := 1; number < m.n; number++ {
		now[number] = make([]byte, block)
		binary.NativeEndian.PutUint64(now[number], uint64(m.me)<<32|uint64(m.at(number, false)))
	}
	sent, half := m.block(m.n), swapHeap(m.n, block)/2
	for i := range bits.Len(uint(m.n - 1)) {
		numbers := stepBlocks(m.n, i)
		for k, number := range numbers {
			copy(m.heap[sent+k*block:], now[number])
			now[number] = m.heap[sent+half+k*block:][:block]
		}
		bytes := len(numbers) * block
		if !m.data(m.at(1<<i, false), sent+half, m.heap[sent:][:bytes]) || !m.await(m.at(1<<i, true)) {
			return
		}
		sent += bytes
	}
	for number := 1; number < m.n; number++ {
		from := m.at(number, true)
		if got := binary.NativeEndian.Uint64(now[number]); got != uint64(from)<<32|uint64(m.me) {
			m.w.fail("PE %d: the block of PE %d is %#x", m.me, from, got)
			return
		}
	}
}

// collectiveTime returns the virtual time that f takes for as many PEs, each on its own host, with
// `room` bytes behind memberHeap.
func collectiveTime(t *testing.T, m sim.Model, hosts, room int, f func(*member)) sim.Time {
	t.Helper()
	mem := new(memories)
	w := newWorld(t, m, 1, hosts, memberHeap(hosts)+room, mem)
	defer w.close(mem)
	all := make([]*member, hosts)
	for i, p := range w.pes {
		all[i] = &member{proc: p, w: w, n: hosts, sent: make([]uint64, hosts), seen: make([]uint64, hosts)}
	}
	end, done := sim.Time(0), 0
	run := func(p *member) {
		f(p)
		end = w.net.Now()
		for done++; done%hosts != 0 && p.step(); {
		}
	}
	together(w, all, run)
	together(w, all, (*member).barrier)
	start := w.net.Now()
	inTime(w, all, run)
	return end - start
}

// allToAllTime returns the virtual time of an all-to-all, with what the PEs copy in steps: 10 ns for
// each block, and 10 GB/s.
func allToAllTime(t *testing.T, m sim.Model, hosts, block int, steps bool) sim.Time {
	t.Helper()
	if !steps {
		return collectiveTime(t, m, hosts, (hosts+2)*block, func(p *member) { p.toAll(block) })
	}
	var copied sim.Time
	for i := range bits.Len(uint(hosts - 1)) {
		blocks := len(stepBlocks(hosts, i))
		copied += sim.Time(10*blocks+blocks*block/10) * sim.Microsecond / 1000
	}
	return copied + collectiveTime(t, m, hosts, swapHeap(hosts, block), func(p *member) { p.allToAllInSteps(block) })
}

// scatterInHalves sends the messages of a reducescatter in halves (capi/front/column_scatter.c).
func (m *member) scatterInHalves(block int) {
	all := block * m.n
	power := 1 << (bits.Len(uint(m.n)) - 1)
	swap := func(with, n int) bool {
		return m.data(with, m.received(0, all), m.source(all)[:n]) && m.await(with)
	}
	if m.me >= power {
		swap(m.me-power, all)
		return
	}
	if m.me+power < m.n && !m.await(m.me+power) {
		return
	}
	for bit, n := power/2, all/2; bit > 0; bit, n = bit/2, n/2 {
		if !swap(m.me^bit, max(8, n)) {
			return
		}
	}
	if m.me+power < m.n {
		m.data(m.me+power, m.received(0, all), m.source(all)[:block])
	}
}

// scatterDirectly sends each PE the contribution to its block, and a message back.
func (m *member) scatterDirectly(block int) {
	if !m.toAll(block) {
		return
	}
	c := collective.Member{Me: m.me, N: m.n, Message: m.message, Await: m.await}
	c.AllToAll()
}

// scatterTime returns the virtual time of a reducescatter, with what the PEs combine at 10 GB/s.
func scatterTime(t *testing.T, m sim.Model, hosts, block int, halves bool) sim.Time {
	t.Helper()
	all := hosts * block
	f, combined := (*member).scatterDirectly, all+2*block
	if halves {
		f, combined = (*member).scatterInHalves, 2*all
	}
	return sim.Time(combined/10)*sim.Microsecond/1000 + collectiveTime(t, m, hosts, 2*all+2*block, func(p *member) { f(p, block) })
}

// TestSimSwaps: on EFA what the model of collective calls chooses for small all-to-alls and
// reducescatters (TestCollectiveModel in tests/front) takes at most 1.3 times as long as the other
// way. docs/concepts/scale.md has the table.
func TestSimSwaps(t *testing.T) {
	hosts := []int{16}
	if !need.Left("columns") {
		hosts = append(hosts, 64)
	}
	if *simHosts > 0 {
		hosts = []int{*simHosts}
	}
	us := func(time sim.Time) float64 { return float64(time) / float64(sim.Microsecond) }
	for _, c := range []struct {
		name   string
		blocks []int
		time   func(*testing.T, sim.Model, int, int, bool) sim.Time
	}{{"all-to-all", []int{8, 64, 512}, allToAllTime}, {"reducescatter", []int{8, 512}, scatterTime}} {
		t.Logf("| %s | hosts | bytes of a block | a message to each | in steps |", c.name)
		for _, m := range []sim.Model{sim.EFA(), sim.EFADirect()} {
			m.Post, m.Faults = post, faults.Faults{}
			for _, h := range hosts {
				for _, block := range c.blocks {
					direct, steps := us(c.time(t, m, h, block, false)), us(c.time(t, m, h, block, true))
					t.Logf("| %s | %d | %d | %.1f | %.1f |", m.Name, h, block, direct, steps)
					if *simHosts == 0 && direct > 1.3*steps {
						t.Errorf("%s, %s, %d hosts, %d bytes: a message to each takes %.1f us, and steps %.1f", c.name, m.Name, h, block, direct, steps)
					}
				}
			}
		}
	}
}
