// Command ring measures the rings between producers and the proxy: the operations a second that one
// consumer takes, the time until a push is acknowledged, and the delay of operations that arrive at
// a steady rate. It owns the loads, the producers and a reference consumer in C. It measures
// package queue, by a consumer in Go that decodes and posts, and the library's own proxy, with all
// its checks and counters. All consumers post to the same provider, which transfers nothing, and
// under steady load reads the clock when an operation arrives.
//
// Producers are threads of the host, or of a GPU, whose kernels are in a library that is built
// separately (bench/gpu/kernels.cu). Every operation is decoded and all its fields are added up; a
// run whose sum is not that of the pushed operations fails.
//
// # Threads
//
// The reference consumer runs on a locked thread, the others as goroutines; the collector is off
// while they run. On machines with up to four cores an idle consumer yields its core. The main
// goroutine starts producers and waits. The order of memory accesses between producers and consumer
// is that of queue and of device/shmem.
package main
