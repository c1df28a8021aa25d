// Package launchers starts jobs with the launchers of others: Hydra, Open MPI's mpirun,
// and Slurm's srun on a cluster of two nodes, which the test sets up on this machine as
// the launchers' own documentation has it. The program is in C, as users write them.
package launchers
