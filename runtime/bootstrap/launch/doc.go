// Package launch runs a job for shmemrun: it places PEs on simulated hosts,
// starts them, is the meeting place for their bootstrap, forwards signals and
// output, ends all of them when one fails, and leaves nothing behind.
//
// It does not parse command lines (cmd/shmemrun), does not know what the PEs
// exchange, and makes no networks (runtime/bootstrap/launch/hostnet).
//
// PEs of other hosts are started by an agent on each, which is this package in
// another process (agent.go, agentstart.go). Ssh connects it with a link
// (link.go) by the protocol of runtime/bootstrap/launch/relay. A link fills a
// socket and two pipes for each PE, and reports its end, so that job treats
// PEs of agents as its own children; hosts.go has what differs. An agent
// decides nothing about the job.
//
// Threads: one goroutine, in Run, owns the state of the job; everything that
// happens reaches it as a function in job.actions. Beside it there are, for
// each PE, one goroutine that reads its socket and two that forward its
// output; one that reaps children; and one, on a locked thread, that starts
// the PEs and then lives as long as they do, since the kernel ties their
// parent-death signal to that thread. Beside a link there are one goroutine
// that reads it, one that writes it while there is something to write, and for
// each PE up to three that fill its socket and pipes. All of them block in the kernel: a job
// that computes costs shmemrun nothing.
package launch
