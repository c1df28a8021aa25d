package onstream

import (
	"libshmem/queue"
	"libshmem/runtime/gpu"
)

// BounceBytes is the size of Job.Bounce.
const BounceBytes = queue.BounceHead + queue.BounceBuffers*queue.BounceBytes

// bounceBlocks is the most blocks that share an operand: while one copies a piece, the
// proxies move the pieces of the others.
const bounceBlocks = 4

// far launches a kernel for a PE that is reached by ring: plain, or bounced if the driver
// ties the operand of this PE to the program's context. Proxies cannot copy such an operand
// while the program loads a kernel beside one that waits for another PE.
func (c *Calls) far(plain, bounced kernel, operand uint64, s gpu.Stream, k *queue.StreamCall) error {
	if c.job.Bounce == 0 || k.Count == 0 {
		return c.launch(plain, 1, warp, s, k)
	}
	p, err := c.dev.Pointer(gpu.Address(operand))
	switch {
	case err != nil:
		return err
	case !p.Tied || p.Device != c.job.GPU:
		return c.launch(plain, 1, warp, s, k)
	}
	blocks := blocksFor(k.Count, queue.BounceBytes, bounceBlocks)
	if bounced == kernelPutSignalBounced || bounced == kernelPutNotifyBounced {
		blocks = 1 // the signal follows all pieces
	}
	k.Bounce = uint64(c.job.Bounce)
	return c.launch(bounced, blocks, block, s, k)
}
