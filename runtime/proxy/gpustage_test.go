package proxy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/tests/need"
)

// staleStage reports what a stage holds at rest.
func (p *pe) staleStage() {
	p.j.t.Helper()
	if err := p.stage.CheckIdle(); err != nil {
		p.j.t.Errorf("PE %d at rest: %v", p.me, err)
	}
}

// gpuModels are the kinds of GPUs.
var gpuModels = map[string]gpus{
	"atomics": {atomics: stream.AllAtomics, words: 3, delay: 4, chunk: gpustage.LeastChunk, chunks: 3},
	"alone":   {alone: true, delay: 4, chunk: 16 * gpustage.LeastChunk, chunks: 2},
	"mixed":   {words: 3, has: func(pe int) bool { return pe%2 == 0 }, alone: true, delay: 3, chunk: 8 * gpustage.LeastChunk, chunks: 2},
	"shared":  {atomics: stream.AllAtomics, words: 3, delay: 8, chunk: 32 * gpustage.LeastChunk, chunks: 3},
	"mapped":  {mapped: true, atomics: stream.AllAtomics, delay: 4, chunk: gpustage.LeastChunk, chunks: 2},
	"both":    {mapped: true, words: 3, alone: true, delay: 4, chunk: gpustage.LeastChunk, chunks: 2},
	"nic":     {nic: every, atomics: stream.AllAtomics, delay: 4, chunk: gpustage.LeastChunk, chunks: 3},
	"lazy":    {words: 3, nic: every, lazy: true, alone: true, delay: 4, chunk: gpustage.LeastChunk, chunks: 3},
	"some":    {nic: func(pe int) bool { return pe%2 == 1 }, lazy: true, alone: true, delay: 3, chunk: gpustage.LeastChunk, chunks: 2},
}

// The random programs of order_test.go, with heaps and buffers in GPU memory.
func TestPlayedStagedPrograms(t *testing.T) {
	for name, g := range gpuModels {
		for i := range 16 {
			m := combination(i)
			m.gpus = &g
			t.Run(fmt.Sprintf("%s/%s", name, m.name), func(t *testing.T) {
				seeds(3, func(seed uint64) {
					defer described(t, seed)
					n := 2 + int(seed)%3
					j := newJob(t, m, seed, n, shared+n*pairHeap)
					if seed%2 == 0 {
						j.drain() // of the messages that say which parts NICs reach
						nearWrap(j)
					}
					j.burst = 100 * int(seed%2) // so that puts wait together
					runPrograms(j, 60)
				})
			})
		}
	}
}

// The tests of operations, with heaps in GPU memory.
func TestPlayedStagedOperations(t *testing.T) {
	for name, g := range gpuModels {
		for i, m := range modes {
			if m.gpus = &g; i%2 == 1 {
				m = rough(m)
			}
			t.Run(name+"/"+m.name, func(t *testing.T) {
				putGet(t, m)
				atomics(t, m)
				counter(t, m)
				putSignal(t, m)
			})
		}
	}
}

