package mem

import (
	"testing"
	"unsafe"

	"libshmem"
)

// TestRegions finds bytes of regions, at and around their ends, and nothing else.
func TestRegions(t *testing.T) {
	var memory [3][64]byte
	r := &Regions{}
	for i := range memory {
		if n, ok := r.Add(unsafe.Pointer(&memory[i]), 64, i == 2); !ok || n != uint32(i) {
			t.Fatalf("region %d has number %d", i, n)
		}
	}
	r.Remove(1)
	if n, _ := r.Add(unsafe.Pointer(&memory[1]), 32, false); n != 1 {
		t.Fatalf("the free number 1 is not used: %d", n)
	}
	r.Remove(0)
	s := Segment{Base: unsafe.Pointer(&memory[0]), Internal: 64, Size: 64, Regions: r}
	for _, c := range []struct {
		offset libshmem.Offset
		n      uint64
		at     unsafe.Pointer
	}{
		{InRegion(1, 0), 32, unsafe.Pointer(&memory[1])},
		{InRegion(1, 8), 24, unsafe.Pointer(&memory[1][8])},
		{InRegion(1, 32), 0, unsafe.Add(unsafe.Pointer(&memory[1]), 32)},
		{InRegion(2, 63), 1, unsafe.Pointer(&memory[2][63])},
		{-8, 8, unsafe.Pointer(&memory[0][56])},
		{InRegion(1, 0), 33, nil},
		{InRegion(1, 33), 0, nil},
		{InRegion(1, 8), 1<<64 - 1, nil},
		{InRegion(0, 0), 1, nil},
		{InRegion(3, 0), 1, nil},
		{InRegion(MaxRegions-1, MaxRegion-1), 1, nil},
		{0, 1, nil},
		{FirstRegion - 1, 1, nil},
	} {
		at, ok := s.At(c.offset, c.n)
		if ok != (c.at != nil) || at != c.at {
			t.Errorf("%d bytes at %#x are at %p, %v, want %p", c.n, uint64(c.offset), at, ok, c.at)
		}
	}
	for offset, gpu := range map[libshmem.Offset]bool{InRegion(1, 0): false, InRegion(2, 0): true, InRegion(3, 0): false, 0: false, -8: false} {
		if s.NamesGPU(offset) != gpu {
			t.Errorf("offset %#x names GPU memory: %v", uint64(offset), !gpu)
		}
	}
}

// TestRemoteRegions finds the remote address and the key of each region, and those of the segment.
func TestRemoteRegions(t *testing.T) {
	r := Remote{Base: 100, Key: 5, Regions: &RemoteRegions{}}
	r.Regions.Set(2, 1<<40, 7, true)
	r.Regions.Set(0, 0, 9, false)
	for _, c := range []struct {
		offset      libshmem.Offset
		remote, key uint64
	}{{InRegion(2, 3), 1<<40 + 3, 7}, {InRegion(0, MaxRegion-1), MaxRegion - 1, 9}, {-8, 92, 5}} {
		if remote, key := r.At(c.offset); remote != c.remote || key != c.key {
			t.Errorf("offset %#x is at %d with key %d, want %d and %d", uint64(c.offset), remote, key, c.remote, c.key)
		}
	}
	if !r.Regions.OnGPU(InRegion(2, 3)) || r.Regions.OnGPU(InRegion(0, 3)) {
		t.Error("another region is GPU memory")
	}
}
