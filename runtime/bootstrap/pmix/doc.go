// Package pmix is the bootstrap of a PE whose launcher is a PMIx server: mpirun of Open MPI,
// prterun, and srun --mpi=pmix. The client is the launcher's own, libpmix.so.2, found when it is
// needed; its headers are not used, the needed declarations are in load.c.
//
// A PE puts its part into the key-value space of the job, a fence hands every PE's part to every
// PE, and gets read them. Each of these calls is begun here, ended by a thread of libpmix, and
// waited for with a timeout, because a server waits for ever for a PE that has died. A PE that
// waits for longer than a second puts a key that says so. When the timeout comes, the key is asked
// for of every PE: a server fetches it from the node of the PE without a fence, and the PEs whose
// keys do not come are named.
//
// After PMIx_Finalize some versions of the library cannot be initialised again, and before it a
// process may not end, or mpirun takes it for failed. So there is one PMIx_Init for all bootstraps
// of a process, and PMIx_Finalize is for its end: Depart. Both count: MPI may use the library in
// the same process, before and after.
package pmix
