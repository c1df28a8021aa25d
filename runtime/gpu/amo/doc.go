// Package amo applies atomic operations of the host to memory of a GPU. The CPU cannot: without a
// BAR mapping it does not reach the memory, and with one its locked instructions are not atomic
// against the GPU's. So a kernel of one thread applies the operation. That takes some 10 us, and
// the kernel waits for a free multiprocessor of the GPU: if the program's kernels occupy all of
// these and one of the kernels waits for the operation, neither continues.
//
// A Unit may be used from any goroutine. Its operations have relaxed order and system scope. Do
// applies them one after the other, and waits for each; DeviceUnit.Put only queues one on a stream,
// which alone orders it.
package amo
