package proxy

import (
	"flag"
	"math/bits"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

var simPEs = flag.Int("sim.pes", need.Load("PEs"), "the most PEs in TestSimScale; 10,000 take ten minutes and 11 GB for each network")

// resident returns how many bytes of a mapping are in memory.
func resident(t *testing.T, b []byte) int {
	t.Helper()
	page := os.Getpagesize()
	state := make([]byte, (len(b)+page-1)/page)
	if _, _, err := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&state[0]))); err != 0 {
		t.Fatalf("mincore of %d bytes: %v", len(b), err)
	}
	n := 0
	for _, s := range state {
		n += int(s&1) * page
	}
	return n
}

func liveHeap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// crowdState is what the engines of a job hold, as the mean of all PEs.
type crowdState struct {
	buffers, peers float64 // KiB in memory, by PE
	messages       int     // of all PEs
	partners       int     // of the PE with the most
}

// counted counts messages from outside of the engine, because the engine's own counters are in
// memory that must not be touched.
type counted struct {
	fabric.Provider
	sent int
	to   map[libshmem.PE]bool
}

func (c *counted) Send(s *fabric.Send) error {
	err := c.Provider.Send(s)
	if err == nil {
		c.sent++
		c.to[s.To] = true
	}
	return err
}

func crowdOf(t *testing.T, w *world) crowdState {
	var s crowdState
	per := 1024 * float64(len(w.pes))
	for _, p := range w.pes {
		m := p.mappings()
		s.buffers += float64(resident(t, m[0])) / per
		s.peers += float64(resident(t, m[1])) / per
		c := p.prov.(*counted)
		s.messages += c.sent
		s.partners = max(s.partners, len(c.to))
	}
	return s
}

// TestSimScale simulates init, a small reduction, barriers and all-to-alls of many PEs in this
// process, on networks that exist. It counts the messages of each PE, the PEs that it sends to, and
// the memory of its engine. Only counts can fail.
func TestSimScale(t *testing.T) {
	pes := *simPEs
	if need.Race {
		pes = min(pes, 64)
	}
	for _, model := range []sim.Model{sim.TCP(), sim.EFA(), sim.EFADirect(), sim.Unread(sim.TCP(), 1)} {
		t.Run(kind(model), func(t *testing.T) {
			for _, n := range []int{2, 4, 16, 64, 100, 300, 1000, 4000, 10_000} {
				if n <= pes {
					scale(t, model, n)
				}
			}
		})
	}
}

// maxToAll is the most PEs of which each sends to all the others: 10,000 would send 10^8 messages.
const maxToAll = 1000

func scale(t *testing.T, model sim.Model, n int) {
	watch = func(p fabric.Provider) fabric.Provider { return &counted{p, 0, map[libshmem.PE]bool{}} }
	defer func() { watch = nil }()
	before := liveHeap()
	heap := memberHeap(n)
	if n <= maxToAll {
		heap += swapHeap(n, 8)
	}
	w := newWorld(t, model, uint64(n), n, heap, new(memories))
	after := liveHeap()
	all := make([]*member, n)
	for i, p := range w.pes {
		all[i] = &member{proc: p, w: w, n: n, sent: make([]uint64, n), seen: make([]uint64, n)}
	}
	t.Logf("%4d PEs, by PE: Go heap of engine, network and segment %.1f KiB", n, float64(after-before)/float64(n)/1024)
	log2 := bits.Len(uint(n - 1))
	last := crowdOf(t, w)
	step := func(name string, messages, partners int, f func(*member)) {
		if f != nil {
			together(w, all, f)
		}
		s := crowdOf(t, w)
		sent := s.messages - last.messages
		t.Logf("%4d PEs: %-10s %8.2f messages by PE, %3d partners, buffers %6.1f KiB, peers %5.1f KiB",
			n, name, float64(sent)/float64(n), s.partners, s.buffers, s.peers)
		if sent != messages || s.partners > partners {
			t.Errorf("%d PEs: %s: %d messages, and a PE that sends to %d others; want %d and at most %d", n, name, sent, s.partners, messages, partners)
		}
		last = s
	}
	step("init", 0, 0, nil)
	if last.peers > 4.5 {
		t.Errorf("%d PEs: before anything was sent %.1f KiB of the state of peers are in use", n, last.peers)
	}
	step("barrier", n*log2, log2, (*member).barrier)
	step("barrier", n*log2, log2, (*member).barrier)
	step("sum", sumMessages(n), min(n-1, max(directPEs, 2*log2)), (*member).sum)
	if n <= maxToAll {
		step("in steps", n*log2, min(n-1, max(directPEs, 2*log2)), func(m *member) { m.allToAllInSteps(8) })
		step("all-to-all", n*(n-1), n-1, (*member).allToAll)
	}
	w.close(new(memories))
}

// sumMessages returns how many messages a small reduction takes.
func sumMessages(n int) int {
	if n <= directPEs {
		return n * (n - 1)
	}
	steps := bits.Len(uint(n)) - 1
	return steps<<steps + 2*(n-1<<steps)
}
