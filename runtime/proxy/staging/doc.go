// Package staging is the proxy's way to GPU memory: a gpustage.Memory on the streams
// of a driver. It owns four streams and some pinned memory for each engine. What
// is copied where and in which order is the engine's affair; which driver is
// behind it, its caller's.
//
// Nothing here starts a kernel, unless Kernels are given for atomic operations,
// and nothing between New and Close waits for the GPU. Methods are called by one
// thread at a time, and by another the next time.
//
// # Memory order
//
// A mark is a store of its stream to pinned memory, behind a barrier of the
// stream: who reads it with acquire sees what was copied before. An event where a
// driver has no such stores. Asking for either is a few instructions and a
// microsecond.
package staging
