// Package pmix is the bootstrap of a PE whose launcher is a PMIx server: mpirun of Open MPI,
// prterun, and srun --mpi=pmix. It uses the launcher's client library, libpmix.so.2, which it loads
// when it needs it; it does not use the library's headers, and has the needed declarations in
// load.c.
//
// In an allgather each PE puts its contribution into the key-value space of the job, a fence makes
// all of them available to every PE, and each PE gets them. The package starts each of these calls,
// a thread of libpmix completes it, and the package waits with a timeout, because a server waits
// for ever for a PE that has died. A PE that waits in a fence for longer than a second puts a key
// that says so. After the timeout a PE gets that key from every other PE, which a server fetches
// from the PE's node without a fence, and names the PEs that have none.
//
// Some versions of the library cannot be initialised again after PMIx_Finalize, and mpirun takes a
// process that ends without it for failed. So there is one PMIx_Init for all bootstraps of a
// process, and PMIx_Finalize at its end: Depart. The library counts both calls, so MPI may use it
// in the same process, before and after.
package pmix
