// Package pinned is a NIC for tests, played by the kernel: it holds the pages that
// memory had when it was registered, as a NIC does, by the fixed buffers of
// io_uring. What is moved by a registration whose memory has got other pages since
// is moved to and from pages that nobody else sees.
//
// It has no threads. One goroutine at a time calls a NIC.
package pinned
