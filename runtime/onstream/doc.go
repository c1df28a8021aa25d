// Package onstream queues work at CUDA streams for the host: puts, gets, signals, waits and
// collectives of a program, each at the stream that it names. It decides how a call is done: by the
// copy engine, an operation of the stream itself, or one of the library's own kernels
// (device/kernels), in how many blocks, and by which algorithm.
//
// It does not check arguments, which the C front has done, and waits for nothing but in Drain. The
// work that a call leaves in the stream is right for every replay of a graph that it was captured
// in: nothing of it depends on how often it was called.
//
// Calls may be used from any goroutine once Open has returned. Order is that of the stream; between
// PEs it is the order of device/kernels.
package onstream
