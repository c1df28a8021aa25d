package hostmem

import (
	"fmt"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// blocks returns the size of a segment's file on disk, in bytes.
func blocks(t *testing.T, s *Segment) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		t.Fatal(err)
	}
	return uint64(st.Blocks) * 512
}

// TestSparse: statics that the program may or may not touch are not counted as promised, and
// touched ones are not taken for heap.
func TestSparse(t *testing.T) {
	p := NewPlan(64<<20, 4*mib, 2)
	p.Sparse = 60 << 20
	s := newSegment(t, p)
	// Both heaps, and 4 MiB of each internal area that are not sparse: 16 MiB.
	offer := func(mebibytes uint64) machine {
		return fake(t, map[string]string{"/proc/meminfo": fmt.Sprintf("MemAvailable: %d kB\n", mebibytes<<10)})
	}
	for rank := range p.PEs {
		sparse := unsafe.Slice((*byte)(unsafe.Add(s.Heap(rank), -int(p.Internal))), p.Sparse)
		for i := 10 * mib; i < 14*mib; i += Page {
			sparse[i] = 1
		}
		sparse[p.Sparse-1] = 1
		unsafe.Slice((*byte)(s.Heap(rank)), p.Heap)[0] = 1
	}
	if got, want := s.sparseTaken(), uint64(2*(4*mib+Page)); got != want || blocks(t, s) != want+2*Page {
		t.Errorf("%d bytes of the sparse parts are taken, should be %d; of the file %d", got, want, blocks(t, s))
	}
	s.machine = offer(15)
	if err := s.Commit(p.Heap); err == nil {
		t.Error("16 MiB are promised of 15")
	}
	s.machine = offer(18)
	if err := s.Commit(p.Heap); err != nil {
		t.Errorf("16 MiB of 18: %v", err)
	}
}

// TestEmpty: a heap gives its memory back, and the memory below it stays.
func TestEmpty(t *testing.T) {
	p := NewPlan(64<<10, 4*mib, 2)
	s := newSegment(t, p)
	for rank := range p.PEs {
		heap := unsafe.Slice((*byte)(s.Heap(rank)), p.Heap)
		for i := 0; i < len(heap); i += Page {
			heap[i] = byte(rank + 1)
		}
		*(*byte)(unsafe.Add(s.Heap(rank), -1)) = 9
	}
	before := blocks(t, s)
	if err := s.Empty(1); err != nil {
		t.Fatal(err)
	}
	if got := before - blocks(t, s); got != p.Heap {
		t.Errorf("%d bytes were given back, should be %d", got, p.Heap)
	}
	if *(*byte)(s.Heap(0)) != 1 || *(*byte)(s.Heap(1)) != 0 || *(*byte)(unsafe.Add(s.Heap(1), -1)) != 9 {
		t.Error("what is there is not what should be")
	}
	if fd, at := s.Place(1); fd != s.fd || at != p.PartSize()+p.HeapOffset() {
		t.Errorf("place %d, %d", fd, at)
	}
}
