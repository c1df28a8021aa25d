// Package pmi is the bootstrap of a PE whose launcher uses the PMI-1 wire protocol: Hydra (mpiexec
// of MPICH and its relatives), and srun --mpi=pmi2, whose socket accepts this protocol, too, if the
// client's first word is "cmd=init".
//
// The protocol is lines of text over a socket that the process inherits (PMI_FD), or connects to
// (PMI_PORT): put and get in a key-value space, and a barrier after which each PE may get the
// values that all have put. No library is needed.
//
// Servers differ, and the package allows for that:
//
//   - The fields of a reply come in different orders: the package finds them by name.
//   - A line to Slurm has at most 1024 bytes, whatever maximum Slurm reports for values;
//     of a longer line Slurm loses the value and reports success. So the package
//     splits values into lines of at most maxLine bytes.
//   - Even the PE that has put a value can get it only after a barrier.
//   - A server waits in a barrier for ever for a PE that has died. So the package has
//     its own timeout, and a PE that waits says so by publish_name, the one command
//     that shows others something before the barrier ends.
//   - Hydra closes the socket after "finalize", and ends the job if a process ends
//     without that; Slurm does not accept a second "init". So one connection serves
//     all bootstraps of a process, one after the other, and ends with the process: Depart.
//
// After MPI_Init the socket belongs to MPI: code that chooses the bootstrap checks for MPI first.
//
// The package starts no goroutine and blocks in the kernel while it waits, as
// runtime/bootstrap/launcher does.
package pmi
