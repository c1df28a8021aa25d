// Package launch runs a job for shmemrun: it places PEs on simulated hosts,
// starts them, is the meeting place for their bootstrap, forwards signals and
// output, ends all of them when one fails, and leaves nothing behind.
//
// It does not parse command lines (cmd/shmemrun), does not know what the PEs
// exchange, and makes no networks (runtime/bootstrap/launch/hostnet).
//
// In a job on several hosts an agent starts the PEs of each: a process of
// shmemrun on that host (started by ssh, unless it is this host) that runs this
// package, too (agent.go, agentstart.go). A link (link.go) is the side of the
// first shmemrun of the connection to one agent, through which both send frames
// of runtime/bootstrap/launch/relay. For each PE of the agent the link has a
// socket and two pipes, into which it writes what the PE has written to its own.
// The agent reports to the link with which status a PE has ended, and the link
// reports that to the job. So the job treats PEs of agents like its own
// children; hosts.go has what differs. An agent decides nothing about the job.
//
// Threads: one goroutine, in Run, owns the state of the job; everything that
// happens reaches it as a function in job.actions. Beside it there are, for
// each PE, one goroutine that reads its socket and two that forward its
// output; one that reaps children; and one, on a locked thread, that starts
// the PEs and then lives as long as they do, since the kernel ties their
// parent-death signal to that thread. For each link there are one goroutine
// that reads it, one that writes it while there is something to write, and for
// each of its PEs up to three that write to the PE's socket and pipes. All of
// them block in the kernel: a job that computes costs shmemrun nothing.
package launch
