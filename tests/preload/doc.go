// Package preload runs programs with libshmem_preload.so before their library: libshmem.so, Open
// MPI's OSHMEM, and libraries of the tests, whose functions tell what has reached them. It reads
// the traces as a user's reader would, and looks at what processes that call no SHMEM function
// notice of the shim: nothing.
package preload
