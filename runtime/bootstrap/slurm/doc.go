// Package slurm brings together the tasks of a step that srun has started without PMI,
// from the variables that it sets.
//
// The variables say who is PE 0 and on which host it may be, and nothing that a stranger
// could not know. So PE 0 makes a unique id (runtime/bootstrap/uid), and gives it away at a
// door: a TCP port that all PEs work out from the numbers of job and step, or that Slurm has
// reserved for the step. Who knocks there and who opens prove to each other by credentials of
// munge that they are processes of one user in one step (door.go); the id goes through the
// door inside of one, which nobody else can read. A port that another program has costs
// nothing: there are several to choose from, and who cannot prove anything is left again.
//
// Where there is no munge, a file in a folder that the hosts share does the same
// (runtime/bootstrap/file).
//
// The door is shut when all have come; from then on this is the bootstrap of a unique id.
package slurm
