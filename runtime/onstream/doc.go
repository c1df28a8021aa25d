// Package onstream is what the host has streams of a GPU do: puts, gets,
// signals, waits and collectives of a program, each queued at the stream that it
// names. It decides what does a call: the copy engine, an operation of the
// stream itself, or one of the library's own kernels (device/kernels), in how
// many blocks and which way.
//
// It does not check arguments, which the C front has done, and waits for nothing
// but in Drain. What a call leaves in the stream holds for every replay of a
// graph that it was captured in: nothing of it depends on how often it was
// called.
//
// Calls may be used from any goroutine once Open has returned. Order is that of
// the stream; between PEs it is what device/kernels says.
package onstream
