package onstream

import (
	"libshmem/queue"
	"libshmem/runtime/gpu"
)

// Threads and blocks of the library's kernels. A kernel of the library shares
// the GPU with the program's, so it takes no more blocks than it needs to fill
// the links.
const (
	warp  = 32
	block = 512

	// shareBytes is the least that a block copies, shareBlocks the most blocks.
	shareBytes  = 64 << 10
	shareBlocks = 32

	// spreadPEs is the most PEs that synchronise each with all others at once, as
	// SHMEMI_SYNC_ALL_TO_ALL of the header.
	spreadPEs = 64
	// spreadBytes is the least that a block of a spread reduction combines: four words of 16 bytes
	// for each thread.
	spreadBytes  = 4 * 16 * block
	spreadBlocks = 64
	// packedBytes is the size up to which twice the bytes in one step are faster than three steps,
	// which take 11 us between two H200 even for a few bytes.
	packedBytes = 256 << 10

	// teamWorld is SHMEM_TEAM_WORLD. Other teams have no room for packed words, so
	// that few bytes go by one block, which takes two steps of a message each.
	teamWorld = 0
	anyBytes  = 2 << 10
)

// threadsFor is as many threads as there are things to do, in whole warps, and
// at most a block.
func threadsFor(n uint64) uint32 { return uint32(min((n+warp-1)/warp*warp, block)) }

// blocksFor is the number of blocks that share n bytes.
func blocksFor(n, least, most uint64) uint32 { return uint32(max(1, min((n+least-1)/least, most))) }

// near reports whether all PEs of a call's team reach each other directly, so that many blocks can
// work side by side.
func (c *Calls) near(call *queue.StreamCall) bool { return !c.job.Rings && call.TeamPEs <= spreadPEs }

// move is a collective that copies.
func (c *Calls) move(kind kernel, call *queue.StreamCall, s gpu.Stream) error {
	k := *call
	k.Dest, k.Source = uint64(c.symmetric(call.Dest)), uint64(c.symmetric(call.Source))
	if call.TeamPEs == 1 {
		return c.alone(&k, s, call.Count)
	}
	if !c.near(call) {
		return c.launch(kind, 1, block, s, &k)
	}
	k.Algorithm = queue.AlgorithmSpread
	return c.launch(kind, blocksFor(call.Count, shareBytes, shareBlocks), threadsOf(call.Count, call.TeamPEs), s, &k)
}

// threadsOf is as many threads as a copy of n bytes has words of 16 bytes, and one at least for
// each PE that it notifies.
func threadsOf(n uint64, pes int32) uint32 { return threadsFor(max((n+15)/16, uint64(pes))) }

// alone is every collective of a team of one PE.
func (c *Calls) alone(k *queue.StreamCall, s gpu.Stream, n uint64) error {
	if k.Dest == k.Source {
		return nil
	}
	return c.dev.CopyAsync(s, gpu.Address(k.Dest), gpu.Address(k.Source), n)
}

// packedMost caps the bytes of a packed reduction.
func (c *Calls) packedMost() uint64 {
	const line, data = 16, 8
	return (queue.WorkStream - 128) / line / (2 * uint64(c.job.NPEs)) * data
}

// reduction is a call as kernels take it, and how many bytes of dest it has.
func (c *Calls) reduction(call *queue.StreamCall) (k queue.StreamCall, bytes uint64) {
	k = *call
	k.Dest, k.Source = uint64(c.symmetric(call.Dest)), uint64(c.symmetric(call.Source))
	bytes = call.Count * uint64(call.Width&15)
	if call.Op >= queue.ReduceAnd { // the bits of bytes
		k.Count, k.Width = bytes, 1
	}
	return k, bytes
}

// reducescatter uses one block: a PE's data for each other PE goes to a different place.
func (c *Calls) reducescatter(call *queue.StreamCall, s gpu.Stream) error {
	k, bytes := c.reduction(call)
	if call.TeamPEs == 1 {
		return c.alone(&k, s, bytes)
	}
	return c.launch(kernelReducescatter, 1, threadsOf(bytes*uint64(call.TeamPEs), call.TeamPEs), s, &k)
}

func (c *Calls) reduce(call *queue.StreamCall, s gpu.Stream) error {
	k, bytes := c.reduction(call)
	op := kernel(call.Op - queue.ReduceSum)
	switch {
	case call.TeamPEs == 1:
		return c.alone(&k, s, bytes)
	case !c.near(call), call.Team != teamWorld && bytes <= anyBytes:
		return c.launch(kernelReduce, 1, block, s, &k)
	case call.Team == teamWorld && bytes <= packedBytes && bytes <= c.packedMost():
		words := (bytes + 7) / 8
		return c.launch(kernelPackedSum+op, blocksFor(words, block, bytes), threadsFor(words), s, &k)
	}
	part := bytes / uint64(call.TeamPEs)
	return c.launch(kernelSpreadSum+op, blocksFor(part, spreadBytes, spreadBlocks), block, s, &k)
}
