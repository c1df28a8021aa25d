// Package heap decides where the blocks of the symmetric heap lie.
//
// It is arithmetic on offsets and touches no memory of the heap: the same calls in the same order
// give the same offsets on every PE, so the heap is symmetric without communication between the
// PEs. For the same reason nothing in it depends on time, on addresses, on the order of a Go map or
// on a random seed. Another package maps and commits the memory (heap/hostmem).
//
// Blocks tile the heap. Free blocks are in a tree ordered by size and offset, live blocks in one
// ordered by offset; both are treaps whose priorities are a hash of the offset. Alloc uses the
// smallest free block that fits, of equal ones the lowest; a freed block joins its free neighbours.
// All operations take O(log n) for n blocks. Only an allocation with an alignment above Granule may
// take longer, if many free blocks are large enough and badly aligned. A block takes 48 bytes of
// bookkeeping.
//
// AllocUpper reserves offsets at the upper end of a heap for memory that this heap does not
// allocate, such as a buffer that the program registers. These blocks are in a list of their own.
//
// A Heap is not safe for concurrent use.
package heap
