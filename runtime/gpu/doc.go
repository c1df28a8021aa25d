// Package gpu allocates the memory of the rings between GPU threads and the proxy: memory that both
// a GPU and the CPU reach, by one of three methods, and memory near the producers for data that
// only they touch. It reports why a method does not work on this machine, so that shmem-info and a
// failed start can print it.
//
// It also has types that other packages share: GPU addresses, chunks of memory, streams, the kinds
// of memory that a pointer may point to.
//
// It calls no driver itself: it works through a Device, such as a *cuda.Device, which runtime/job
// chooses. Package queue decides on the contents of the memory, and on the order in which the two
// sides store to it; of the memory itself it has to know Memory.Combining.
//
// The package starts no thread and keeps no state. Functions may be called from any goroutine; a
// Memory has one owner. Allocating and releasing pinned memory can wait in the driver until running
// kernels have ended, so the rings are made before the first kernel that uses them and released
// after the last.
package gpu
