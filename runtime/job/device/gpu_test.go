package device

import (
	"bytes"
	"encoding/binary"
	"testing"

	"libshmem/queue"
	"libshmem/runtime/heap"
	"libshmem/runtime/proxy/gpustage"
)

// lenders counts loans that are begun and not ended.
type lenders struct{ open int }

func (l *lenders) BeginLoan(gpustage.Loan) { l.open++ }
func (l *lenders) EndLoan(gpustage.Loan) error {
	l.open--
	return nil
}

// TestNoGPU: without a GPU there is nothing to provide, to give back or to report.
func TestNoGPU(t *testing.T) {
	var g *GPU
	if g.Device() != nil || g.Chosen() || g.Moved() {
		t.Error("a PE without a GPU has one")
	}
	if native, stream := g.Mover(); native.Driver != nil || stream != nil {
		t.Errorf("copies by %+v, stream %v", native, stream)
	}
	for what, err := range map[string]error{"commit": g.Commit(1), "reach": g.Reach(1), "release": g.Release(), "close": g.Close()} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestNothingLent: a loan needs a FindChunks before, and ends only where one began.
func TestNothingLent(t *testing.T) {
	var g GPU
	var l lenders
	h, err := heap.New(1<<20, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if off, err := g.Lend(h, &l, 4096, 0); err == nil || l.open != 0 {
		t.Errorf("lent at %d without a FindChunks, error %v, %d loans begun", off, err, l.open)
	}
	if err := g.TakeBack(h, &l, 0); err == nil || l.open != 0 {
		t.Errorf("taken back: error %v, %d loans", err, l.open)
	}
	if err := g.Forget(); err != nil {
		t.Errorf("forget nothing: %v", err)
	}
}

// TestVersionOfBitcode: only the last of the three words says which layout the code has.
func TestVersionOfBitcode(t *testing.T) {
	for _, c := range []struct {
		words []int32
		fits  bool
	}{
		{[]int32{3, 8, queue.BitcodePatch}, true},
		{[]int32{3, 9, queue.BitcodePatch}, true},
		{[]int32{3, 8, queue.BitcodePatch - 1}, false},
		{[]int32{3, 4, 5}, false}, // NVIDIA's
		{[]int32{queue.BitcodePatch}, false},
		{nil, false},
	} {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.NativeEndian, c.words); err != nil {
			t.Fatal(err)
		}
		if err := fits(b.Bytes()); (err == nil) != c.fits {
			t.Errorf("version %d: error %v", c.words, err)
		}
	}
}
