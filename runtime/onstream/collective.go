package onstream

import (
	"libshmem/queue"
	"libshmem/runtime/gpu"
)

// Threads and blocks of the library's kernels. A kernel of the library shares
// the GPU with the program's kernels, so it takes no more blocks than it needs to
// fill the links between GPUs.
const (
	warp  = 32
	block = 512

	// In a collective that copies, several blocks share the bytes for one PE only if each has at
	// least shareBytes. shareBlocks is the most blocks for one other PE, and allBlocks for all.
	shareBytes  = 64 << 10
	shareBlocks = 32
	allBlocks   = 96

	// spreadPEs is the most PEs of a team in which each PE notifies all others directly to
	// synchronize, as SHMEMI_SYNC_ALL_TO_ALL in the kernels' headers.
	spreadPEs = 64
	// In a spread reduction up to spreadBlocks blocks of each PE work on the PE's part. spreadBytes
	// is the least that a block combines: four words of 16 bytes for each thread.
	spreadBytes  = 4 * 16 * block
	spreadBlocks = 64
	// packedBytes is the size up to which a packed reduction, which moves twice the bytes in one
	// step, is faster than a spread one with three steps, which take 11 us between two H200 even
	// for a few bytes.
	packedBytes = 256 << 10

	// teamWorld is SHMEM_TEAM_WORLD. Other teams have no memory for packed reductions:
	// up to anyBytes they reduce by one block, in two steps of one message each.
	teamWorld = 0
	anyBytes  = 2 << 10
)

// threadsFor returns how many threads work on n words or PEs: one for each, in whole
// warps, and at most a block.
func threadsFor(n uint64) uint32 { return uint32(min((n+warp-1)/warp*warp, block)) }

// blocksFor returns how many blocks share n bytes: each copies at least `least` bytes, and there
// are at most limit blocks.
func blocksFor(n, least, limit uint64) uint32 { return uint32(max(1, min((n+least-1)/least, limit))) }

// near reports whether many blocks can work on a collective at the same time: the GPUs of all PEs
// reach each other directly, and the call's team has at most spreadPEs PEs.
func (c *Calls) near(call *queue.StreamCall) bool { return !c.job.Rings && call.TeamPEs <= spreadPEs }

// move queues a collective that only copies: broadcast, fcollect or alltoall. If the GPU reaches
// all PEs of the team, many blocks copy; else one block, which uses rings.
func (c *Calls) move(kind kernel, call *queue.StreamCall, s gpu.Stream) error {
	k := *call
	k.Dest, k.Source = uint64(c.symmetric(call.Dest)), uint64(c.symmetric(call.Source))
	if call.TeamPEs == 1 {
		return c.copyForOnePE(&k, s, call.Count)
	}
	if !c.near(call) {
		return c.launch(kind, 1, block, s, &k)
	}
	k.Algorithm = queue.AlgorithmSpread
	return c.launch(kind, copyBlocks(call.Count, uint64(call.TeamPEs-1)), threadsOf(call.Count, call.TeamPEs), s, &k)
}

// copyBlocks returns how many blocks copy n bytes to each of the other PEs: the same number for
// each PE, or a single block if it has little to do. Several blocks count those that have finished,
// which takes a microsecond.
func copyBlocks(n, others uint64) uint32 {
	if n*others <= shareBytes {
		return 1
	}
	each := uint64(blocksFor(n, shareBytes, min(shareBlocks, max(1, allBlocks/others))))
	return uint32(each * others)
}

// threadsOf returns how many threads copy n bytes and notify pes PEs: one for each word of 16 bytes
// or for each PE, whichever are more.
func threadsOf(n uint64, pes int32) uint32 { return threadsFor(max((n+15)/16, uint64(pes))) }

// copyForOnePE queues a collective of a team of one PE, which is a copy of n bytes, or nothing.
func (c *Calls) copyForOnePE(k *queue.StreamCall, s gpu.Stream, n uint64) error {
	if k.Dest == k.Source {
		return nil
	}
	return c.dev.CopyAsync(s, gpu.Address(k.Dest), gpu.Address(k.Source), n)
}

// maxPackedBytes returns the most bytes of a packed reduction that fit the work area. In the work
// area each word of 8 bytes, with its flag, occupies 16 bytes for each PE, twice.
func (c *Calls) maxPackedBytes() uint64 {
	const line, data = 16, 8
	const head = 128 // the count of calls, before the words (device/kernels/share.h)
	return (queue.WorkStream - head) / line / (2 * uint64(c.job.NPEs)) * data
}

// reduction returns a reduction's call with this GPU's addresses, as the kernels expect it, and how
// many bytes its result has.
func (c *Calls) reduction(call *queue.StreamCall) (k queue.StreamCall, bytes uint64) {
	k = *call
	k.Dest, k.Source = uint64(c.symmetric(call.Dest)), uint64(c.symmetric(call.Source))
	bytes = call.Count * uint64(call.Width&15)
	if call.Op >= queue.ReduceAnd { // bitwise: the kernels work on bytes
		k.Count, k.Width = bytes, 1
	}
	return k, bytes
}

// reducescatter queues a reduce-scatter. It uses one block: the data for each other PE goes to a
// different place.
func (c *Calls) reducescatter(call *queue.StreamCall, s gpu.Stream) error {
	k, bytes := c.reduction(call)
	if call.TeamPEs == 1 {
		return c.copyForOnePE(&k, s, bytes)
	}
	return c.launch(kernelReducescatter, 1, threadsOf(bytes*uint64(call.TeamPEs), call.TeamPEs), s, &k)
}

// reduce queues a reduction. For a team of one PE it is a copy. Otherwise there are three
// algorithms: one thread block, over any path; packed, for short arrays, in which each word carries
// the number of the call, so that no flag follows the data; and spread over many blocks. Only
// SHMEM_TEAM_WORLD has memory for packed reductions. The kernels of an algorithm follow each other
// in the order of the operations, from the sum on.
func (c *Calls) reduce(call *queue.StreamCall, s gpu.Stream) error {
	k, bytes := c.reduction(call)
	op := kernel(call.Op - queue.ReduceSum)
	switch {
	case call.TeamPEs == 1:
		return c.copyForOnePE(&k, s, bytes)
	case !c.near(call), call.Team != teamWorld && bytes <= anyBytes:
		return c.launch(kernelReduce, 1, block, s, &k)
	case call.Team == teamWorld && bytes <= packedBytes && bytes <= c.maxPackedBytes():
		words := (bytes + 7) / 8
		return c.launch(kernelPackedSum+op, blocksFor(words, block, bytes), threadsFor(words), s, &k)
	}
	part := bytes / uint64(call.TeamPEs)
	return c.launch(kernelSpreadSum+op, blocksFor(part, spreadBytes, spreadBlocks), block, s, &k)
}
