// Package pinned is a fake NIC for tests, on top of the kernel: it holds the pages that memory had
// when it was registered, as a NIC does, by the fixed buffers of io_uring. If the memory has got
// other pages since, its registration moves bytes to and from pages that the program does not see.
//
// It has no threads. One goroutine at a time calls a NIC.
package pinned
