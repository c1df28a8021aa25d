package heap

import (
	"errors"
	"testing"

	"libshmem"
	"libshmem/runtime/shmerr"
)

func TestUpperPart(t *testing.T) {
	const unit = 1 << 20
	h := newHeap(t, 16*unit, 4*unit)
	low := alloc(t, h, unit+1, 0)
	take := func(size, above, want uint64) {
		t.Helper()
		if off, err := h.AllocUpper(size, unit, above); err != nil || uint64(off) != want {
			t.Fatalf("%d bytes above %#x at %#x, want %#x: %v", size, above, off, want, err)
		}
	}
	give := func(off uint64) {
		t.Helper()
		if err := h.FreeUpper(libshmem.Offset(off)); err != nil {
			t.Fatal(err)
		}
	}
	take(3*unit, 0, 13*unit)
	take(2*unit, 0, 11*unit)
	take(unit, 4*unit, 10*unit)
	if h.End() != unit+Granule || h.Stats().Size != 10*unit {
		t.Errorf("the lower part ends at %#x of %#x", h.End(), h.Stats().Size)
	}
	give(11 * unit)
	take(unit, 0, 12*unit) // into the gap, at its upper end
	if _, err := h.Alloc(9*unit, 0); !errors.Is(err, shmerr.ErrNoMemory) {
		t.Errorf("a block that reaches into the upper part: %v", err)
	}
	mid := alloc(t, h, 8*unit, 0)
	_, err := h.AllocUpper(2*unit, unit, 0)
	want := "allocate 2097152 bytes aligned to 1048576: of the 16777216 bytes of the symmetric heap, only those from offset 0x900040 on may be used, and no free part of them is long enough (raise SHMEM_SYMMETRIC_SIZE)"
	if !errors.Is(err, shmerr.ErrNoMemory) || err.Error() != want {
		t.Errorf("no room: %v\nwant %s", err, want)
	}
	for off, ok := range map[uint64]bool{9 * unit: true, 10 * unit: true, 11 * unit: false, 12*unit + 7: true, 13 * unit: true, 16*unit - 1: true, 16 * unit: false} {
		if _, _, got := h.Block(libshmem.Offset(off)); got != ok {
			t.Errorf("a block at %#x: %v, want %v", off, got, ok)
		}
	}
	give(10 * unit)
	if err := h.Free(mid); err != nil {
		t.Error(err)
	}
	alloc(t, h, 10*unit, 0) // up to the block in the gap
	give(13 * unit)
	give(12 * unit)
	if err := errors.Join(h.Free(low), h.check()); err != nil {
		t.Error(err)
	}
	if err := h.FreeUpper(12 * unit); !errors.Is(err, shmerr.ErrAddress) {
		t.Errorf("freed twice: %v", err)
	}
	for _, bad := range [][2]uint64{{0, 1}, {1, 0}, {1, 3}} {
		if _, err := h.AllocUpper(bad[0], bad[1], 0); !errors.Is(err, shmerr.ErrArgument) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
