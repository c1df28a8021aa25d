// Package pinned is a fake NIC for tests, made of the kernel's io_uring: like a NIC, the fixed
// buffers of io_uring hold the pages that memory had when it was registered. If the memory has
// other pages now, its registration moves bytes to and from pages that the program does not see.
//
// It has no threads. One goroutine at a time calls a NIC.
package pinned
