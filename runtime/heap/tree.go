package heap

// tree is a treap over blocks of an arena: ordered by size and then offset, or
// by offset alone. A block is in at most one tree.
type tree struct {
	*arena
	bySize bool
	root   int32
}

// before reports whether block i is before the key (size, off) in the order of the tree: by size
// and then offset, or by offset alone.
func (t *tree) before(i int32, size, off uint64) bool {
	b := t.at(i)
	if t.bySize && b.size != size {
		return b.size < size
	}
	return b.off < off
}

// ceiling returns the first block that is not before the key (size, off), or 0 if there is none.
func (t *tree) ceiling(size, off uint64) int32 {
	var found int32
	for i := t.root; i != 0; {
		if t.before(i, size, off) {
			i = t.at(i).right
		} else {
			found = i
			i = t.at(i).left
		}
	}
	return found
}

// floor returns the last block with at most this offset, or 0. The tree must be sorted by offset.
func (t *tree) floor(off uint64) int32 {
	var found int32
	for i := t.root; i != 0; {
		if t.at(i).off <= off {
			found = i
			i = t.at(i).right
		} else {
			i = t.at(i).left
		}
	}
	return found
}

// last returns the block with the greatest key, or 0 if the tree is empty.
func (t *tree) last() int32 {
	i := t.root
	for i != 0 && t.at(i).right != 0 {
		i = t.at(i).right
	}
	return i
}

// insert adds block n, which is in no tree.
func (t *tree) insert(n int32) {
	b := t.at(n)
	p := b.priority()
	link := &t.root
	for *link != 0 && t.at(*link).priority() >= p {
		link = t.child(*link, b)
	}
	// Split the subtree at this link into the blocks before and after n, which become the subtrees
	// of n. l and r are the links to which the next block before n, or after it, is attached.
	rest := *link
	*link = n
	l, r := &b.left, &b.right
	for rest != 0 {
		c := t.at(rest)
		if t.before(rest, b.size, b.off) {
			*l, l, rest = rest, &c.right, c.right
		} else {
			*r, r, rest = rest, &c.left, c.left
		}
	}
	*l, *r = 0, 0
}

// remove removes block n and puts its merged subtrees in its place.
func (t *tree) remove(n int32) {
	b := t.at(n)
	link := &t.root
	for *link != n {
		link = t.child(*link, b)
	}
	l, r := b.left, b.right
	// Merge the subtrees: the root with the greater priority goes to the link, and the merge goes
	// on with its inner subtree.
	for l != 0 && r != 0 {
		if t.at(l).priority() >= t.at(r).priority() {
			*link, link = l, &t.at(l).right
			l = *link
		} else {
			*link, link = r, &t.at(r).left
			r = *link
		}
	}
	*link = l | r // one of them is 0
	b.left, b.right = 0, 0
}

// child returns the link of block i, left or right, that leads to b.
func (t *tree) child(i int32, b *block) *int32 {
	if t.before(i, b.size, b.off) {
		return &t.at(i).right
	}
	return &t.at(i).left
}
