// Package launchers starts jobs with other launchers: Hydra, Open MPI's mpirun, and Slurm's srun on
// a cluster of two nodes, which the test sets up on this machine as the launchers' documentation
// says. The program is in C, as users write them.
package launchers
