// Package cuda calls NVIDIA's driver: it opens libcuda.so.1 on request, declares the few functions
// of the driver's interface that the library needs, and gives each GPU as a Device. It is the only
// package that calls the driver, and GDRCopy beside it; neither is needed to build or, where there
// is no GPU, to run.
//
// It allocates, maps and shares memory, copies, and runs streams and kernels. Packages gpu,
// heap/devmem and those above them decide on the purpose, and on the method if there are several.
//
// # Threads
//
// A Driver and a Device may be used from any goroutine. Each operation is done with its goroutine
// locked to a thread and the GPU's primary context pushed there, which is popped at the end: a
// thread of the program that comes through here finds its own context as it was. An operation for
// each message pushes, calls and pops in one crossing into C. The primary context is the one that
// the CUDA runtime uses, so the program's kernels reach memory that is allocated here.
//
// Copies and fills without a stream of the caller run on one for each Device that does not wait for
// the default stream, and are done when the call returns: they neither wait for a kernel of the
// program nor hold one up. The driver allocates and frees, and may wait there for kernels that run.
package cuda
