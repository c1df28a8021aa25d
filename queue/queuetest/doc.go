// Package queuetest is a ring with producers in Go, for tests of code that empties rings. It owns
// the ring's memory and follows the steps of device/shmem/ring.h one by one, so that a test can
// stop a producer at any step. It does not empty rings, and only tests import it.
//
// # Threads
//
// As in a program, any number of goroutines produce, and one consumes.
//
// # Order
//
// Every access is an atomic of Go, so the race detector sees the order that slots, replies and
// counters make. These are stronger than a GPU's relaxed stores; tests/ring runs the producers' own
// code.
package queuetest
