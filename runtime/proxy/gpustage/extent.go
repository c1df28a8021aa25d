package gpustage

import (
	"fmt"
	"slices"

	"libshmem"
)

// Extent is a part of a user heap in GPU memory that the fabric reaches.
type Extent struct {
	Offset, Size uint64
	Remote       uint64 // remote address of its start
	Key          uint64
	Loan         Loan // the loan that ends the extent
}

// Loan is the number of a loan, memory of the program that is part of the symmetric heap for a
// while (docs/decisions/0038); 0 means no loan. Numbers run from 1 to the last, and then from 1
// again. A number is later than another if it is ahead by less than half of all numbers: far fewer
// messages than half are on their way between PEs.
type Loan uint16

// Next returns the number of the loan after l. The numbers wrap, and 0 is no loan.
func (l Loan) Next() Loan { return max(l+1, 1) }

// after reports whether loan l is later than loan m. The numbers wrap, so their distance decides.
func (l Loan) after(m Loan) bool { return int16(l-m) > 0 }

// extents are the extents of one heap, ordered by offset.
type extents []Extent

// countUpTo returns the number of extents, which are sorted by their offsets, that begin at an
// offset or before it.
func (x extents) countUpTo(offset uint64) int {
	low, high := 0, len(x)
	for low < high {
		if mid := (low + high) / 2; x[mid].Offset > offset {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// find returns the extent that contains all of n bytes at an offset, or nil.
func (x extents) find(offset libshmem.Offset, n uint64) *Extent {
	i := x.countUpTo(uint64(offset))
	if i == 0 {
		return nil
	}
	f := &x[i-1]
	if o := uint64(offset) - f.Offset; o < f.Size && n <= f.Size-o {
		return f
	}
	return nil
}

// covers reports whether all of n bytes at an offset are in extents, which may be several
// neighbouring ones.
func (x extents) covers(offset libshmem.Offset, n uint64) bool {
	for n > 0 {
		rest := x.bytesLeft(offset)
		if rest == 0 {
			return false
		}
		if rest >= n {
			break
		}
		offset, n = offset+libshmem.Offset(rest), n-rest
	}
	return true
}

// bytesLeft returns the number of bytes from an offset to the end of its extent, or 0 if it is in
// none.
func (x extents) bytesLeft(offset libshmem.Offset) uint64 {
	if f := x.find(offset, 1); f != nil {
		return f.Size - (uint64(offset) - f.Offset)
	}
	return 0
}

// add inserts an extent by its offset. It fails if the extent overlaps another.
func (x *extents) add(f Extent) error {
	i := x.countUpTo(f.Offset)
	if i > 0 && f.Offset-(*x)[i-1].Offset < (*x)[i-1].Size || i < len(*x) && (*x)[i].Offset-f.Offset < f.Size {
		return fmt.Errorf("a part of the heap from %#x on overlaps another part", f.Offset)
	}
	*x = slices.Insert(*x, i, f)
	return nil
}

// removeLoan removes the extents of a loan.
func (x *extents) removeLoan(loan Loan) {
	*x = slices.DeleteFunc(*x, func(f Extent) bool { return f.Loan == loan })
}

// remove removes the extent that begins at an offset, if there is one.
func (x *extents) remove(offset uint64) {
	*x = slices.DeleteFunc(*x, func(f Extent) bool { return f.Offset == offset })
}
