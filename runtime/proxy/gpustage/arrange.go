package gpustage

import "libshmem/runtime/proxy/layout"

// The pieces of a chunk are stored in the order in which most of them are neighbours in the source
// or at the target, because neighbours are copied together. Threads of a kernel post their puts in
// any order; for example, tokens of a model that go to one expert are neighbours at their target
// wherever they come from.

// arrange decides the order of the puts in a chunk: the one in which most of them are neighbours in
// the source or at the target. It sets their positions and the bytes that the chunk uses.
func (c *chunk) arrange() {
	if all := 2 * (len(c.parts) - 1); c.neighbours() < all { // not all are neighbours at both ends
		var best [layout.MaxPieces]uint8
		n := copy(best[:], c.order)
		most := c.neighbours()
		for _, by := range []func(a, b *chunkPart) bool{(*chunkPart).afterAtTarget, (*chunkPart).afterInSource} {
			c.sort(by)
			if k := c.neighbours(); k > most {
				most = k
				copy(best[:], c.order)
			}
		}
		copy(c.order, best[:n])
	}
	in := uint64(0)
	for _, i := range c.order {
		p := &c.parts[i]
		p.inChunk = alignPiece(in)
		in = p.inChunk + p.n
	}
	c.used = in
}

// neighbours counts the parts whose bytes continue those of the part before them, or have the same
// distance from them as the parts before. It counts in the source and at the target separately. A
// part of another size than the one before is no neighbour: one driver call copies rows of one
// size.
func (c *chunk) neighbours() (n int) {
	var source, target int64
	for i := 1; i < len(c.order); i++ {
		a, b := &c.parts[c.order[i-1]], &c.parts[c.order[i]]
		s, t := int64(uintptr(b.departure.local)-uintptr(a.departure.local)), int64(b.departure.offset-a.departure.offset)
		if a.n != b.n {
			s, t = 0, 0
		}
		if size := int64(a.n); s == size || s == source && s > size {
			n++
		}
		if size := int64(a.n); t == size || t == target && t > size {
			n++
		}
		source, target = s, t
	}
	return n
}

// sort sorts the order of the parts; after reports whether a belongs after b. It is an insertion
// sort, because most parts are in order already. Equal parts stay in their order.
func (c *chunk) sort(after func(a, b *chunkPart) bool) {
	for i := 1; i < len(c.order); i++ {
		k, v := i, c.order[i]
		for ; k > 0 && after(&c.parts[c.order[k-1]], &c.parts[v]); k-- {
			c.order[k] = c.order[k-1]
		}
		c.order[k] = v
	}
}

// afterAtTarget reports whether p's destination comes after q's.
func (p *chunkPart) afterAtTarget(q *chunkPart) bool { return p.departure.offset > q.departure.offset }

// afterInSource reports whether p's source comes after q's.
func (p *chunkPart) afterInSource(q *chunkPart) bool {
	return uintptr(p.departure.local) > uintptr(q.departure.local)
}
