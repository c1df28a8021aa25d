// Package gpustage moves bytes of GPU memory between PEs where the fabric does not reach them, and
// has messages that change GPU memory take effect there in their order.
//
// A Stage belongs to one engine, which asks it first about each operation and each message
// (proxy.GPU). It owns what it knows of GPU memory: the streams of this PE's GPU by way of a
// Memory, chunks and slots of pinned memory, bytes on their way, messages that wait for a stream,
// heaps of other PEs that are mapped here, and the parts of heaps that NICs reach. It does not own
// tokens, credit, order and the network: for those it asks its Engine.
//
// Copy engines do what the fabric does not: a signal follows its bytes by the order of a stream,
// and quiet answers when the stream has come so far. Larger puts are offered by a message and read
// by the target, by way of chunks of pinned memory (Stage, and docs/decisions/0009). Heaps of other
// PEs that are mapped in the process are written by copies between GPUs (peer.go). Where a NIC
// reaches GPU memory, larger puts and gets are one-sided there too, and the owner flushes what a
// NIC has written before anything acts on it, if the GPU demands that (direct.go, and
// docs/decisions/0012).
//
// All but Undone and Errand is called with the engine's lock held, by whichever thread has it, and
// nothing waits for a GPU. Undone and Errand may be called by any thread: what they read is
// atomic, and one word of it may be older than another.
package gpustage
