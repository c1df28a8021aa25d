package proxy

import (
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
	"libshmem/tests/need"
)

// Random programs run on three contexts of each PE at once, on every model: the order of each
// context is kept, and a quiet of a context covers all of its operations.
func TestSimContexts(t *testing.T) {
	models := simModels(t)
	most := *simOps / 10 / len(models)
	if need.Race {
		most = min(most, 2000)
	}
	for _, m := range models {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			mem := new(memories)
			for seed, ops := uint64(1), 0; ops < most && !t.Failed(); seed++ {
				if *simSeed != 0 {
					seed = *simSeed
				}
				n := 2 + int(seed%2)
				w := newWorld(t, vary(m, seed), seed, n, heapSizeOn(n, 2), mem)
				w.others = 2
				ops += runSimPrograms(w, true)
				w.close(mem)
				if *simSeed != 0 {
					break
				}
			}
		})
	}
}

// own reports whether contexts are separate on a network.
func own(t *testing.T, p *proc) bool {
	n, err := p.OpenContext(1)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// slow returns a network on which a large write takes long.
func slow(m sim.Model) sim.Model {
	m.Bandwidth, m.Faults = 1e8, faults.Faults{}
	return m
}

// While a large write with a signal is under way in one context, a quiet of another context to the
// same PE ends, and the signal of the first has not come. The quiet of the first context waits for
// it. If all operations share one connection, the second context has to wait for the bytes before
// it. That is the network's order and not the library's.
func TestSimQuietOfAContext(t *testing.T) {
	const large, signal, small = 1 << 20, 8, 16
	for _, m := range []sim.Model{
		sim.EFA(), sim.EFADirect(), sim.Verbs(), sim.TCP(), sim.Unread(sim.EFA(), 1), sim.Unread(sim.EFADirect(), 1), sim.Unread(sim.TCP(), 1),
	} {
		t.Run(m.String(), func(t *testing.T) {
			mem := new(memories)
			w := newWorld(t, slow(m), 1, 2, 2*large, mem)
			p, to := w.pes[0], w.pes[1].heap
			if !own(t, p) {
				t.Fatal("two contexts have one number")
			}
			a, b := p.on(w, 1), p.on(w, 2)
			source := make([]byte, large)
			for i := range source {
				source[i] = 1
			}
			if st := a.PutSignal(1, large, simAt(source), large, signal, 7, fabric.OpSet, nil); st != Pending {
				t.Fatalf("put with signal: %v", st)
			}
			first := a.QuietBegin()
			putByte(w, b, small, 5)
			w.quiet(b)
			if to[small] != 5 {
				t.Error("after its quiet the small put is not there")
			}
			if !m.Caps.SendAfterWrite && (to[signal] != 0 || a.QuietDone(first) != Pending) {
				t.Error("the quiet of one context waited for the other")
			}
			w.until("quiet of the large one", func() bool { return a.QuietDone(first) != Pending })
			if to[signal] != 7 || to[2*large-1] != 1 {
				t.Error("after its quiet the large put is not there")
			}
			w.close(mem)
		})
	}
}

// putByte puts one byte at PE 1.
func putByte(w *world, p *proc, offset libshmem.Offset, value byte) {
	source := []byte{value}
	w.until("room", func() bool {
		return p.Put(1, offset, unsafe.Pointer(&source[0]), 1, nil) == Done
	})
}

// A PE that does not answer holds up the context that has operations on it, and no other. So does a
// fence: a write of one context behind it waits for that context's messages.
func TestSimContextOfASilentPE(t *testing.T) {
	for _, m := range []sim.Model{
		sim.EFA(), sim.EFADirect(), sim.Verbs(), sim.TCP(), sim.Unread(sim.EFA(), 1), sim.Unread(sim.EFADirect(), 1), sim.Unread(sim.TCP(), 1),
	} {
		t.Run(m.String(), func(t *testing.T) {
			mem := new(memories)
			m.Faults = faults.Faults{}
			w := newWorld(t, m, 1, 3, 1<<20, mem)
			p := w.pes[0]
			a, b := p.on(w, 1), p.on(w, 2)
			value := []byte{3}
			put := func(q *proc, pe libshmem.PE) {
				if st := q.Put(pe, 64, simAt(value), 1, nil); st != Done {
					t.Fatalf("put to PE %d: %v", pe, st)
				}
			}
			put(a, 2)
			put(b, 1)
			a.Fence()
			large := make([]byte, layout.MaxPayload+1)
			if st := a.Put(2, 128, simAt(large), uint64(len(large)), nil); st != Pending {
				t.Fatalf("write behind a fence: %v", st)
			}
			first, second := a.QuietBegin(), b.QuietBegin()
			polls := func(others ...*proc) func() {
				return func() {
					for _, q := range others {
						w.poll(q)
					}
				}
			}(p, w.pes[1])
			// A look at the state, as C does it: a call would look once more by itself.
			for range 100_000 {
				if polls(); b.Quieted >= uint64(second) {
					break
				}
			}
			if b.Quieted < uint64(second) || b.QuietDone(second) != Done {
				t.Error("the quiet of one context waits for a PE that only another has to do with")
			}
			for range 1000 {
				polls()
			}
			if a.QuietDone(first) != Pending {
				t.Error("a quiet is over although a PE has not answered")
			}
			w.until("quiet of the other", func() bool { return a.QuietDone(first) == Done })
			if w.pes[2].heap[64] != 3 {
				t.Error("after its quiet a put is not there")
			}
			w.close(mem)
		})
	}
}

// A lost PE ends the operations on it in each context, and fails the quiets of those contexts only.
// Later operations on it fail in all contexts.
func TestSimContextOfALostPE(t *testing.T) {
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.TCP(), sim.Unread(sim.TCP(), 1)} {
		t.Run(m.String(), func(t *testing.T) {
			m.Faults = faults.Faults{}
			w := newWorld(t, m, 1, 3, 1<<20, new(memories))
			p := w.pes[0]
			a, b := p.on(w, 1), p.on(w, 2)
			large := make([]byte, 2*layout.MaxPayload)
			var r Request
			for _, st := range []Status{
				a.Put(2, 64, simAt(large), 8, nil), a.Put(2, 128, simAt(large), uint64(len(large)), nil),
				a.Put(2, 128, simAt(large), uint64(len(large)), &r), b.Put(1, 64, simAt(large), 8, nil),
			} {
				if st != Done && st != Pending {
					t.Fatalf("put: %v", st)
				}
			}
			first, second := a.QuietBegin(), b.QuietBegin()
			w.pes[2].dead = true
			p.Lose(2, "is gone")
			if r.Done == 0 || r.Status == 0 {
				t.Error("a put on the lost PE goes on, or has succeeded")
			}
			if st := a.QuietDone(first); st != Failed {
				t.Errorf("quiet of the context with operations on the lost PE: %v", st)
			}
			w.until("quiet of the other", func() bool { return b.QuietDone(second) != Pending })
			if st := b.QuietDone(second); st != Done {
				t.Errorf("quiet of the context without: %v, %v", st, b.Err())
			}
			for _, q := range []*proc{p, a, b} {
				if st := q.Put(2, 64, simAt(large), 8, nil); st != Failed {
					t.Errorf("put on the lost PE: %v", st)
				}
			}
			for _, q := range w.pes {
				if err := q.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
