package gpu

// maxPitch is the greatest distance from one row to the next in a CUDA copy of rows, in bytes
// (CU_DEVICE_ATTRIBUTE_MAX_PITCH).
const maxPitch = 1<<31 - 1

// Direction is the common direction of a list of copies.
type Direction uint8

// The directions, as the caller of Join and Device.Copies declares them for all copies of the list.
const (
	CopyOut    Direction = iota // to main memory
	CopyIn                      // from main memory
	CopyAcross                  // any direction, also between GPUs
)

// Join replaces runs of copies, of one row each, by copies of several rows: rows of one size at a
// constant distance, which may differ between source and destination. So one call of the driver
// moves pieces that are packed in pinned memory to or from equally spaced rows of a program's
// buffer. The result has the effect of the given copies one after the other. joined lies in the
// memory of copies, whose elements Join changes and may reorder (arrange). Between GPUs Join joins
// only rows without gaps: a driver may copy others by a kernel, or refuse them. anyOrder: the
// copies may be made in any order, because none writes what another reads or writes.
func Join(copies []Copy, d Direction) (joined []Copy, anyOrder bool) {
	if len(copies) == 0 {
		return copies, true
	}
	anyOrder = arrange(copies)
	last := &copies[0]
	n := 1
	for _, c := range copies[1:] {
		if last.grow(&c, d) {
			continue
		}
		copies[n] = c
		last = &copies[n]
		n++
	}
	return copies[:n], anyOrder
}

// maxArranged is the most copies that arrange sorts; it leaves a longer list as it is.
const maxArranged = 64

// arrange sorts copies by their destinations if their order has no effect, and reports whether that
// is so: no destination shares bytes with another one or with a source. Threads of a kernel post
// their puts in any order, and Join joins only neighbours.
func arrange(copies []Copy) bool {
	var order [maxArranged]uint8
	if len(copies) > maxArranged {
		return false
	}
	sorted := true
	for i := range copies {
		k := i
		for ; k > 0 && copies[order[k-1]].To > copies[i].To; k-- {
			order[k] = order[k-1]
			sorted = false
		}
		order[k] = uint8(i)
	}
	low, high := ^Address(0), Address(0) // of all sources
	for i := range copies {
		c := &copies[order[i]]
		low, high = min(low, c.From), max(high, c.From+Address(c.N))
		if i > 0 {
			if before := &copies[order[i-1]]; before.To+Address(before.N) > c.To {
				return false
			}
		}
	}
	first, last := &copies[order[0]], &copies[order[len(copies)-1]]
	if first.To < high && low < last.To+Address(last.N) {
		return false
	}
	if sorted {
		return true
	}
	var all [maxArranged]Copy
	copy(all[:], copies)
	for i := range copies {
		copies[i] = all[order[i]]
	}
	return true
}

// grow adds row to the rows of c, if it has their size and follows them at their distance. It
// reports whether it did.
func (c *Copy) grow(row *Copy, d Direction) bool {
	to, from := uint64(row.To-c.To), uint64(row.From-c.From)
	if row.N != c.N || row.To <= c.To || row.From <= c.From {
		return false
	}
	next := *c
	if c.Rows == 1 {
		next.ToPitch, next.FromPitch = to, from
	} else if to != c.Rows*c.ToPitch || from != c.Rows*c.FromPitch {
		return false
	}
	next.Rows++
	if min(next.ToPitch, next.FromPitch) < c.N || max(next.ToPitch, next.FromPitch) > maxPitch || next.overlaps() || d == CopyAcross && !next.Packed() {
		return false
	}
	*c = next
	return true
}

// overlaps reports whether source and destination may share bytes, so that a row may change the
// source of the next.
func (c *Copy) overlaps() bool {
	to, from := c.Span()
	return c.To < c.From+Address(from) && c.From < c.To+Address(to)
}

// Span returns how many bytes lie between the begin of the first row and the end of the last, at
// the destination and at the source.
func (c *Copy) Span() (to, from uint64) {
	return (c.Rows-1)*c.ToPitch + c.N, (c.Rows-1)*c.FromPitch + c.N
}

// Packed reports whether the rows have no gaps between them at source and destination.
func (c *Copy) Packed() bool { return c.Rows == 1 || c.ToPitch == c.N && c.FromPitch == c.N }

// Row returns row i as a copy of its own.
func (c *Copy) Row(i uint64) Copy {
	return Copy{To: c.To + Address(i*c.ToPitch), From: c.From + Address(i*c.FromPitch), N: c.N, Rows: 1}
}
