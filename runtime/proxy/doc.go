// Package proxy moves bytes between the symmetric heaps of PEs that share no
// memory. It owns the protocol on top of a fabric.Provider: active messages,
// one-sided writes and reads, what fence and quiet mean, and the thread that
// serves while the program does something else. It does not know launchers,
// teams or allocation, and it never waits for a peer: an operation is posted,
// or refused with Again, and the caller waits in C.
//
// # Threads
//
// An Engine is a monitor. One lock word, shared with C, is held around every
// method but Loop; a thread that waits in C takes it by try-lock and polls,
// and the proxy thread (Loop) naps as long as such threads exist.
//
// # Active messages
//
// What fits one message travels as one: elements, atomics, signals and small
// puts. The target applies it with the same CPU instructions that PEs of its
// own node use, so that all atomics on an object are atomic together and no
// reader sees half of an element. Larger puts are one-sided writes, gets are
// one-sided reads.
//
// # Order
//
// Messages of one PE to another are applied in the order of posting, by a
// sequence number that the target sorts by: also a provider that keeps messages
// in order need not complete their receives so (comp_order of libfabric's
// fi_rx_attr; tcp promises none). A write that must follow a message, and on
// unordered fabrics a message that must follow a write, waits at the sender
// until the earlier ones are known to be done (the specification orders them
// only across a fence, and within put-with-signal). Quiet sends each PE that
// was touched a flush message, which is answered after all that was sent before
// it has been applied.
package proxy
