package loop

import "libshmem/queue"

// Operations that lie in a ring together (a burst), such as the puts of a block's threads, share
// messages if many in a row are small and for one PE. A message costs the sender and the target
// some us over tcp, and an operation that shares one costs 0.1 us. C posts each operation in a
// message of its own, so Go handles bursts.

const (
	// leastTogether is how many stored slots a ring must have for Go rather than C to post the
	// operations, and the smallest number of operations for which Go lets them share messages.
	leastTogether = 8
	// inCIterations is the number of iterations in which C posts bursts, too, after one in which
	// few operations in a row were for one PE.
	inCIterations = 32
)

// hasBurst reports whether Go rather than C posts the operations in the rings, because a ring has
// many at once, which may share messages.
func (c *Consumer) hasBurst() bool {
	if c.burstsInC > 0 {
		c.burstsInC--
		return false
	}
	for _, s := range c.rings {
		if s.ring.StoredAt(leastTogether) {
			return true
		}
	}
	return false
}

// shouldShare reports whether operations from a ring are to share messages: at least half of them
// are small and for the same PE as the operation before. If fewer are, C posts the operations of
// the next inCIterations iterations.
func (c *Consumer) shouldShare(ops []queue.Op) bool {
	if len(ops) < leastTogether {
		return false
	}
	inRow := 0
	for i := range ops[1:] {
		if ops[i+1].PE == ops[i].PE && c.isSmall(&ops[i+1]) {
			inRow++
		}
	}
	if 2*inRow < len(ops) {
		c.burstsInC = inCIterations
		return false
	}
	return true
}

// isSmall reports whether an operation is small enough to share a message with others on its PE.
func (c *Consumer) isSmall(op *queue.Op) bool {
	switch op.Code {
	case queue.CodePut, queue.CodePutSignal:
		return op.Length <= c.limits.MergeMost
	case queue.CodeP, queue.CodePWide, queue.CodePBytes, queue.CodePSignal, queue.CodeAMO:
		return true
	}
	return false
}
