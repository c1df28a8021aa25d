package proxy

import (
	"bytes"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
)

// gpuMemory is the memory of a GPU that NICs reach. A token moves none of it by streams.
type gpuMemory struct {
	stream.Memory // nil: a call of anything else is a failure
	memory        []byte
}

func (c *gpuMemory) Holds(p unsafe.Pointer, n uint64) bool {
	at := uint64(uintptr(p) - uintptr(unsafe.Pointer(&c.memory[0])))
	return at < uint64(len(c.memory)) && n <= uint64(len(c.memory))-at
}

func (c *gpuMemory) Pin(n uint64) (unsafe.Pointer, error) {
	return unsafe.Pointer(unsafe.SliceData(make([]byte, n))), nil
}
func (c *gpuMemory) Unpin(unsafe.Pointer) error { return nil }
func (c *gpuMemory) MaxStores() uint64          { return 0 }
func (c *gpuMemory) Atomics() uint64            { return stream.AllAtomics }
func (c *gpuMemory) Close() error               { return nil }

// useGPU gives a PE a GPU, whose memory has the heap in parts of so many bytes.
func (w *world) useGPU(p *proc, c *gpuMemory, part int) *gpustage.Stage {
	w.t.Helper()
	s, err := gpustage.New(p.Host(), c, gpustage.Config{Chunks: 2})
	if err != nil {
		w.t.Fatal(err)
	}
	p.Use(s)
	for at := 0; at < len(c.memory); at += part {
		m := fabric.GPUMemory{Base: unsafe.Pointer(&c.memory[at]), Len: uint64(min(part, len(c.memory)-at)), File: -1}
		if err := s.RegisterHeap(uint64(at), 0, m); err != nil {
			w.t.Fatal(err)
		}
	}
	return s
}

// gpuTokens sends tokens of kernels from one GPU to another, as a ring does: from a buffer behind
// the slots, in as many writes as the buffer and the slot have parts of their heaps. It returns how
// many were ready with old bytes, and how many writes there were.
func gpuTokens(t *testing.T, m sim.Model, l tiling, n, count int, seed uint64) (old int, writes uint64) {
	t.Helper()
	const page, part = 4096, 3 * 4096
	m.Caps.GPU = true
	mem := new(memories)
	w := newGPUWorld(t, m, seed, 8*part, part, mem)
	defer w.close(mem)
	w.sleeps = false
	a, b := w.pes[0], w.pes[1]
	want, got := make([]byte, n), make([]byte, n)
	for epoch := uint64(1); epoch <= uint64(count) && !w.ended; epoch++ {
		// Each begins at a page, and many lie in two parts, there or here.
		place, from := page*w.rng.IntN(8), 4*part+page*w.rng.IntN(8)
		slot, image := b.heap[place:place+l.bytes(n)], a.heap[from:from+l.bytes(n)]
		clear(slot)
		for i := range want {
			want[i] = byte(w.rng.Uint32())
		}
		l.wrap(image, want, epoch)
		for left := image; len(left) > 0; {
			offset := libshmem.Offset(place + len(image) - len(left))
			k := a.Part(1, offset, simAt(left), uint64(len(left)))
			r := new(Request)
			st := a.Put(1, offset, simAt(left), k, r)
			for ; st == Again; st = a.Put(1, offset, simAt(left), k, r) {
				w.poll(a)
			}
			if st == Failed {
				t.Fatal(a.Err())
			}
			left = left[k:]
			writes++
		}
		w.polling("a token", func() bool { return l.ready(slot, n, epoch) })
		if l.unwrap(got, slot); !bytes.Equal(got, want) {
			old++
		}
		w.quiet(a)
	}
	return old, writes
}

// TestSimEagerGPU: tiles that the network keeps are kept from the memory of one GPU to that of
// another, across the parts of their heaps, too; and others are not.
func TestSimEagerGPU(t *testing.T) {
	const n, count = 7168, 300
	line, block := tiling{128, 8}, tiling{4096, 16}
	for _, c := range []struct {
		model sim.Model
		tiles tiling
		kept  bool
	}{
		{inOrder(sim.EFADirect()), line, true},
		{inOrder(sim.EFA()), line, true},
		{sim.VerbsPaths(), block, true},
		{sim.EFADirect(), line, false},
		{inOrder(sim.EFADirect()), block, false},
	} {
		old, writes := gpuTokens(t, c.model, c.tiles, n, count, 1)
		if c.kept != (old == 0) || writes <= count {
			t.Errorf("%s, tiles of %d: %d of %d tokens with old bytes, %d writes", kind(c.model), c.tiles.tile, old, count, writes)
		}
	}
}
