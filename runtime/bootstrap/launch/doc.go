// Package launch runs a job for shmemrun: it places PEs on simulated hosts,
// starts them, is the meeting place for their bootstrap, forwards signals and
// output, ends all of them when one fails, and leaves nothing behind.
//
// It does not parse command lines (cmd/shmemrun), does not know what the PEs
// exchange, and makes no networks (runtime/bootstrap/launch/hostnet).
//
// Threads: one goroutine, in Run, owns the state of the job; everything that
// happens reaches it as a function in job.actions. Beside it there are, for
// each PE, one goroutine that reads its socket and two that forward its
// output; one that reaps children; and one, on a locked thread, that starts
// the PEs and then lives as long as they do, since the kernel ties their
// parent-death signal to that thread. All of them block in the kernel: a job
// that computes costs shmemrun nothing.
package launch
