// Package devmem owns the symmetric heaps of one node that are in GPU memory: the addresses of each
// heap, the memory that is mapped there, and the mappings by which the GPU of this PE reaches the
// heaps of the others.
//
// There are two methods to allocate a heap. VMM (CUDA's virtual memory management) reserves
// addresses, and Commit maps memory there: the heap grows by chunks, whose descriptors go to the
// other PEs over sockets. IPC is for a driver or a container that does not allow this: the whole
// heap is allocated at the start, and other processes open it by a CUDA IPC handle. All PEs of a
// node use the same method.
//
// Open, Commit, Lend and, for IPC, Close are collective among the PEs of the node with such heaps:
// each PE sends every other its state and whether it succeeded, so that the heaps of all grow or
// none does. The caller knows the PEs, and has exchanged the names of the sockets.
//
// Lend maps memory that the program itself has created by VMM into the heaps, beyond the committed
// memory.
//
// Pin makes the other kind of heap that a GPU reaches: main memory of the node, mapped by package
// hostmem, that the driver has locked.
//
// The package does not touch the memory; fresh memory is not zeroed. Package heap decides
// which bytes are in use. Nothing here is safe for concurrent use, no function starts a thread, and
// each wait has an end. The users of the chunks order accesses to their memory.
package devmem
