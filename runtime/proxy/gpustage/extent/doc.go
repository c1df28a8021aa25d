// Package extent knows the parts of user heaps in GPU memory that NICs reach, on this PE and on the
// others.
//
// If a NIC reaches a user heap in GPU memory, larger puts and gets are one-sided operations on it,
// as on main memory. All other operations stay with the owner's streams, in their order: puts and
// gets that fit a message, signals and atomic operations.
//
// A heap is registered part by part, as it grows. The other PEs learn of each part by a message.
// Until the message comes, and for bytes that lie in two parts, operations take the path of memory
// that no NIC reaches, so no PE waits for another.
//
// Memory that the program lends to the heap (docs/decisions/0038) goes away again, by a collective
// call. No PE uses the memory any more when the call begins. Each PE then forgets the extents that
// others have announced for that loan, so there is no message for that. Messages about the loan may
// come later, or before this PE has begun it. Loans have the same numbers on all PEs, so a PE knows
// when such a message is too late.
//
// A GPU may see the bytes that a NIC has written later than the CPU sees that they have been
// written. Then the owner flushes before it carries out a message, because the message may follow
// such bytes, and before it says that a read into its own memory is complete. One flush serves all
// that has come in one turn. A PE that writes there asks for an answer even if completions say that
// bytes have arrived, because the GPU may not see the bytes yet.
//
// Heaps owns the registration of this PE's heap, the messages about it, and the extents that other
// PEs have announced. It does not move bytes. All methods are called with the engine's lock held.
package extent