// Engines of one PE that change words of its GPU memory in steps take turns.
func TestStagedEnginesShare(t *testing.T) {
	const engines, each, heap = 3, 300, 4096
	g := gpus{alone: true, delay: 3, shared: []*gpustage.AtomicsLock{new(gpustage.AtomicsLock), new(gpustage.AtomicsLock)}, chunk: gpustage.LeastChunk, chunks: 2}
	memories := make([][]byte, 2)
	own := g.open(t, 1, memories, heap)
	var jobs []*job
	var left []int
	for i := range engines {
		m := modes[i]
		m.gpus = &g
		jobs = append(jobs, newJobWith(t, m, uint64(i+1), memories, []*testGPU{own[0].twin(uint64(i)), own[1].twin(uint64(i))}))
		left = append(left, 4*each)
	}
	for todo := engines; todo > 0; {
		i := jobs[0].rng.IntN(engines)
		j, k := jobs[i], left[i]/4
		if left[i] > 0 {
			st := Again
			switch a := j.pes[0]; left[i] % 4 {
			case 0:
				st = a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil)
			case 1:
				st = a.AMO(1, 8, fabric.OpXor, 4, 1<<i, 0, nil, nil)
			case 2:
				st = a.AMO(1, 16, fabric.OpSet, 8, uint64(k), 0, nil, nil)
			case 3:
				st = a.PutSignal(1, 64, nil, 0, 24, 1, fabric.OpAdd, nil)
			}
			if st == Done {
				if left[i]--; left[i] == 0 {
					todo--
				}
			}
		}
		j.pes[j.rng.IntN(2)].poll()
	}
	j := jobs[0]
	for i, other := range jobs { // each needs what the others hold
		ticket := other.pes[0].QuietBegin()
		j.await("quiet", func() bool {
			o := jobs[j.rng.IntN(engines)]
			o.pes[j.rng.IntN(2)].poll()
			return jobs[i].pes[0].QuietDone(ticket) == Done
		})
	}
	for _, j := range jobs {
		j.close()
	}
	seen := memories[1][internal:]
	for _, at := range []int{0, 24} {
		if got := binary.NativeEndian.Uint64(seen[at:]); got != engines*each {
			t.Errorf("counter at %d is %d, want %d", at, got, engines*each)
		}
	}
	if got := binary.NativeEndian.Uint32(seen[8:]); got != 0 {
		t.Errorf("the word in which all bits change an even number of times is %#x", got)
	}
}

// In the steady state nothing is allocated.
func TestStagedNoAllocation(t *testing.T) {
	for name, g := range gpuModels {
		t.Run(name, func(t *testing.T) {
			g.delay, g.chunk, g.lazy = 0, 0, false
			m := modes[0]
			m.gpus = &g
			j := newJob(t, m, 1, 2, 1<<20)
			a, b := j.pes[0], j.pes[1]
			at, _ := a.card.local(make([]byte, 600<<10))
			r := new(Request)
			turn := func() { a.poll(); b.poll() }
			wait := func(f func() Status) {
				*r = Request{Done: 1}
				st := f()
				for ; st == Again; st = f() {
					turn()
				}
				for a.Quiet() != Done || r.Done == 0 {
					turn()
				}
			}
			for what, f := range map[string]func() Status{
				"element":    func() Status { return a.Put(1, 0, at, 8, nil) },
				"small put":  func() Status { return a.Put(1, 0, at, 1000, nil) },
				"large put":  func() Status { r.Done = 0; return a.Put(1, 0, at, 600<<10, r) },
				"get":        func() Status { r.Done = 0; return a.Get(1, 0, at, 600<<10, r) },
				"small get":  func() Status { r.Done = 0; return a.Get(1, 0, at, 100, r) },
				"atomic":     func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) },
				"fetch":      func() Status { r.Done = 0; return a.AMO(1, 0, fabric.OpFetchAdd, 8, 1, 0, nil, r) },
				"put_signal": func() Status { return a.PutSignal(1, 64, at, 10_000, 0, 1, fabric.OpSet, nil) },
			} {
				for range 50 {
					wait(f)
				}
				if n := testing.AllocsPerRun(100, func() { wait(f) }); n != 0 {
					t.Errorf("%s and quiet: %v allocations", what, n)
				}
			}
			j.close()
		})
	}
}

