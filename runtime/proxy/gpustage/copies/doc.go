// Package copies reads and writes heaps of other PEs that are mapped in this process, by copies
// between GPUs: all in one stream, in the order of posting, with the signal behind its bytes.
//
// Copies owns the order of these operations, and the signals that wait for their bytes. It does not
// own the pinned memory for bytes of main memory, which go in pieces, by Departures. All methods
// are called with the engine's lock held, and none waits for a GPU.
package copies
