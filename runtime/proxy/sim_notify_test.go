package proxy

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
)

// The ways to send a number of pages so that the target knows when all are there.
const (
	bytesOnly = iota // it does not: the test looks at the bytes
	notifications
	signals   // a signal behind each page, in a word of its own
	oneSignal // a fence, and a signal behind all pages
	waysToNotify
)

// notifyTime returns the virtual time from the first post until PE 1 knows that all pages are
// there, and how many notifications came with a write.
func notifyTime(t *testing.T, m sim.Model, way, pages, n int) (sim.Time, uint64) {
	t.Helper()
	mem := new(memories)
	w := newWorld(t, m, 1, 2, 2*pages*n+4096, mem)
	defer w.close(mem)
	a, b := w.pes[0], w.pes[1]
	source := a.heap[4096+pages*n:]
	for i := range source {
		source[i] = 1
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(b.heap[8*i:]) }
	there := func() bool {
		switch way {
		case notifications:
			return binary.NativeEndian.Uint64(b.memory[simInternal+simCounterOffset:]) == uint64(pages)
		case oneSignal:
			return word(0) == 1
		}
		for i := range pages {
			if way == signals && word(i) == 0 || way == bytesOnly && bytes.IndexByte(b.heap[4096+i*n:4096+(i+1)*n], 0) >= 0 {
				return false
			}
		}
		return true
	}
	post := func(i int) Status {
		at, to := simAt(source[i*n:]), libshmem.Offset(4096+i*n)
		switch way {
		case notifications:
			return a.PutSignal(1, to, at, uint64(n), simCounterOffset, 1, fabric.OpAdd, nil)
		case signals:
			return a.PutSignal(1, to, at, uint64(n), libshmem.Offset(8*i), 1, fabric.OpSet, nil)
		}
		return a.Put(1, to, at, uint64(n), nil)
	}
	start := w.net.Now()
	step := func(ok func() bool) {
		for !ok() && !w.ended {
			w.poll(a)
			w.poll(b)
		}
	}
	for i := range pages {
		step(func() bool { return post(i) != Again })
	}
	if way == oneSignal {
		a.Fence()
		step(func() bool { return a.AMO(1, 0, fabric.OpSet, 8, 1, 0, nil, nil) != Again })
	}
	step(there)
	took := w.net.Now() - start
	w.quiet(a)
	return took, a.Report.Count()[layout.Notified]
}

// 64 pages of 8 KiB and one wait for all of them: with notifications the target knows it when the
// bytes are there. docs/decisions/0047 has the table.
func TestSimNotifications(t *testing.T) {
	const pages, n = 64, 8192
	t.Log("| model | bytes alone | notifications | put_signal each | put + fence + signal |")
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.TCP(), sim.Verbs()} {
		m.Post, m.Faults = post, faults.Faults{}
		var us [waysToNotify]float64
		for way := range waysToNotify {
			took, with := notifyTime(t, m, way, pages, n)
			us[way] = float64(took) / float64(sim.Microsecond)
			if want := m.Caps.SendAfterWrite; way == notifications && (with == pages) == want {
				t.Errorf("%s: %d of %d notifications came with a write", m.Name, with, pages)
			}
		}
		t.Logf("| %s | %.1f | %.1f | %.1f | %.1f |", m.Name, us[bytesOnly], us[notifications], us[signals], us[oneSignal])
		if latency := float64(m.Latency) / float64(sim.Microsecond); us[notifications] > us[bytesOnly]+latency/2 {
			t.Errorf("%s: notifications are there %.1f us after the bytes, the latency is %.1f", m.Name, us[notifications]-us[bytesOnly], latency)
		}
	}
}

// Puts with notifications are counted exactly while NICs are lost, packets come twice and overtake
// each other, and completions are late.
func TestSimCountsExactly(t *testing.T) {
	var models []sim.Model
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.Worst(), sim.Verbs()} {
		models = append(models, m, sim.Rough(m))
	}
	most := max(simPart.Share(*simOps)/20/len(models), 5000)
	mem := new(memories)
	for _, m := range models {
		m.NICs, m.Rails, m.Detect = 3, 3, 200*sim.Microsecond
		lost, notified, ops := uint64(0), uint64(0), 0
		for seed := simPart.Seed(); ops < most && !t.Failed(); seed++ {
			n := 2 + int(seed%3)
			w := newWorld(t, sockets(m, seed), seed, n, heapSize(n), mem)
			rng := rand.New(rand.NewPCG(seed, 12))
			w.net.Plan(faults.Fault{At: sim.Time(rng.IntN(int(sim.Millisecond))), Host: rng.IntN(n), NIC: rng.IntN(3)})
			ops += runProgramsOf(w, true, true)
			for _, p := range w.pes {
				notified += p.Report.Count()[layout.Notified]
				for _, c := range p.prov.(*rail.Provider).Rails() {
					lost += c.Lost
				}
			}
			w.close(mem)
		}
		t.Logf("%s: %d operations, %d notifications came with a write, %d ways lost", m.Name, ops, notified, lost)
		if !m.Caps.SendAfterWrite && m.Caps.Source && notified == 0 || lost == 0 {
			t.Errorf("%s: %d notifications came with a write, %d ways were lost", m.Name, notified, lost)
		}
	}
}
