package gpustage

import (
	"testing"

	"libshmem"
)

// The numbers of loans run from 1, and after the last from 1 again: 0 is no loan.
func TestLoanNumbers(t *testing.T) {
	for _, c := range []struct{ loan, next Loan }{{0, 1}, {1, 2}, {1<<15 - 1, 1 << 15}, {1<<16 - 2, 1<<16 - 1}, {1<<16 - 1, 1}} {
		if got := c.loan.Next(); got != c.next || !got.after(c.loan) || c.loan.after(got) {
			t.Errorf("after loan %d comes %d, want %d, which is later", c.loan, got, c.next)
		}
	}
}

func TestExtents(t *testing.T) {
	var x extents
	for _, f := range []Extent{{Offset: 200, Size: 100}, {Offset: 100, Size: 50}, {Offset: 150, Size: 10, Loan: 7}} {
		if err := x.add(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		offset libshmem.Offset
		n      uint64
		want   int // index, or -1
	}{
		{0, 1, -1}, {99, 1, -1}, {99, 2, -1}, {100, 0, 0}, {100, 50, 0}, {100, 51, -1}, {149, 1, 0}, {149, 2, -1},
		{150, 10, 1}, {160, 0, -1}, {170, 1, -1}, {200, 100, 2}, {299, 1, 2}, {300, 1, -1}, {1 << 40, 1, -1}, {-1, 1, -1},
		{200, 1<<64 - 1, -1},
	} {
		f := x.find(c.offset, c.n)
		if c.want < 0 && f != nil || c.want >= 0 && f != &x[c.want] {
			t.Errorf("%d bytes at %d are in %+v, want %d", c.n, c.offset, f, c.want)
		}
	}
	for _, c := range []struct {
		offset  libshmem.Offset
		n, rest uint64
		covers  bool
	}{
		{99, 2, 0, false}, {100, 50, 50, true}, {100, 60, 50, true}, {149, 11, 1, true}, {149, 12, 1, false}, {150, 0, 10, true},
		{160, 1, 0, false}, {200, 100, 100, true}, {299, 2, 1, false}, {-1, 1, 0, false}, {200, 1<<64 - 1, 100, false},
	} {
		if got := x.covers(c.offset, c.n); got != c.covers || x.bytesLeft(c.offset) != c.rest {
			t.Errorf("%d bytes at %d: covered %v, %d to the end of the part", c.n, c.offset, got, x.bytesLeft(c.offset))
		}
	}
	for _, f := range []Extent{{Offset: 100, Size: 1}, {Offset: 149, Size: 1}, {Offset: 90, Size: 11}, {Offset: 0, Size: 1 << 40}, {Offset: 299, Size: 10}} {
		if err := x.add(f); err == nil || len(x) != 3 {
			t.Errorf("%+v: error %v, %d parts", f, err, len(x))
		}
	}
	if x.removeLoan(7); len(x) != 2 || x[0].Offset != 100 || x[1].Offset != 200 {
		t.Errorf("%+v is left", x)
	}
}
