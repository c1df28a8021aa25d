package proxy

import (
	"bytes"
	"errors"
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
	"libshmem/tests/need"
)

// The windows of jobs of many sizes, on devices with queues of a number of entries: the largest
// power of two for which one write of each other PE fits. Also the receive buffers of each PE on a
// network that turns messages away: the entries that the windows leave, from 64 to 1,024. With
// several NICs the engine does not choose their number.
func TestWriteWindows(t *testing.T) {
	const one, several = 1, 2 // NICs of each PE
	for _, c := range []struct {
		pes, most, nics, want, receives int
	}{
		{1, 32768, one, 1024, 1024},
		{2, 32768, one, 1024, 1024},
		{32, 32768, one, 1024, 512},
		{32, 32768, several, 1024, 64},
		{33, 32768, one, 512, 1024},
		{64, 32768, one, 256, 1024},
		{64, 32768, several, 256, 64},
		{256, 32768, one, 64, 1024},
		{504, 32768, one, 64, 64},
		{1000, 32768, one, 32, 288},
		{1000, 32768, several, 16, 64},
		{4096, 32768, one, 4, 1024},
		{32193, 32768, one, 1, 64},
		{32193, 32768, several, 0, 64},
		{32194, 32768, one, 0, 1024},
		{1 << 20, 32768, one, 0, 1024},
		{8, 16384, one, 1024, 1024},
		{16, 16384, one, 1024, 512},
		{17, 16384, one, 512, 1024},
		{33, 16384, one, 256, 1024},
		{64, 16384, one, 128, 1024},
		{256, 16384, one, 32, 1024},
		{1000, 16384, one, 8, 1024},
		{4096, 16384, one, 2, 1024},
		{2, 4096, one, 1024, 1024},
		{5, 4096, one, 512, 1024},
		{8, 4096, one, 256, 1024},
		{33, 4096, one, 64, 1024},
		{64, 4096, one, 32, 1024},
		{64, 4096, several, 32, 64},
		{256, 4096, one, 8, 1024},
		{1000, 4096, one, 2, 1024},
		{4096, 4096, one, 0, 1024},
		{4096, 5000, one, 0, 1024},
		{1000, 6000, one, 2, 1024}, // a power of two of them is granted
		{2, 576, one, 0, 64},
	} {
		w := &world{t: t, net: sim.New(sim.EFADirect(), 1)}
		w.net.LimitQueues(0, c.most)
		config := ProviderConfig(c.pes)
		if c.nics > 1 {
			config = rail.Inner(config)
		}
		end, err := w.net.Open(0, config)
		if err != nil {
			t.Fatal(err)
		}
		caps := end.Caps()
		caps.RNRRetries = c.nics == 1
		got, receives := int(writeWindow(c.pes, caps.Arrivals)), layout.Receives+moreReceives(c.pes, writeWindow(c.pes, caps.Arrivals), &caps)
		if got != c.want || receives != c.receives {
			t.Errorf("%+v: a window of %d, %d receive buffers", c, got, receives)
		}
		granted := w.net.Queues()[0].Granted
		entries := config.Tokens + (c.pes-1)*got + receives - layout.Receives
		if entries > granted || granted > c.most || caps.Arrivals != granted-config.Tokens {
			t.Errorf("%+v: %d entries in a queue of %d, %d arrivals", c, entries, granted, caps.Arrivals)
		}
	}
	n := sim.New(sim.EFA(), 1)
	n.LimitQueues(0, layout.Tokens-1)
	if _, err := n.Open(0, ProviderConfig(2)); err == nil {
		t.Error("a queue is granted that does not hold the operations of its end")
	}
}

// All PEs take the least window, even if one PE has a smaller kind of NIC.
func TestSimLeastWindow(t *testing.T) {
	defer func() { limits = nil }()
	for _, c := range []struct {
		pes, nics int
		limits    map[int]int
		want      uint32
	}{
		{5, 1, nil, 1024},
		{5, 1, map[int]int{1: 4096}, 512},
		{5, 1, map[int]int{0: 16384, 4: 1024}, 64},
		{5, 1, map[int]int{3: layout.Tokens}, 0},
		{33, 1, nil, 512},
		{33, 1, map[int]int{1: 4096}, 64},
		{33, 4, nil, 512},
		{33, 4, map[int]int{32: 4096}, 64},
		{33, 4, map[int]int{1: 1024}, 4},
	} {
		limits = c.limits
		m, mem := sim.EFADirect(), new(memories)
		m.NICs, m.Rails = c.nics, c.nics
		w := newWorld(t, m, 1, c.pes, windowHeap(c.pes), mem)
		for _, p := range w.pes {
			if got := p.WriteWindow(); got != c.want {
				t.Errorf("%+v: PE %d takes a window of %d", c, p.me, got)
			}
		}
		exchange(w, w.pes, 1, layout.MaxPayload+1)
		checkQueues(w)
		w.close(mem)
	}
}

