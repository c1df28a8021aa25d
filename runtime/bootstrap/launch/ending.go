package launch

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timeOut ends the job when the time of --timeout has passed, unless it ends already.
func (j *job) timeOut() {
	if j.ending {
		return
	}
	j.out.say(fmt.Sprintf("timeout of %v is over with %d of %d PEs running (raise --timeout)", j.opt.Timeout, j.running, j.opt.PEs))
	j.hurried = true
	j.setStatus(StatusTimeout)
	j.end(unix.SIGTERM, failureGrace)
}

// handleSignal handles a signal to shmemrun. A stop (SIGTSTP) stops the PEs and then shmemrun;
// SIGUSR2 and signals that end no job are passed on; one that ends the job (isEnding) is passed on
// with some seconds to obey it, and a second one kills.
func (j *job) handleSignal(s os.Signal) {
	sig := number(s)
	switch {
	case sig == unix.SIGTSTP:
		j.signalAll(unix.SIGTSTP)
		j.announceStop()
		_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
	case sig == unix.SIGUSR2:
		j.pass(sig)
	case !isEnding(s):
		j.signalAll(sig)
	case j.ending:
		j.out.say(fmt.Sprintf("got signal %d (%v) while ending: killing %d PEs", sig, s, j.running))
		j.kill()
	default:
		j.out.say(fmt.Sprintf("got signal %d (%v): ending %d PEs", sig, s, j.running))
		j.byUser, j.hurried = sig, true
		j.end(sig, signalGrace)
	}
}

// end sends all PEs a signal that ends them, and kills those that remain after the grace.
func (j *job) end(sig unix.Signal, grace time.Duration) {
	j.ending = true
	for _, p := range j.procs {
		if !p.leaving {
			p.signal(sig)
			p.signal(unix.SIGCONT) // a stopped PE would not handle the signal
		}
	}
	j.after(grace, j.kill)
}

// fail ends a job that has failed. PEs that outlive SIGTERM, because the program handles it, learn
// from the end of their connection that they need not wait for anything.
func (j *job) fail() {
	j.end(unix.SIGTERM, failureGrace)
	j.after(hangUpGrace, func() {
		for _, p := range j.procs {
			p.hangUp()
		}
	})
}

// kill kills all PEs, and later cuts the connections to agents that have not ended by themselves.
func (j *job) kill() {
	if j.byUser != 0 && j.running > 0 {
		j.setStatus(128 + int(j.byUser))
	}
	j.signalAll(unix.SIGKILL)
	if len(j.links) > 0 {
		j.after(agentGrace, j.cutLinks)
	}
}

// signalAll sends a signal to all PEs.
func (j *job) signalAll(sig unix.Signal) {
	for _, p := range j.procs {
		p.signal(sig)
	}
}

// endStrays ends the background processes that PEs have left behind. They are children of shmemrun,
// since it is the subreaper.
func (j *job) endStrays() {
	if j.childless {
		return
	}
	if len(j.links) > 0 {
		j.endLinks()
		return
	}
	signalStrays(&j.strayed, j.cleaner)
	j.after(killAgain, j.endStrays)
}

// signalStrays ends this process's children except the cleaner: by SIGTERM in the first call, whose
// time it stores in since, and by SIGKILL after strayGrace.
func signalStrays(since *time.Time, c *cleaner) {
	sig := unix.SIGTERM
	if since.IsZero() {
		*since = time.Now()
	} else if time.Since(*since) > strayGrace {
		sig = unix.SIGKILL
	}
	for _, pid := range children() {
		if c == nil || pid != c.pid {
			_ = unix.Kill(pid, sig)
		}
	}
}
