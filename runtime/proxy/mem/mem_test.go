package mem

import (
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
)

// TestSegment checks bytes at and around the ends of both parts of a segment.
func TestSegment(t *testing.T) {
	all, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(all); err != nil {
			t.Error(err)
		}
	})
	base := unsafe.Pointer(&all[0])
	together := Segment{Base: base, Internal: 1024, Size: 4096}
	apart := Segment{Base: base, Internal: 1024, Size: 4096, Heap: unsafe.Pointer(&all[1024])}
	for _, c := range []struct {
		offset libshmem.Offset
		n      uint64
		inside bool
	}{
		{0, 3072, true}, {0, 3073, false}, {-1024, 1024, true}, {-1025, 1, false}, {3071, 1, true},
		{3072, 0, true}, {3073, 0, false}, {-8, 8, true}, {1 << 62, 1, false}, {-1 << 63, 1, false}, {0, 1<<64 - 1, false},
	} {
		for _, s := range []*Segment{&together, &apart} {
			at, ok := s.At(c.offset, c.n)
			if ok != c.inside {
				t.Errorf("%d bytes at %d are inside: %v", c.n, c.offset, ok)
			}
			if ok && uintptr(at) != uintptr(base)+1024+uintptr(c.offset) {
				t.Errorf("%d bytes at %d are at %p", c.n, c.offset, at)
			}
		}
	}
	if _, ok := apart.At(-8, 16); ok {
		t.Error("an object lies in the internal area and in a heap of GPU memory")
	}
	if together.Registered() != 4096 || apart.Registered() != 1024 {
		t.Error("the fabric reaches another part of the segment")
	}
	heap := unsafe.Pointer(&all[1024])
	if !apart.OnGPU(heap, 3072) || apart.OnGPU(heap, 3073) || apart.OnGPU(base, 8) || together.OnGPU(heap, 8) {
		t.Error("GPU memory is elsewhere")
	}
	if !apart.Contains(base, 1024) || apart.Contains(heap, 8) || !together.Contains(heap, 3072) {
		t.Error("memory that the fabric reaches is elsewhere")
	}
}

// TestApply checks that every operation returns the old value and leaves the new one, in elements
// whose neighbours stay as they are.
func TestApply(t *testing.T) {
	for _, width := range []uint8{4, 8} {
		for op, after := range map[fabric.Op]uint64{
			fabric.OpSet: 5, fabric.OpSwap: 5, fabric.OpAdd: 17, fabric.OpFetchAdd: 17, fabric.OpAnd: 4, fabric.OpFetchAnd: 4,
			fabric.OpOr: 13, fabric.OpFetchOr: 13, fabric.OpXor: 9, fabric.OpFetchXor: 9, fabric.OpFetch: 12, fabric.OpCompareSwap: 5,
		} {
			words := [3]uint64{1, 12, 2}
			at := unsafe.Pointer(&words[1])
			if old := Apply(op, at, width, 5, 12); old != 12 {
				t.Errorf("operation %d on %d bytes returns %d", op, width, old)
			}
			if words != [3]uint64{1, after, 2} {
				t.Errorf("operation %d on %d bytes leaves %d", op, width, words)
			}
		}
		word := uint64(12)
		if old := Apply(fabric.OpCompareSwap, unsafe.Pointer(&word), width, 5, 11); old != 12 || word != 12 {
			t.Errorf("a comparison that fails returns %d and leaves %d", old, word)
		}
	}
}

// TestApplyTogether has threads change one element by different operations: none is lost.
func TestApplyTogether(t *testing.T) {
	const rounds = 10000
	var word uint64
	var all sync.WaitGroup
	for bit := range 2 {
		all.Go(func() {
			for range rounds { // each flips its own bit an even number of times, and adds above both
				Apply(fabric.OpXor, unsafe.Pointer(&word), 8, 1<<bit, 0)
				Apply(fabric.OpAdd, unsafe.Pointer(&word), 8, 4, 0)
			}
		})
	}
	if all.Wait(); word != 2*rounds*4 {
		t.Errorf("the element is %d", word)
	}
}

// TestStore stores elements of every width, aligned and not, and leaves their neighbours alone.
func TestStore(t *testing.T) {
	for _, width := range []uint8{1, 2, 4, 8} {
		for at := range 8 {
			var b [24]byte
			p := unsafe.Pointer(&b[8+at])
			Store(p, width, 0xffffffffffffffff)
			for i, got := range b {
				if want := i >= 8+at && i < 8+at+int(width); (got == 0xff) != want {
					t.Errorf("%d bytes at %d: byte %d is %#x", width, at, i, got)
				}
			}
			if got := Load(p, int(width)); got != 1<<(8*width)-1 && width < 8 || got == 0 {
				t.Errorf("%d bytes at %d: loaded %#x", width, at, got)
			}
		}
	}
}
