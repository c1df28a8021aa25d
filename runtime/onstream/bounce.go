package onstream

import (
	"libshmem/queue"
	"libshmem/runtime/gpu"
)

// BounceBytes is the size of the memory at Job.Bounce: a head and the bounce buffers.
const BounceBytes = queue.BounceHead + queue.BounceBuffers*queue.BounceBytes

// bounceBlocks is the most thread blocks that copy an operand through bounce buffers. While one
// block copies a piece, the proxies move the pieces of the other blocks.
const bounceBlocks = 4

// launchRemote launches a kernel for an operation on a PE that this GPU reaches through a ring and
// the proxy: the kernel plain, or, if the program's CUDA context owns the operand's memory, the
// kernel bounced, which copies the operand through memory that no context owns. Proxies cannot copy
// an operand of the program's context while the program loads a kernel and another kernel waits for
// a PE. operand is the operand's address for this GPU.
func (c *Calls) launchRemote(plain, bounced kernel, operand uint64, s gpu.Stream, k *queue.StreamCall) error {
	if c.job.Bounce == 0 || k.Count == 0 {
		return c.launch(plain, 1, warp, s, k)
	}
	p, err := c.dev.Pointer(gpu.Address(operand))
	switch {
	case err != nil:
		return err
	case !p.OwnedByContext || p.Device != c.job.GPU:
		return c.launch(plain, 1, warp, s, k)
	}
	blocks := blocksFor(k.Count, queue.BounceBytes, bounceBlocks)
	if bounced == kernelPutSignalBounced || bounced == kernelPutNotifyBounced {
		blocks = 1 // the signal follows all pieces
	}
	k.Bounce = uint64(c.job.Bounce)
	return c.launch(bounced, blocks, block, s, k)
}
