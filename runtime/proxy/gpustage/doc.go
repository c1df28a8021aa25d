// Package gpustage moves bytes of GPU memory between PEs if the fabric does not reach them. It also
// applies messages that change GPU memory, in their order.
//
// A Stage belongs to one engine, which asks it first about each operation and each message
// (proxy.GPU). Stage joins the parts below, and decides which of them does an operation (route.go):
//
//   - stream: the streams of this PE's GPU, by a Memory: work, marks, and chores behind a mark
//   - pool: pinned memory in pieces, of which a Stage has chunks and slots (pinned.go)
//   - arrival: messages that change GPU memory, in the order of their PE
//   - pull: reads of bytes that another PE has announced, and get.go the gets of this PE
//   - departure: bytes that leave GPU memory, and put.go the puts of this PE
//   - copies: copies between GPUs, on heaps of other PEs that are mapped here
//   - extent: the parts of heaps in GPU memory that NICs reach
//   - progress: counts of the work that arrival and pull do for a PE
//
// It does not own tokens, credit, order and the network: for those the parts ask its Engine.
//
// Copy engines move the bytes that the fabric does not reach. A signal follows its bytes by the
// order of a stream, and a quiet is answered when the stream has done the work before it. For a
// larger put this PE sends a request to send, and the target reads the bytes, through chunks of
// pinned memory (Stage, and docs/decisions/0009). If a NIC reaches GPU memory, larger puts and gets
// are one-sided there too. The owner then flushes the bytes that a NIC has written before anything
// acts on them, if the GPU needs that (package extent, and docs/decisions/0012).
//
// All methods but Undone and DriverCall are called with the engine's lock held, by whichever thread
// has it, and none waits for a GPU. Any thread may call Undone and DriverCall: the words that they
// read are atomic, and one word may be older than another.
package gpustage
