// Package amo applies atomic operations of the host to memory of a GPU. The CPU
// cannot: without a BAR mapping it does not reach the memory, and with one its
// locked instructions are not atomic against the GPU's. So a kernel of one
// thread does it, which takes some 10 us and waits for a free place on the GPU:
// while the program's kernels occupy all of it and one of them waits for this,
// neither goes on.
//
// A Unit may be used from any goroutine; operations are done one after the
// other, relaxed, with the scope of the system.
package amo
