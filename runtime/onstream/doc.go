// Package onstream queues work at CUDA streams for calls of the host: puts, gets, signals, waits
// and collectives of a program, each at the stream that the call names. It decides what executes a
// call: the copy engine, an operation of the stream itself, or one of the library's own kernels
// (device/kernels), in how many blocks, and by which algorithm.
//
// It does not check arguments, which the C front has done, and only drain waits. The work that a
// call leaves in the stream may be captured in a graph and replayed: no part of the work depends on
// how often it has run.
//
// Calls may be used from any goroutine once Open has returned. Work runs in the order of the
// stream; between PEs the order is that of device/kernels.
package onstream
