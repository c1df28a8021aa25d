// Package slurm brings together the tasks of a step that srun has started without PMI, from the
// variables that it sets.
//
// The variables name PE 0 and the host where it may be, and nothing that a stranger could not know.
// So PE 0 makes a unique id (runtime/bootstrap/uid), and gives it away at a listener: a TCP port
// that all PEs compute from the numbers of job and step, or that Slurm has reserved for the step. A
// PE that connects and PE 0 prove to each other by credentials of munge that they are processes of
// one user in one step (listener.go); the id comes inside of a credential, which no other user can
// read. A port that another program has costs nothing: there are several to choose from, and a PE
// leaves a listener that proves nothing.
//
// Where there is no munge, a file in a folder that the hosts share does the same
// (runtime/bootstrap/file).
//
// The listener closes when all have come; from then on this is the bootstrap of a unique id.
package slurm
