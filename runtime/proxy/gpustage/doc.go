// Package gpustage moves bytes of GPU memory between PEs if the fabric does not reach them. It also
// applies messages that change GPU memory, in their order.
//
// A Stage belongs to one engine, which asks it first about each operation and each message
// (proxy.GPU). It owns the GPU memory of the engine: the streams of this PE's GPU by a Memory,
// chunks and slots of pinned memory, bytes on their way, messages that wait for a stream, heaps of
// other PEs that are mapped here, and the parts of heaps that NICs reach. It does not own tokens,
// credit, order and the network: for those it asks its Engine.
//
// Copy engines move the bytes that the fabric does not reach. A signal follows its bytes by the
// order of a stream, and a quiet is answered when the stream has done the work before it. For a
// larger put this PE sends a request to send, and the target reads the bytes, through chunks of
// pinned memory (Stage, and docs/decisions/0009). Copies between GPUs write heaps of other PEs that
// are mapped in the process (peer.go). If a NIC reaches GPU memory, larger puts and gets are
// one-sided there too. The owner then flushes the bytes that a NIC has written before anything acts
// on them, if the GPU needs that (direct.go, and docs/decisions/0012).
//
// All methods but Undone and DriverCall are called with the engine's lock held, by whichever thread
// has it, and none waits for a GPU. Any thread may call Undone and DriverCall: the words that they
// read are atomic, and one word may be older than another.
package gpustage