// The engines' threads move GPU memory while no caller polls, and sleep when it is done.
func TestStagedLoops(t *testing.T) {
	for name, g := range gpuModels {
		t.Run(name, func(t *testing.T) {
			g.has = nil
			m := modes[0]
			m.gpus = &g
			j := newJob(t, m, 1, 2, 1<<20)
			a, b := j.pes[0], j.pes[1]
			go a.Loop()
			go b.Loop()
			a.asleep(t)
			b.asleep(t)
			wakes := a.end.wakes.Load()
			a.locked(func() {
				word, _ := a.card.local(make([]byte, 8))
				if st := a.Put(1, 0, word, 8, nil); st == Failed || a.end.wakes.Load() == wakes {
					t.Errorf("put to a sleeping loop: %d, woken %d times", st, a.end.wakes.Load()-wakes)
				}
			})
			const n = 300_000
			data := fill(j.rng, n)
			at, _ := a.card.local(data)
			back, seen := a.card.local(make([]byte, n))
			var ticket Ticket
			do := func(f func() Status) {
				var st Status
				for st = Again; st == Again; {
					a.locked(func() { st = f() })
				}
				if st == Failed {
					t.Fatal(a.Err())
				}
				a.locked(func() { ticket = a.QuietBegin() })
				need.Eventually(t, "quiet", func() (done bool) {
					a.locked(func() { done = a.QuietDone(ticket) == Done })
					return
				})
			}
			do(func() Status { return a.PutSignal(1, 64, at, n, 0, 1, fabric.OpAdd, nil) })
			do(func() Status { return a.Get(1, 64, back, n, nil) })
			differ(t, "bytes that went there and back", seen, data)
			a.asleep(t)
			b.asleep(t)
			a.Stop()
			b.Stop()
			j.close()
		})
	}
}

// A PE that does not answer holds some of the chunks, and others go on with the
// rest.
func TestStagedStuckPeer(t *testing.T) {
	for name, g := range gpuModels {
		if g.mapped {
			continue // their bytes use no network
		}
		t.Run(name, func(t *testing.T) {
			g.has, g.chunks = nil, 8
			m := modes[0]
			m.gpus = &g
			stuck := true
			m.stuck = func(o *work) bool { return stuck && (o.to == 1 || o.from == 1) }
			const n = 100_000
			j := newJob(t, m, 1, 3, 1<<18)
			a, c := j.pes[0], j.pes[2]
			at, seen := a.card.local(fill(j.rng, n))
			back, got := a.card.local(make([]byte, n))
			var lost, put, fetched Request
			for i := range 4 {
				if st := a.Put(1, libshmem.Offset(i)*n/2, at, n/2, nil); st != Pending {
					t.Fatalf("put to the stuck PE: %d", st)
				}
			}
			if st := a.Get(1, 0, back, n, &lost); st != Pending {
				t.Fatalf("get from the stuck PE: %d", st)
			}
			a.post(func() Status { return a.PutSignal(2, 64, at, n, 0, 1, fabric.OpSet, &put) })
			j.await("put to another PE", func() bool { return put.Done != 0 && binary.NativeEndian.Uint64(c.heap) == 1 })
			differ(t, "bytes", c.heap[64:64+n], seen)
			a.post(func() Status { return a.Get(2, 64, back, n, &fetched) })
			j.await("get from another PE", func() bool { return fetched.Done != 0 })
			differ(t, "bytes that were got", got, seen)
			if lost.Done != 0 {
				t.Error("a get from the stuck PE is done")
			}
			stuck = false
			j.await("get from the PE that was stuck", func() bool { return lost.Done != 0 })
			j.close()
		})
	}
}

// PEs that do not answer leave slots for gets from another PE. Without that three of them take all.
func TestStagedStuckGets(t *testing.T) {
	const stuckPEs, n = 3, 64
	m := modes[0]
	m.gpus = &gpus{chunk: gpustage.LeastChunk, chunks: 3}
	stuck := true
	m.stuck = func(o *work) bool { return stuck && o.to <= stuckPEs && o.from <= stuckPEs }
	j := newJob(t, m, 1, stuckPEs+2, 4096)
	a := j.pes[0]
	back, got := a.card.local(make([]byte, n))
	for pe := libshmem.PE(1); pe <= stuckPEs; pe++ {
		for a.Get(pe, 0, back, n, nil) == Pending {
		}
	}
	fill := fill(j.rng, n)
	copy(j.pes[stuckPEs+1].heap, fill)
	var fetched Request
	a.post(func() Status { return a.Get(stuckPEs+1, 0, back, n, &fetched) })
	j.await("get from another PE", func() bool { return fetched.Done != 0 })
	differ(t, "bytes that were got", got, fill)
	stuck = false
	j.close()
}

