// Package staging is a stream.Memory on the streams of a driver: it gives the proxy its access to
// GPU memory. It owns four streams and some pinned memory for each engine. The engine decides about
// copies and their order. The caller chooses the driver.
//
// Nothing here starts a kernel, unless Kernels are given for atomic operations, and nothing between
// New and Close waits for the GPU. One thread at a time calls the methods, and another may call
// them next.
//
// # Memory order
//
// A mark is a store of its stream to pinned memory, behind a barrier of the stream: a thread that
// reads it with acquire sees the bytes that were copied before. If a driver has no such stores, a
// mark is an event. A look at a store takes a few instructions, a look at an event a microsecond.
package staging
