// Command ring measures the rings between producers and the proxy: the operations a second that one
// consumer takes, the time until a push is acknowledged, and the delay of operations that arrive at
// a steady rate. It owns the loads, the producers and a reference consumer in C. It measures
// package queue, by a consumer in Go that decodes and posts, and the library's own proxy, with all
// its checks and counters. They all post to one provider, which moves nothing, and under steady
// load reads the clock when an operation arrives.
//
// Producers are threads of the host, or of a GPU, whose kernels are in a library that is built
// separately (bench/gpu/kernels.cu). Every operation is decoded and all its fields are added up; a
// run whose sum is not that of the pushed operations fails.
//
// # Threads
//
// The reference runs on a locked thread of its own, the others as goroutines, on a core of their
// own if there are more than four, with the collector off while they run. The main goroutine starts
// producers and waits. The order of memory accesses between the two is that of queue and of
// device/shmem.
package main
