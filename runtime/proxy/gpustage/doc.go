// Package gpustage moves bytes of GPU memory between PEs if the fabric does not reach them. It also
// applies messages that change GPU memory, in their order.
//
// A Stage belongs to one engine, which calls it first for each operation and each message. The path
// of an operation, by files:
//
//   - dispatch.go: which part does an operation, and which one handles a message
//   - put.go, departure.go, chunk.go: puts of this PE, and bytes that leave GPU memory in pieces
//   - get.go, pull.go: gets of this PE, and reads of bytes that another PE has announced
//   - copies.go: copies between GPUs, on heaps of other PEs that are mapped here
//   - arrival.go: messages that change GPU memory, in the order of their PE (progress.go)
//   - heaps.go: the parts of heaps in GPU memory that NICs reach
//   - pinned.go, pool.go: the pinned memory that bytes pass through: chunks for large pieces, and
//     slots for bytes that fit a message
//   - advance.go: one poll of all of them
//
// Package stream puts the work into the streams of this PE's GPU, through a Memory: copies and
// stores; marks, by which the CPU sees which work a stream has carried out; and chores, tasks of
// the CPU after a mark. Stage does not own tokens, credit, order and the network: for those its
// parts call its Engine.
//
// Copy engines move the bytes that the fabric does not reach. A signal follows its bytes by the
// order of a stream, and a PE replies to a flush when the stream has carried out the work before
// it. For a larger put this PE sends a request to send, and the target reads the bytes, through
// chunks of pinned memory (Stage, and docs/decisions/0009). If a NIC reaches GPU memory, larger
// puts and gets are one-sided there too. The owner then flushes the bytes that a NIC has written
// before anything uses them, if the GPU needs that (heaps.go, and docs/decisions/0012).
//
// All methods but Undone and DriverCall are called with the engine's lock held, by any thread that
// has it, and none waits for a GPU. Any thread may call Undone and DriverCall: the words that they
// read are atomic, and one word may be older than another.
package gpustage