// Each PE has room for one put of every other PE, and for its signal.
func windowHeap(pes int) int { return pes * (windowBytes + 8) }

const windowBytes = 8192

// exchange lets PEs put to each other, a number of times, with a signal behind each put, and checks
// the bytes. Each polls now and then.
func exchange(w *world, pes []*proc, rounds, size int) {
	source := make([][]byte, len(pes))
	for i := range source {
		source[i] = make([]byte, size)
	}
	for round := range rounds {
		for i, b := range source {
			for k := range b {
				b[k] = byte(i*31 + k*7 + k>>8*13 + round + 1)
			}
		}
		for k := 1; k < len(pes); k++ {
			for i, p := range pes {
				to := pes[(i+k)%len(pes)]
				repeat(w, pes, p, func() Status {
					return p.PutSignal(libshmem.PE(to.me), libshmem.Offset(8*len(w.pes)+i*windowBytes), simAt(source[i]), uint64(size), libshmem.Offset(8*i), 1, fabric.OpAdd, nil)
				})
			}
		}
		for i, p := range pes {
			for from := range pes {
				if from == i {
					continue
				}
				among(w, pes, "signal", func() bool { return p.heap[8*from] == byte(round+1) })
				if at := 8*len(w.pes) + from*windowBytes; !w.ended && !bytes.Equal(p.heap[at:at+size], source[from]) {
					w.fail("round %d: the bytes of PE %d are not at PE %d when their signal is", round, pes[from].me, p.me)
				}
			}
		}
		for _, p := range pes {
			ticket := p.QuietBegin()
			among(w, pes, "quiet", func() bool { return p.QuietDone(ticket) == Done })
		}
	}
}

// among polls some PEs in random turns until ok holds.
func among(w *world, pes []*proc, what string, ok func() bool) {
	for range 2_000_000 {
		if w.ended || ok() {
			return
		}
		w.poll(pes[w.rng.IntN(len(pes))])
	}
	w.fail("%s: not so after many polls", what)
}

func repeat(w *world, pes []*proc, p *proc, f func() Status) {
	st := Again
	among(w, pes, "put", func() bool { st = f(); return st != Again })
	if st == Failed {
		w.fail("PE %d: put: %v", p.me, p.Err())
	}
}

// checkQueues checks the most entries that the completion queues have had.
func checkQueues(w *world) (most int) {
	w.t.Helper()
	for i, q := range w.net.Queues() {
		if q.Most > q.Granted || q.Lost > 0 {
			w.t.Errorf("queue %d was granted %d entries, held %d, and lost %d", i, q.Granted, q.Most, q.Lost)
		}
		most = max(most, q.Most)
	}
	return most
}

// flood lets all PEs but the last send that many messages to the last, which does not poll, and
// then put to it as much as they may. Then it polls. The error is one of its polls.
func flood(w *world, messages int) error {
	last := w.pes[len(w.pes)-1]
	rest := w.pes[:len(w.pes)-1]
	source := make([]byte, layout.MaxPayload+1)
	lost := func() (n int) {
		for _, q := range w.net.Queues() {
			n += q.Lost
		}
		return n
	}
	for i := range messages {
		p := rest[i%len(rest)]
		repeat(w, rest, p, func() Status {
			return p.AMO(libshmem.PE(last.me), 8*libshmem.Offset(len(w.pes)), fabric.OpAdd, 8, 1, 0, nil, nil)
		})
		w.poll(p) // messages that share a batch leave
	}
	for full := 0; full < 3 && lost() == 0; full++ {
		for _, p := range rest {
			before := p.Report.CountOf(libshmem.PE(last.me))[layout.Numbered]
			st := Pending
			for st == Pending {
				st = p.Put(libshmem.PE(last.me), libshmem.Offset(8*p.me), simAt(source), uint64(len(source)), nil)
			}
			if st == Failed {
				return p.Err()
			}
			for range 200 {
				if _, err := p.Poll(); err != nil {
					return err
				}
			}
			if p.Report.CountOf(libshmem.PE(last.me))[layout.Numbered] > before {
				full = 0
			}
		}
	}
	for w.net.Step() {
	}
	for range 100_000 {
		if _, err := last.Poll(); err != nil {
			return err
		}
	}
	return nil
}

