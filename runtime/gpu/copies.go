package gpu

// mostPitch is the most bytes from one row to the next that CUDA takes
// (CU_DEVICE_ATTRIBUTE_MAX_PITCH).
const mostPitch = 1<<31 - 1

// Direction is the common direction of a list of copies.
type Direction uint8

// The directions.
const (
	CopyOut    Direction = iota // to main memory
	CopyIn                      // from main memory
	CopyAcross                  // any, also between GPUs
)

// Join joins copies of one row that follow each other and have one distance on each side to copies
// of several rows, in place. So pieces of one size that lie in order are one copy: packed pieces of
// pinned memory, and tokens or blocks of a program's buffer. What is left has the effect of the
// copies one after the other. Between GPUs only rows behind each other are joined: there a driver may
// copy others by a kernel, or refuse them.
func Join(copies []Copy, d Direction) []Copy {
	if len(copies) == 0 {
		return copies
	}
	arrange(copies)
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
	return copies[:n]
}

// mostArranged bounds the copies that are sorted.
const mostArranged = 64

// arrange sorts copies by their destinations, if their order has no effect: rows are joined in that
// order. Threads of a kernel post their puts in any order.
func arrange(copies []Copy) {
	var order [mostArranged]uint8
	if len(copies) > mostArranged {
		return
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
	if sorted {
		return
	}
	low, high := ^Address(0), Address(0) // of the sources
	for i := range copies {
		c := &copies[order[i]]
		low, high = min(low, c.From), max(high, c.From+Address(c.N))
		if i > 0 {
			if before := &copies[order[i-1]]; before.To+Address(before.N) > c.To {
				return
			}
		}
	}
	first, last := &copies[order[0]], &copies[order[len(copies)-1]]
	if first.To < high && low < last.To+Address(last.N) {
		return
	}
	var all [mostArranged]Copy
	copy(all[:], copies)
	for i := range copies {
		copies[i] = all[order[i]]
	}
}

// grow adds a row if it has the size of the others and their distance.
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
	if min(next.ToPitch, next.FromPitch) < c.N || max(next.ToPitch, next.FromPitch) > mostPitch || next.overlaps() || d == CopyAcross && !next.Packed() {
		return false
	}
	*c = next
	return true
}

// overlaps reports whether the rows of the two sides may share bytes: a row might be the source of
// the next one.
func (c *Copy) overlaps() bool {
	to, from := c.Span()
	return c.To < c.From+Address(from) && c.From < c.To+Address(to)
}

// Span returns the bytes from the first to the last on each side.
func (c *Copy) Span() (to, from uint64) {
	return (c.Rows-1)*c.ToPitch + c.N, (c.Rows-1)*c.FromPitch + c.N
}

// Packed reports whether the rows lie behind each other on both sides.
func (c *Copy) Packed() bool { return c.Rows == 1 || c.ToPitch == c.N && c.FromPitch == c.N }

// Row returns one row as a copy.
func (c *Copy) Row(i uint64) Copy {
	return Copy{To: c.To + Address(i*c.ToPitch), From: c.From + Address(i*c.FromPitch), N: c.N, Rows: 1}
}
