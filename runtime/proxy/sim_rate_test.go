package proxy

import (
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// post is the processor's time for an operation in the models of this file: at most 3.3 million
// operations a second.
const post = 300

// timeTransfer keeps that many puts of n bytes under way, to one PE or to several in turn, with a
// signal or without, and returns the virtual time of all of them.
func timeTransfer(t *testing.T, m sim.Model, peers, n, count, window int, signal bool) sim.Time {
	t.Helper()
	mem := new(memories)
	w := newWorld(t, m, 1, 1+peers, n*2+4096, mem)
	defer w.close(mem)
	a := w.pes[0]
	free := make([]*Request, window)
	for i := range free {
		free[i] = new(Request)
	}
	var busy []*Request
	start := w.net.Now()
	posted, ended := 0, 0
	for ended < count && !w.ended {
		for posted < count && len(free) > 0 {
			r := free[len(free)-1]
			*r = Request{}
			var st Status
			pe := libshmem.PE(1 + posted%peers)
			if signal {
				st = a.PutSignal(pe, 4096, simAt(a.heap[:n]), uint64(n), 0, 1, fabric.OpAdd, r)
			} else {
				st = a.Put(pe, 4096, simAt(a.heap[:n]), uint64(n), r)
			}
			if st == Again {
				break
			}
			posted++
			switch st {
			case Failed:
				t.Fatal(a.Err())
			case Done: // the source is free, and quiet covers the rest
				ended++
			case Pending:
				free = free[:len(free)-1]
				busy = append(busy, r)
			}
		}
		for _, p := range w.pes {
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

// The rate of the proxy on one wire, in virtual time: bytes without signals and with them, 64 puts
// at a time, to one PE. Two networks also have 8 and 64 PEs. Four and 32 wires are in
// sim_rails_test.go.
func TestSimRates(t *testing.T) {
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.EFA100(), sim.Verbs(), sim.Unread(sim.EFA(), 1), sim.Unread(sim.EFADirect(), 1)} {
		simRates(t, m, 1, []int{8, 1024, 4000, 8192, 64 << 10, 1 << 20})
	}
	for _, m := range []sim.Model{sim.EFADirect(), sim.Verbs()} {
		all := []int{8}
		if need.Full() {
			all = append(all, 64)
		}
		for _, peers := range all {
			simRates(t, m, peers, []int{8, 1024, 8192, 64 << 10})
		}
	}
}

func simRates(t *testing.T, model sim.Model, peers int, sizes []int) {
	t.Helper()
	const window = 64
	model.Post = post
	for _, n := range sizes {
		count := min(4000, max(200, (64<<20)/n))
		plain := timeTransfer(t, model, peers, n, count, window, false)
		signalled := timeTransfer(t, model, peers, n, count, window, true)
		rate := func(took sim.Time) float64 {
			return float64(8*n*count) / float64(took) / (float64(model.Bandwidth) / 1e9)
		}
		t.Logf("%-6s %2d PEs %8d bytes: %.3f of line rate, %6.2f M/s; with signals %.3f, %6.2f M/s: %.3f of it",
			kind(model), peers, n, rate(plain), float64(count)/float64(plain)*1e3, rate(signalled), float64(count)/float64(signalled)*1e3,
			float64(plain)/float64(signalled))
		// A put and its signal are two operations of the NIC, unless signals to one PE share a message.
		if share := float64(plain) / float64(signalled); share < 0.9 && (peers == 1 || n >= 64<<10) {
			t.Errorf("%s: puts of %d bytes to %d PEs with signals reach %.3f of those without", kind(model), n, peers, share)
		}
		if n == 1<<20 && rate(plain) < 0.97 {
			t.Errorf("%s: puts of 1 MiB reach %.3f of line rate", kind(model), rate(plain))
		}
	}
}