// A PE that does not poll while all others write and send to it loses nothing: the writes that may
// be under way to it and its receive buffers fit its queue, and fill it except for its own
// operations. With a larger window it would lose some.
func TestSimFlood(t *testing.T) {
	defer func() { limits, windows = nil, 0 }()
	mem := new(memories)
	for _, c := range []struct {
		pes     int
		entries int // of the last PE's queue
		windows uint32
		writes  int // that its queue has room for
		buffers int // receive buffers, in addition
	}{
		{9, 4096, 0, 8 * 256, 1024},
		{64, 4096, 0, 63 * 32, 1024},
		{64, 32768, 0, 63 * 256, 1024},
		{32, 32768, 0, 31 * 1024, 512},
		{17, 1024, 0, 16 * 16, 256},
		{9, 4096, 1024, 0, 0},
		{64, 4096, 128, 0, 0},
	} {
		limits, windows = map[int]int{c.pes - 1: c.entries}, c.windows
		w := newWorld(t, sim.EFADirect(), 1, c.pes, windowHeap(c.pes), mem)
		err := flood(w, c.buffers)
		if c.windows > 0 {
			if !errors.Is(err, fabric.ErrOverrun) {
				t.Errorf("%+v: error %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if most := checkQueues(w); most != c.writes+c.buffers {
			t.Errorf("%+v, a window of %d: a queue has held %d at most", c, w.pes[0].WriteWindow(), most)
		}
		w.close(mem)
	}
}

// An all-to-all of puts with signals, of 64 PEs.
func TestSimAllToAll(t *testing.T) {
	mem := new(memories)
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect()} {
		w := newWorld(t, m, 1, 64, windowHeap(64), mem)
		exchange(w, w.pes, 2, windowBytes)
		checkQueues(w)
		w.close(mem)
	}
}

// Jobs of many PEs open, and a few of the PEs put: all of them would take minutes.
func TestSimOpensLarge(t *testing.T) {
	for _, c := range []struct {
		pes  int
		want uint32
	}{{1000, 32}, {4096, 4}} {
		if need.Race || c.pes > 1000 && !need.Full() {
			continue // each PE knows all others, which takes 1.3 GB
		}
		w := newWorld(t, sim.EFADirect(), 1, c.pes, 8*c.pes+8*windowBytes, new(memories))
		n := c.pes
		some := []*proc{w.pes[0], w.pes[1], w.pes[n/3], w.pes[n/2], w.pes[n-2], w.pes[n-1]}
		exchange(w, some, 8, windowBytes)
		for _, p := range w.pes {
			if got := p.WriteWindow(); got != c.want {
				t.Fatalf("%d PEs: PE %d takes a window of %d, want %d", n, p.me, got, c.want)
			}
		}
		checkQueues(w)
		for _, p := range w.pes {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Puts go on even if no message answers them and the window is small. Acknowledgements are part of
// messages, and the target sends none, so the sender asks for them. Writes that find the window
// full wait, or go without a number.
func TestSimOneWay(t *testing.T) {
	defer func() { windows, stays = 0, false }()
	const count = 500
	for _, windows = range []uint32{1, 2, 4, 8} {
		for seed := range uint64(8) { // half of them let PEs sleep
			stays = seed%2 == 0
			m, mem := sim.EFADirect(), new(memories)
			w := newWorld(t, m, 5*seed+1, 2, windowHeap(2), mem)
			if got := w.pes[1].WriteWindow(); got != windows {
				t.Fatalf("a window of %d, want %d", got, windows)
			}
			a, source := w.pes[0], make([]byte, windowBytes)
			for range count {
				w.until("put", func() bool { return a.Put(1, 0, simAt(source), windowBytes, nil) == Pending })
			}
			w.until("all to have left", func() bool { return a.Report.CountOf(1)[layout.Writes] == count })
			if ended := w.net.Now(); ended > count/sim.Time(windows)*200*sim.Microsecond {
				w.fail("%d puts took %d µs, with a window of %d", count, ended/sim.Microsecond, windows)
			}
			c := a.Report.CountOf(1)
			if stays != (c[layout.Numbered] == count) {
				w.fail("%d of %d puts had numbers, with a window of %d (they wait: %v)", c[layout.Numbered], count, windows, stays)
			}
			// One question for half of a window.
			if got := c[layout.Control]; got > count/uint64(max(windows/2, 1))+8 {
				w.fail("%d messages for %d puts, with a window of %d", got, count, windows)
			}
			w.close(mem)
		}
	}
}
