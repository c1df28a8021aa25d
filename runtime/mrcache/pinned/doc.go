// Package pinned is a fake NIC for tests, made of the kernel's io_uring. Like a registration with a
// NIC, a fixed buffer of io_uring keeps the pages that memory had when it was registered. If the
// memory gets other pages later, an operation on the buffer accesses the old pages, which the
// program does not see.
//
// It has no threads. One goroutine at a time calls a NIC.
package pinned
