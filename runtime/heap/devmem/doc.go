// Package devmem owns the symmetric heaps of one node that are in GPU memory: the addresses of
// each, the memory behind them, and the mappings by which the GPU of this PE reaches the heaps of
// the others.
//
// A heap is a range of addresses without memory until Commit. There are two methods to allocate it.
// VMM takes addresses and memory apart: the heap grows by chunks, whose descriptors go to the other
// PEs over sockets. IPC is for a driver or a container that does not allow this: the whole heap is
// allocated at the start, under a name that other processes open. The PEs of a node take the same
// way.
//
// Open, Commit, Lend and, for IPC, Close are collective among the PEs of the node with such heaps:
// each PE sends its state, its failures, and whether all worked to every other, so that the heaps
// of all grow or none does. The caller knows the PEs, and has exchanged the names of the sockets.
//
// Lend maps memory into the heaps that the program has got by the same calls of the driver, behind
// all that is committed.
//
// Pin makes the other kind of heap that a GPU reaches: memory of the node, mapped by package
// hostmem, that the driver has locked.
//
// The package does not touch the memory; fresh memory has its old contents. Package heap decides
// which bytes are in use. Nothing here is safe for concurrent use, no function starts a thread, and
// each wait has an end. The users of the chunks order accesses to their memory.
package devmem
