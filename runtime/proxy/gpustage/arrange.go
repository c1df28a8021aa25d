package gpustage

import "libshmem/runtime/proxy/layout"

// The pieces of a chunk lie in the order in which most of them are neighbours in the source or at
// the target, because neighbours are copied together. Threads of a kernel post their puts in any
// order, and tokens for one expert are neighbours at their target wherever they come from.

// arrange sets the order in which the puts of a chunk lie there, the one in which most are
// neighbours, and with it their places and the bytes that the chunk uses.
func (c *chunk) arrange() {
	if all := 2 * (len(c.parts) - 1); c.neighbours() < all {
		var best [layout.MostPieces]uint8
		n := copy(best[:], c.order)
		most := c.neighbours()
		for _, by := range []func(a, b *chunkPart) bool{(*chunkPart).behindAtTarget, (*chunkPart).behindInSource} {
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
		p.in = aligned(in)
		in = p.in + p.n
	}
	c.used = in
}

// neighbours counts the parts whose bytes continue those of the part before them, or lie behind
// those at the same distance as those behind the ones before. It counts the source and the target
// apart.
func (c *chunk) neighbours() (n int) {
	var source, target int64
	for i := 1; i < len(c.order); i++ {
		a, b := &c.parts[c.order[i-1]], &c.parts[c.order[i]]
		s, t := int64(uintptr(b.of.local)-uintptr(a.of.local)), int64(b.of.offset-a.of.offset)
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

// sort sorts the order of the parts by behind, an insertion sort, because most of them are in order
// already. Equal parts keep their order.
func (c *chunk) sort(behind func(a, b *chunkPart) bool) {
	for i := 1; i < len(c.order); i++ {
		k, v := i, c.order[i]
		for ; k > 0 && behind(&c.parts[c.order[k-1]], &c.parts[v]); k-- {
			c.order[k] = c.order[k-1]
		}
		c.order[k] = v
	}
}

func (p *chunkPart) behindAtTarget(q *chunkPart) bool { return p.of.offset > q.of.offset }

func (p *chunkPart) behindInSource(q *chunkPart) bool {
	return uintptr(p.of.local) > uintptr(q.of.local)
}
