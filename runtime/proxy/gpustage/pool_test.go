package gpustage

import (
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
		i, ok := p.Take()
		if !ok || seen[i] || p.At(i) != unsafe.Pointer(&block[16*int(i)]) {
			t.Fatalf("piece %d at %p, ok %v, after %v", i, p.At(i), ok, seen)
		}
		seen[i] = true
	}
	if i, ok := p.Take(); ok || p.Free() {
		t.Errorf("piece %d, ok %v, from a pool without a free one", i, ok)
	}
	for i := range seen {
		p.Give(i)
	}
	if !p.Free() || p.Len() != 4 || p.Size() != 16 {
		t.Errorf("%d pieces of %d bytes, free %v", p.Len(), p.Size(), p.Free())
	}
}

// A PE may always have a first piece, and then only as long as it leaves as many to the others.
func TestPoolLeavesHalf(t *testing.T) {
	block := make([]byte, 8)
	p := newPool(unsafe.Pointer(&block[0]), 1, 8)
	p.Connect(3)
	takes := func(pe uint32) (pieces []uint16) {
		for {
			i, ok := p.TakeFor(libshmem.PE(pe))
			if !ok {
				return pieces
			}
			pieces = append(pieces, i)
		}
	}
	a, b, c := takes(0), takes(1), takes(2)
	if len(a) != 4 || len(b) != 2 || len(c) != 1 || p.MayTakeFor(0) {
		t.Fatalf("%d, %d and %d pieces of 8", len(a), len(b), len(c))
	}
	for pe, pieces := range [][]uint16{a, b, c} {
		for _, i := range pieces {
			if p.Free() {
				t.Fatal("free while PEs hold pieces")
			}
			p.GiveFor(libshmem.PE(pe), i)
		}
	}
	if !p.Free() {
		t.Error("not free after all pieces came back")
	}
}

// The zero pool, of a PE without a GPU, has no piece.
func TestPoolWithout(t *testing.T) {
	var p pool
	p.Connect(1)
	if _, ok := p.TakeFor(0); ok || !p.Free() {
		t.Errorf("a piece: %v, free %v", ok, p.Free())
	}
}
