// Package pmi is the bootstrap of a PE that a launcher of the PMI-1 wire protocol started: Hydra
// (mpiexec of MPICH and its relatives), and srun --mpi=pmi2, whose socket speaks this protocol too
// when its first word is "cmd=init".
//
// The protocol is lines of text over a socket that the process inherits (PMI_FD), or connects to
// (PMI_PORT): put and get in a key-value space, and a barrier after which each PE may get the
// values that all have put. No library is needed.
//
// Servers differ, and this package reacts:
//
//   - The order of the fields in a reply: they are looked up by name.
//   - A line to Slurm has at most 1024 bytes, whatever it says of its values' length;
//     of a longer one it loses the value and answers that all is well. Values are
//     cut into lines of at most maxLine bytes.
//   - A value can be got after a barrier and not before, even by the PE that has put it.
//   - A barrier waits for ever for a PE that has died. The wait ends here, and the
//     PEs that wait have said so by publish_name, which is the one command that
//     shows the others something before the barrier is over.
//   - Hydra closes the socket after "finalize" and ends the job when a process goes
//     without; Slurm does not know a second "init". So one conversation serves all
//     bootstraps of a process in turn, and ends with the process: Depart.
//
// After MPI_Init the socket is MPI's: code that chooses the bootstrap looks for MPI first.
//
// The package starts no goroutine and blocks in the kernel while it waits, as
// runtime/bootstrap/launcher does.
package pmi
