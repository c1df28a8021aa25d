// Package heap decides where the blocks of the symmetric heap lie.
//
// It is arithmetic on offsets and touches no memory of the heap: the same calls in the same order
// give the same offsets on every PE, so the heap is symmetric without communication between the
// PEs. For the same reason nothing in it depends on time, on addresses, on the order of a Go map or
// on a random seed. Another package maps and commits the memory (heap/hostmem).
//
// Blocks tile the heap. Free blocks are held in a tree ordered by size and offset, live blocks in
// one ordered by offset; both are treaps whose priorities are a hash of the offset. Allocation
// takes the smallest block that fits, the lowest of equals; a freed block joins its free
// neighbours. All operations take O(log n) for n blocks, but for alignments above Granule in a heap
// full of blocks that are large enough and badly aligned. The bookkeeping is 48 bytes a block.
//
// The upper end of a heap can be given to memory that comes from elsewhere, by a list of its own
// (AllocUpper).
//
// A Heap is not safe for concurrent use.
package heap
