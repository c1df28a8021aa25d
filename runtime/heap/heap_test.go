package heap

import (
	"errors"
	"math/rand/v2"
	"testing"

	"libshmem"
	"libshmem/runtime/shmerr"
)

func newHeap(t testing.TB, size, align uint64) *Heap {
	t.Helper()
	h, err := New(size, align)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func alloc(t testing.TB, h *Heap, size, align uint64) libshmem.Offset {
	t.Helper()
	off, err := h.Alloc(size, align)
	if err != nil {
		t.Fatal(err)
	}
	return off
}

func TestErrorsSayWhatIsThere(t *testing.T) {
	h := newHeap(t, 1024, 4096)
	a := alloc(t, h, 100, 0)
	b := alloc(t, h, 64, 0)
	if err := h.Free(b); err != nil {
		t.Fatal(err)
	}
	_, full := h.Alloc(1000, 0)
	_, zero := h.Alloc(0, 0)
	_, odd := h.Alloc(8, 24)
	_, far := h.Alloc(8, 8192)
	_, shrunk := h.Realloc(a, 0)
	_, unknown := h.Realloc(b, 5)
	_, large := New(MaxSize+1, 4096)
	_, askew := New(4096, 32)
	const remedy = " (pass an address that an allocation returned, once)"
	for _, tt := range []struct {
		err  error
		kind error
		want string
	}{
		{h.Free(b), shmerr.ErrAddress, "free the block at offset 0x80: no block is allocated there: it was freed before, or never allocated" + remedy},
		{h.Free(a + 8), shmerr.ErrAddress, "free the block at offset 0x8: it is 8 bytes inside the block of 100 bytes at offset 0x0" + remedy},
		{h.Free(1024), shmerr.ErrAddress, "free the block at offset 0x400: the symmetric heap has 1024 bytes" + remedy},
		{unknown, shmerr.ErrAddress, "reallocate the block at offset 0x80: no block is allocated there: it was freed before, or never allocated" + remedy},
		{full, shmerr.ErrNoMemory, "allocate 1000 bytes: 896 of 1024 bytes of the symmetric heap are free, the largest free block has 896 (raise SHMEM_SYMMETRIC_SIZE)"},
		{zero, shmerr.ErrArgument, "allocate 0 bytes: no bytes are asked for"},
		{odd, shmerr.ErrArgument, "allocate 8 bytes aligned to 24: the alignment is not a power of two"},
		{far, shmerr.ErrNoMemory, "allocate 8 bytes aligned to 8192: the symmetric heap itself is aligned to 4096 bytes only (raise SHMEM_SYMMETRIC_SIZE to 8 times the alignment)"},
		{shrunk, shmerr.ErrArgument, "reallocate the block at offset 0x0: no bytes are asked for"},
		{large, shmerr.ErrSetting, "create symmetric heap of 17592186044417 bytes: the size is not between 1 and 17592186044416 bytes (change SHMEM_SYMMETRIC_SIZE)"},
		{askew, shmerr.ErrInternal, "create symmetric heap: its alignment 32 is not a power of two from 64 on"},
		{Hints(6).Check(), shmerr.ErrArgument, "allocate with hints 0x6: the bits 0x4 are not hints (use 0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE or both)"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want || !errors.Is(tt.err, tt.kind) {
			t.Errorf("got  %v\nwant %s", tt.err, tt.want)
		}
	}
	if err := (HintAtomicsRemote | HintSignalRemote).Check(); err != nil {
		t.Error(err)
	}
	if err := h.check(); err != nil {
		t.Errorf("after the errors: %v", err)
	}
}

func TestFreedMemoryIsUsedAgain(t *testing.T) {
	h := newHeap(t, 1<<20, 4096)
	var blocks []libshmem.Offset
	for {
		off, err := h.Alloc(1000, 0)
		if err != nil {
			break
		}
		blocks = append(blocks, off)
	}
	if len(blocks) != 1<<20/1024 {
		t.Fatalf("%d blocks of 1024 bytes fit into 1 MiB", len(blocks))
	}
	for i := 0; i < len(blocks); i += 2 {
		if err := h.Free(blocks[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Alloc(1025, 0); !errors.Is(err, shmerr.ErrNoMemory) {
		t.Errorf("1025 bytes in holes of 1024: %v", err)
	}
	for i := 0; i < len(blocks); i += 2 {
		if off := alloc(t, h, 1024, 0); off != blocks[i] {
			t.Fatalf("the hole at %#x is taken after %#x", off, blocks[i])
		}
	}
	for i := range blocks {
		if err := h.Free(blocks[i]); err != nil {
			t.Fatal(err)
		}
	}
	if off := alloc(t, h, 1<<20, 0); off != 0 {
		t.Errorf("the whole heap is at %#x", off)
	}
}

func TestReallocStaysWhenItCan(t *testing.T) {
	h := newHeap(t, 4096, 4096)
	a := alloc(t, h, 100, 256)
	b := alloc(t, h, 100, 0)
	for _, step := range []struct {
		size  uint64
		moved bool
	}{{128, false}, {1, false}, {128, false}, {129, true}} {
		r, err := h.Realloc(a, step.size)
		if err != nil || r.Moved != step.moved {
			t.Fatalf("to %d bytes: %+v, %v", step.size, r, err)
		}
		if r.Moved {
			if r.Copy != 128 || r.Offset%256 != 0 {
				t.Errorf("the move loses bytes or the alignment: %+v", r)
			}
			if _, size, ok := h.Block(a + 127); !ok || size != 128 {
				t.Error("the old block must live until the bytes are copied")
			}
		}
	}
	if r, err := h.Realloc(b, 128); err != nil || r.Moved {
		t.Errorf("within the same granules: %+v, %v", r, err)
	}
	if _, err := h.Realloc(b, 1<<40); !errors.Is(err, shmerr.ErrNoMemory) {
		t.Errorf("to more than the heap: %v", err)
	}
	if err := h.check(); err != nil {
		t.Error(err)
	}
}

func TestBlockKnowsTheBytesAskedFor(t *testing.T) {
	h := newHeap(t, 4096, 4096)
	alloc(t, h, 64, 0)
	a := alloc(t, h, 70, 0)
	for _, tt := range []struct {
		off libshmem.Offset
		ok  bool
	}{{a, true}, {a + 69, true}, {a + 70, false}, {a + 200, false}, {1 << 40, false}} {
		start, size, ok := h.Block(tt.off)
		if ok != tt.ok || ok && (start != a || size != 70) {
			t.Errorf("Block(%#x) = %#x, %d, %t", tt.off, start, size, ok)
		}
	}
	if _, _, ok := newHeap(t, 64, 64).Block(0); ok {
		t.Error("an empty heap has a block")
	}
}

func TestEndFollowsTheLastBlock(t *testing.T) {
	h := newHeap(t, MaxSize, 4096)
	if h.End() != 0 {
		t.Fatal("an empty heap needs memory")
	}
	a := alloc(t, h, 1000, 0)
	b := alloc(t, h, MaxSize/2, 0)
	if h.End() != 1024+MaxSize/2 {
		t.Errorf("End = %#x", h.End())
	}
	for _, step := range []struct {
		off libshmem.Offset
		end uint64
	}{{b, 1024}, {a, 0}} {
		if err := h.Free(step.off); err != nil || h.End() != step.end {
			t.Errorf("after freeing %#x: End = %#x, %v", step.off, h.End(), err)
		}
	}
	if s := h.Stats(); s.Peak != 1024+MaxSize/2 {
		t.Errorf("Peak = %#x", s.Peak)
	}
	if off := alloc(t, h, MaxSize, 0); off != 0 || h.End() != MaxSize {
		t.Errorf("the whole heap: at %#x, End %#x", off, h.End())
	}
}

// A failed collective allocation is undone on the PEs where it worked: the
// heap must then be as on the others.
func TestUndoLeavesNoTrace(t *testing.T) {
	for _, align := range []uint64{0, 1024} {
		a, b := newHeap(t, 1<<20, 4096), newHeap(t, 1<<20, 4096)
		for _, h := range []*Heap{a, b} {
			alloc(t, h, 64, 0)
		}
		if err := a.Free(alloc(t, a, 5000, align)); err != nil {
			t.Fatal(err)
		}
		if a.End() != b.End() || alloc(t, a, 3000, 0) != alloc(t, b, 3000, 0) {
			t.Error("a freed allocation changes where the next one lies")
		}
	}
}

func TestManyWellSizedBadlyAlignedBlocks(t *testing.T) {
	h := newHeap(t, 1<<20, 4096)
	var holes []libshmem.Offset
	for { // holes of 192 bytes that begin at 64 modulo 256
		alloc(t, h, 64, 0)
		off, err := h.Alloc(192, 0)
		if err != nil {
			break
		}
		holes = append(holes, off)
		if h.Stats().Free == 0 {
			break
		}
	}
	for _, off := range holes {
		if err := h.Free(off); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Alloc(64, 256); !errors.Is(err, shmerr.ErrNoMemory) {
		t.Errorf("no hole has an aligned byte: %v", err)
	}
	if off := alloc(t, h, 64, 128); off%128 != 0 {
		t.Errorf("at %#x", off)
	}
	if err := h.check(); err != nil {
		t.Error(err)
	}
}

// A heap full of holes that are large enough and badly aligned must not make
// an allocation slow: after some probes a hole is taken that surely fits, even
// though a tighter one lies behind.
func TestSearchForAnAlignedHoleIsBounded(t *testing.T) {
	h := newHeap(t, 1<<20, 4096)
	var holes []libshmem.Offset
	for range probes + 10 { // holes of 192 bytes that begin at 64 modulo 256
		alloc(t, h, 64, 0)
		holes = append(holes, alloc(t, h, 192, 0))
	}
	alloc(t, h, 256, 0)
	tight := alloc(t, h, 192, 0) // the first one at a multiple of 256
	end := alloc(t, h, 64, 0) + 64
	for _, off := range append(holes, tight) {
		if err := h.Free(off); err != nil {
			t.Fatal(err)
		}
	}
	if off := alloc(t, h, 192, 256); off < end {
		t.Errorf("after %d holes the search still went on to %#x", probes, off)
	}
}

func TestProduct(t *testing.T) {
	if p, ok := Product(1<<32, 1<<31); !ok || p != 1<<63 {
		t.Errorf("got %d, %t", p, ok)
	}
	if _, ok := Product(1<<32, 1<<32); ok {
		t.Error("2^64 bytes are no product")
	}
}

// The package comment states the cost of a block.
func TestBlockCost(t *testing.T) {
	if BlockCost != 48 {
		t.Errorf("a block costs %d bytes", BlockCost)
	}
}

func TestBookkeepingDependsOnBlocksNotOnBytes(t *testing.T) {
	if s := newHeap(t, MaxSize, 4096).Stats(); s.Bookkeeping > 2048 {
		t.Errorf("an empty heap of 16 TiB costs %d bytes", s.Bookkeeping)
	}
	h := newHeap(t, MaxSize, 4096)
	for range 100000 {
		if err := h.Free(alloc(t, h, 1<<30, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if s := h.Stats(); s.Bookkeeping > 2048 {
		t.Errorf("allocations that were freed still cost %d bytes", s.Bookkeeping)
	}
}

// BenchmarkAllocFree replaces a random block of n live ones.
func BenchmarkAllocFree(b *testing.B) {
	for _, n := range []int{10, 1000, 100000} {
		b.Run(map[int]string{10: "live=10", 1000: "live=1000", 100000: "live=100000"}[n], func(b *testing.B) {
			h := newHeap(b, MaxSize, 4096)
			rnd := rand.New(rand.NewPCG(1, 2))
			sizes := make([]uint64, 4096)
			for i := range sizes {
				sizes[i] = 1 + rnd.Uint64N(1<<(6+rnd.Uint64N(20)))
			}
			held := make([]libshmem.Offset, n)
			for i := range held {
				held[i] = alloc(b, h, sizes[i%len(sizes)], 0)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				k := int(uint32(i*2654435761) % uint32(n))
				if err := h.Free(held[k]); err != nil {
					b.Fatal(err)
				}
				held[k] = alloc(b, h, sizes[i%len(sizes)], 0)
			}
		})
	}
}
