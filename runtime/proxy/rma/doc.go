// Package rma posts the one-sided writes and reads of a context: puts that do not fit a message,
// and gets. It owns the rules for when a write may be posted (order.go), the numbers that writes
// have on a network where messages overtake them (numbers.go), and the registration of callers'
// memory for the time of an operation (local.go). It does not own messages, nor the queues of
// operations that wait: it asks for them by the interface Messages.
//
// It starts no thread and takes no lock: its caller holds the engine's lock in each call. Memory
// order is that of the provider's completions.
package rma