// On a PE whose user heap is GPU memory, main memory changes after GPU memory if a fence orders it
// so.
func TestStagedTwoMemories(t *testing.T) {
	for i := range 16 {
		m := combination(i)
		m.gpus = &gpus{alone: true, delay: 8, chunk: gpustage.LeastChunk, chunks: 3}
		t.Run(m.name, func(t *testing.T) {
			j := newJob(t, m, uint64(i+1), 2, 1<<16)
			a, b := j.pes[0], j.pes[1]
			words := b.memory[:internal]
			var data []byte
			look := func() {
				if words[0] != 0 || words[internal-1] != 0 {
					differ(t, "GPU memory when main memory has what comes behind it", b.heap[:len(data)], data)
				}
			}
			b.applied, b.card.done = look, func(*testGPU, unsafe.Pointer) { look() }
			j.net.landed = func(libshmem.PE) { look() }
			for round := range 30 {
				data = fill(j.rng, 100+j.rng.IntN(9000))
				size := min(uint64(len(data)), a.PutMax())
				data = data[:size]
				clear(b.memory)
				at, _ := a.local(data)
				a.post(func() Status { return a.Put(1, 0, at, size, nil) })
				a.fence()
				last := fill(j.rng, internal)
				from, _ := a.card.local(last)
				n := uint64(8)
				if round%2 == 0 {
					n = internal
				}
				a.post(func() Status { return a.Put(1, -libshmem.Offset(n), from, n, nil) })
				a.quiet()
				differ(t, "main memory", words[internal-int(n):], last[:n])
			}
			j.close()
		})
	}
}

// While kernels fill the GPU, an atomic operation waits for a place there, and so do later
// operations of its PE. Signals of other PEs come: a kernel may wait for one of them.
func TestStagedFull(t *testing.T) {
	for _, m := range modes {
		m.gpus = &gpus{atomics: stream.AllAtomics &^ stream.PlainAtomics, delay: 3, chunk: gpustage.LeastChunk, chunks: 3}
		t.Run(m.name, func(t *testing.T) {
			j := newJob(t, m, 1, 3, 1<<16)
			a, b, c := j.pes[0], j.pes[1], j.pes[2]
			word := func(at int) uint64 { return binary.NativeEndian.Uint64(a.heap[at:]) }
			a.card.full = true
			for range 10 {
				b.post(func() Status { return b.AMO(0, 0, fabric.OpAdd, 8, 1, 0, nil, nil) })
			}
			b.fence()
			value := uint64(7)
			b.post(func() Status { return b.Put(0, 8, unsafe.Pointer(&value), 8, nil) })
			at, data := c.card.local(fill(j.rng, 10_000))
			size := min(uint64(len(data)), c.PutMax())
			c.post(func() Status { return c.PutSignal(0, 64, at, size, 16, 1, fabric.OpSet, nil) })
			j.await("signal", func() bool { return word(16) == 1 })
			differ(t, "bytes before the signal", a.heap[64:64+size], data[:size])
			if word(0) != 0 || word(8) != 0 {
				t.Errorf("counter is %d and the word behind it %d while the GPU is full", word(0), word(8))
			}
			a.card.full = false
			b.quiet()
			if word(0) != 10 || word(8) != 7 {
				t.Errorf("counter is %d, want 10, and the word behind it %d, want 7", word(0), word(8))
			}
			j.close()
		})
	}
}

// The result of a fetching operation is visible to a get, which uses another stream.
func TestStagedFetchThenGet(t *testing.T) {
	m := modes[0]
	m.gpus = &gpus{alone: true, delay: 8, chunk: gpustage.LeastChunk, chunks: 3}
	j := newJob(t, m, 1, 2, 4096)
	a := j.pes[0]
	var got uint64
	for i := range uint64(200) {
		if old := a.do(func(r *Request) Status { return a.AMO(1, 0, fabric.OpFetchAdd, 8, 1, 0, nil, r) }); old != i {
			t.Fatalf("fetched %d, want %d", old, i)
		}
		if a.do(func(r *Request) Status { return a.Get(1, 0, unsafe.Pointer(&got), 8, r) }); got != i+1 {
			t.Fatalf("got %d, want %d", got, i+1)
		}
	}
	j.close()
}

