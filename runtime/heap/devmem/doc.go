// Package devmem owns the symmetric heaps of one node that are in GPU memory:
// the addresses of each, the memory behind them, and the mappings by which the
// GPU of this PE reaches the heaps of the others.
//
// A heap is a range of addresses that no memory is behind until Commit. There
// are two ways to it. VMM takes addresses and memory apart: the heap grows by
// chunks, whose descriptors go to the other PEs over sockets. IPC is for a
// driver or a container that does not allow this: the whole heap is allocated at
// the start, under a name that other processes open. The PEs of a node take the
// same way.
//
// Open, Commit, Lend and, for IPC, Close are collective among the PEs of the node with
// such heaps: each tells each other what it has, what failed, and whether all
// worked, so that the heaps of all grow or none does. Which PE that is, the
// caller knows; so are the names of the sockets exchanged by it.
//
// Lend maps memory into the heaps that the program has got by the same calls of the
// driver, behind all that is committed.
//
// What Pin makes is the other kind of heap that a GPU reaches: memory of the
// node, mapped by package hostmem, that the driver has locked.
//
// The package does not touch the memory; fresh memory has what was in it before.
// Which bytes are in use is decided by package heap. Nothing here is safe for
// concurrent use, no function starts a thread, and each wait has an end. The
// memory of the chunks is ordered by whoever uses it.
package devmem
