package gpustage

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"libshmem"
)

// Each piece is given out once, and lies in the block at its place.
func TestPoolTake(t *testing.T) {
	block := make([]byte, 4*16)
	p := newPool(unsafe.Pointer(&block[0]), 16, 4)
	seen := map[uint16]bool{}
	for range 4 {
		i, ok := p.Allocate()
		if !ok || seen[i] || p.At(i) != unsafe.Pointer(&block[16*int(i)]) {
			t.Fatalf("piece %d at %p, ok %v, after %v", i, p.At(i), ok, seen)
		}
		seen[i] = true
	}
	if i, ok := p.Allocate(); ok || p.AllFree() {
		t.Errorf("piece %d, ok %v, from a pool without a free one", i, ok)
	}
	for i := range seen {
		p.Release(i)
	}
	if !p.AllFree() || p.Len() != 4 || p.Size() != 16 {
		t.Errorf("%d pieces of %d bytes, free %v", p.Len(), p.Size(), p.AllFree())
	}
}

// A PE may always have a first piece, and then only as long as it leaves as many to the others.
func TestPoolLeavesHalf(t *testing.T) {
	block := make([]byte, 8)
	p := newPool(unsafe.Pointer(&block[0]), 1, 8)
	p.Connect(3)
	takes := func(pe uint32) (pieces []uint16) {
		for {
			i, ok := p.AllocateFor(libshmem.PE(pe))
			if !ok {
				return pieces
			}
			pieces = append(pieces, i)
		}
	}
	a, b, c := takes(0), takes(1), takes(2)
	if len(a) != 4 || len(b) != 2 || len(c) != 1 || p.MayAllocateFor(0) {
		t.Fatalf("%d, %d and %d pieces of 8", len(a), len(b), len(c))
	}
	for pe, pieces := range [][]uint16{a, b, c} {
		for _, i := range pieces {
			if p.AllFree() {
				t.Fatal("free while PEs hold pieces")
			}
			p.ReleaseFor(libshmem.PE(pe), i)
		}
	}
	if !p.AllFree() {
		t.Error("not free after all pieces came back")
	}
}

// Pieces are halved for smaller needs, and the halves join when both are free.
func TestPoolParts(t *testing.T) {
	block := make([]byte, 4<<10)
	p := newDivisiblePool(unsafe.Pointer(&block[0]), 1<<10, 128, 4)
	p.Connect(2)
	if p.Size() != 1<<10 || p.Len() != 32 {
		t.Fatalf("pieces of %d bytes, %d units", p.Size(), p.Len())
	}
	take := func(pe libshmem.PE, n, want uint64) uint16 {
		t.Helper()
		i, got, ok := p.AllocateUpTo(pe, n)
		if !ok || got != want {
			t.Fatalf("%d bytes for a need of %d, ok %v", got, n, ok)
		}
		return i
	}
	a := take(0, 1, 1)
	b := take(0, 200, 200) // 256
	c := take(0, 1000, 1000)
	if p.At(a) != unsafe.Pointer(&block[0]) || p.At(b) != unsafe.Pointer(&block[256]) || p.At(c) != unsafe.Pointer(&block[1024]) {
		t.Errorf("pieces at %d, %d and %d", a, b, c)
	}
	if _, _, ok := p.AllocateUpTo(0, 1<<10); !ok { // 3.5 are free, and 1.4 in use
		t.Error("a PE that leaves half to the others gets no more")
	}
	if _, _, ok := p.AllocateUpTo(0, 1<<10); ok {
		t.Error("a PE takes more than half")
	}
	d := take(1, 1<<10, 1<<10)
	if _, got, ok := p.AllocateUpTo(1, 1<<10); ok {
		t.Errorf("%d bytes for a PE that would take more than it leaves", got)
	}
	p.ReleaseFor(1, d)
	e := take(1, 1<<10, 1<<10)
	p.Trim(1, e, 300)
	if p.capacity(e) != 512 || p.held[1] != 4 {
		t.Errorf("of a trimmed piece %d bytes and %d units are left", p.capacity(e), p.held[1])
	}
	for _, i := range []uint16{b, c, a, 16} {
		p.ReleaseFor(0, i)
	}
	p.ReleaseFor(1, e)
	if !p.AllFree() {
		t.Error("not free after all pieces came back")
	}
	// In any order.
	rng := rand.New(rand.NewPCG(1, 2))
	var pieces []uint16
	for range 2000 {
		if rng.IntN(2) == 0 {
			if i, _, ok := p.AllocateUpTo(0, 1+rng.Uint64N(1<<10)); ok {
				pieces = append(pieces, i)
			}
		} else if n := len(pieces); n > 0 {
			k := rng.IntN(n)
			p.ReleaseFor(0, pieces[k])
			pieces[k] = pieces[n-1]
			pieces = pieces[:n-1]
		}
	}
	for _, i := range pieces {
		p.ReleaseFor(0, i)
	}
	for range 4 {
		if _, ok := p.Allocate(); !ok {
			t.Error("the halves have not joined")
		}
	}
}

// A PE that has no piece gets what there is, and one that has some waits for one that is worth it.
func TestPoolSmallRests(t *testing.T) {
	block := make([]byte, 256<<10)
	p := newDivisiblePool(unsafe.Pointer(&block[0]), 256<<10, 4<<10, 1)
	p.Connect(2)
	small, _, _ := p.AllocateUpTo(0, 8<<10)
	if _, got, ok := p.AllocateUpTo(1, 200<<10); !ok || got != 128<<10 {
		t.Errorf("%d bytes, ok %v", got, ok)
	}
	if _, _, ok := p.AllocateUpTo(0, 40<<10); !ok {
		t.Error("no 40 KiB")
	}
	if _, got, ok := p.AllocateUpTo(0, 40<<10); ok {
		t.Errorf("%d bytes for a PE that may wait for 40 KiB", got)
	}
	p.ReleaseFor(0, small)
}

// The zero pool, of a PE without a GPU, has no piece.
func TestPoolWithout(t *testing.T) {
	var p pool
	p.Connect(1)
	if _, ok := p.AllocateFor(0); ok || !p.AllFree() {
		t.Errorf("a piece: %v, free %v", ok, p.AllFree())
	}
}