// A fence behind bytes that are still in GPU memory makes no caller wait. Operations on the same PE
// are queued, and operations on another PE go on.
func TestStagedFence(t *testing.T) {
	m := modes[0]
	m.gpus = &gpus{atomics: stream.AllAtomics, words: 3, delay: 50, chunk: gpustage.LeastChunk, chunks: 3}
	j := newJob(t, m, 1, 3, 1<<16)
	a, b, c := j.pes[0], j.pes[1], j.pes[2]
	first, _ := a.card.local(fill(j.rng, 8192))
	second, last := a.card.local(fill(j.rng, 8192))
	post := func(what string, st Status) {
		t.Helper()
		if st == Again || st == Failed {
			t.Errorf("%s: %d", what, st)
		}
	}
	post("put", a.Put(1, 0, first, 8192, nil))
	a.fence()
	post("put behind a fence", a.Put(1, 0, second, 8192, nil))
	a.fence()
	post("store behind two", a.Store(1, 16384, 8, 5))
	post("small put", a.Put(1, 16392, second, 100, nil))
	a.fence()
	post("atomic", a.AMO(1, 16384, fabric.OpAdd, 8, 1, 0, nil, nil))
	post("put with signal", a.PutSignal(1, 32768, second, 8192, 16384, 1, fabric.OpAdd, nil))
	post("fetch", a.AMO(1, 16384, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(new(uint64)), nil))
	if q := a.ops.Peers[1].Queued; q != 6 {
		t.Errorf("%d operations wait, want 6", q)
	}
	post("store to another PE", a.Store(2, 0, 8, 7))
	for range 200 { // c alone: waiting operations go on waiting
		c.poll()
	}
	if binary.NativeEndian.Uint64(c.heap) != 7 || a.ops.Peers[1].Queued != 6 {
		t.Errorf("another PE has %d, and %d operations wait", binary.NativeEndian.Uint64(c.heap), a.ops.Peers[1].Queued)
	}
	a.quiet()
	if got := binary.NativeEndian.Uint64(b.heap[16384:]); got != 8 {
		t.Errorf("the word is %d in the end, want 8", got)
	}
	differ(t, "the later bytes", b.heap[:8192], last)
	differ(t, "those with the signal", b.heap[32768:40960], last)
	j.close()
}

// Bytes of GPU memory do not overtake a write from before a fence, on a fabric that would let them.
func TestStagedBehindWrites(t *testing.T) {
	held := true
	m := modes[3] // unordered
	m.gpus = &gpus{has: func(pe int) bool { return pe == 0 }}
	m.stuck = func(o *work) bool { return held && o.kind == fabric.KindWrite }
	j := newJob(t, m, 1, 2, 1<<16)
	a, b := j.pes[0], j.pes[1]
	buf := fill(j.rng, 8192)
	if st := a.Put(1, 0, unsafe.Pointer(&buf[0]), 8192, nil); st != Pending {
		t.Fatalf("put of main memory: %d", st)
	}
	at, last := a.card.local(fill(j.rng, 8192))
	a.fence()
	for _, n := range []uint64{8, 1000, 8192} {
		if st := a.Put(1, 0, at, n, nil); st != Pending {
			t.Fatalf("put of %d bytes of GPU memory behind a write: %d", n, st)
		}
	}
	for range 100 {
		a.poll()
		b.poll()
	}
	if a.ops.Peers[1].Queued != 3 || !bytes.Equal(b.heap[:8192], make([]byte, 8192)) {
		t.Fatalf("%d puts wait behind a write that is under way", a.ops.Peers[1].Queued)
	}
	held = false
	a.quiet()
	differ(t, "bytes", b.heap[:8192], last)
	j.close()
}
