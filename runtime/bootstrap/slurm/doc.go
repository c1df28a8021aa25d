// Package slurm brings together the tasks of a step that srun has started without PMI, from the
// variables that it sets.
//
// From the variables a PE knows the hosts where PE 0 may run, but no secret. So PE 0 makes a unique
// id (runtime/bootstrap/uid), and sends it to each PE that connects to its TCP port, which all PEs
// compute from the numbers of job and step, or which Slurm has reserved for the step. The PE and PE
// 0 prove to each other by credentials of munge that they are processes of one user in one step
// (listener.go, talk.go); the id is inside a credential, which no other user can read. If another
// program has a port, PE 0 uses another of several, and a PE disconnects from a listener that
// proves nothing.
//
// Without munge, PE 0 can pass on the id by a file in a folder that the hosts share
// (runtime/bootstrap/file).
//
// The listener closes when all PEs have joined; from then on the job uses the bootstrap of a unique
// id.
package slurm
