// Package perf runs shmem-perf on this machine as a user does: on one node, between hosts with a
// network between them that is as it should be and is not, in jobs of other launchers, and beside
// another library of OpenSHMEM. It looks at what is measured and not at how fast it is.
package perf
