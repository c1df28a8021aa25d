// Package sender sends the messages of a context, and keeps the order of its operations on each PE.
// It owns credits for messages (Admit), the engine's own messages that found no room (Unsent), the
// queues of operations that a fence orders behind others (queue.go), and batches of small
// operations (merge.go). It knows neither the effect of a message at its target nor how writes are
// posted.
//
// It starts no thread and takes no lock: its caller holds the engine's lock in each call. The
// thread that drives the engine reads one word without it, State.Held.
package sender
