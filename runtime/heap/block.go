package heap

// block is a run of bytes, live or free. Blocks tile the heap. They refer to each
// other by index into the arena; index 0 stands for no block.
type block struct {
	off, size   uint64 // multiples of Granule
	want        uint64 // bytes that the program requested; 0 for a free block
	prev, next  int32  // neighbours by offset
	left, right int32  // children in the tree that contains the block
	align       uint8  // log2 of the requested alignment, which realloc keeps
}

// live reports whether the program has allocated the block.
func (b *block) live() bool { return b.want != 0 }

// end returns the offset of the first byte after the block.
func (b *block) end() uint64 { return b.off + b.size }

// priority returns the block's priority in a treap, whose root has the greatest. It is a hash of
// the offset (the finaliser of splitmix64): as good as a random number, and the same on every PE.
func (b *block) priority() uint64 {
	z := b.off + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// arena owns the blocks of a heap. When it grows, indices stay valid, but pointers to blocks do
// not.
type arena struct {
	blocks []block
	spare  int32 // list of unused entries, linked by next
}

// at returns the block with an index.
func (a *arena) at(i int32) *block { return &a.blocks[i] }

// alloc stores b in an unused entry of the array of blocks, or in a new one, and returns its index.
// Index 0 stands for none.
func (a *arena) alloc(b block) int32 {
	if i := a.spare; i != 0 {
		a.spare = a.blocks[i].next
		a.blocks[i] = b
		return i
	}
	a.blocks = append(a.blocks, b)
	return int32(len(a.blocks) - 1)
}

// free puts entry i on the list of unused entries.
func (a *arena) free(i int32) {
	a.blocks[i] = block{next: a.spare}
	a.spare = i
}
