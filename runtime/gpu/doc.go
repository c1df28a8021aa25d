// Package gpu gets the memory of the rings between GPU threads and the proxy: memory that a GPU and
// the CPU reach both, by one of three methods, and memory near the producers for data that only they
// touch. It reports why this machine lacks a method, so that shmem-info and a failing start can
// print it.
//
// It also has the types of packages that need more of a GPU: addresses, chunks of memory, streams,
// the kinds of memory at a pointer.
//
// It knows no driver: a Device does the work. *cuda.Device is one, and runtime/job picks it. The
// queue decides on the contents of the memory, and on the order in which the two sides store to it;
// of the memory itself it has to know Memory.Combining.
//
// The package starts no thread and keeps no state. Functions may be called from any goroutine; a
// Memory has one owner. Allocating and releasing pinned memory can wait in the driver until running
// kernels have ended, so the rings are made before the first kernel that uses them and released
// after the last.
package gpu
