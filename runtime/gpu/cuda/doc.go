// Package cuda calls NVIDIA's driver: it opens libcuda.so.1 on request, declares the functions of
// the driver's interface that the library needs, and represents each GPU as a Device. It is the
// only package that calls the driver or GDRCopy; neither is needed to build or, without a GPU, to
// run.
//
// It allocates, maps and shares memory, copies, and runs streams and kernels. Packages gpu,
// heap/devmem and those above them decide on the purpose, and on the method if there are several.
//
// # Threads
//
// A Driver and a Device may be used from any goroutine. Each operation locks its goroutine to a
// thread, pushes the Device's context there, and pops it at the end: a thread of the program that
// calls in here has its own context again afterwards. Operations that run for each message push,
// call and pop in one crossing into C. By default the context is the primary one, which the CUDA
// runtime uses, so the program's kernels reach memory that is allocated here.
//
// Copies and fills without a stream argument are complete when the call returns. They run on a
// stream of the Device that does not wait for the default stream, so they neither wait for a kernel
// of the program nor delay one. Calls that allocate or free may wait in the driver for kernels that
// run.
package cuda
