package launch

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/wire"
)

// reaperDelay is the interval between checks whether the reaper has reported the end of a PE.
const reaperDelay = 10 * time.Millisecond

// handleAbort handles an abort of the job by PE p. The first cause decides how the job ends:
// another PE may have failed earlier, and p may have aborted only because it lost that PE. The
// report of that failure may arrive after the abort. So handleAbort first waits, for a limited
// time, until the agents of other hosts have reported the PEs that have ended (probe). Then it
// calls itself every reaperDelay until the ends of these PEs and of those on this host are handled
// (decideEnded). The reaper, the thread that waits for child processes, may report an end late,
// because it waits for a processor or is busy with another child.
func (j *job) handleAbort(p *process, e wire.Ending) {
	if len(j.links) > 0 && !p.probed && !j.ending {
		p.probed, p.aborting = true, true
		j.probe(func() {
			p.aborting = false
			j.handleAbort(p, e)
		})
		return
	}
	p.aborting = !j.ending && j.decideEnded()
	if p.aborting {
		j.after(reaperDelay, func() { j.handleAbort(p, e) })
		return
	}
	j.endAs(p, wire.Abort, e)
	if p.exited {
		j.decide(p)
	}
}

// endAs ends the job with the status and reason that PE p has sent, by an abort or an exit. An
// abort with status 0 counts as a failure.
func (j *job) endAs(p *process, kind wire.Kind, e wire.Ending) {
	if j.ending {
		return
	}
	status := int(e.Status) & 0xff
	switch {
	case kind == wire.Abort:
		if status == 0 {
			status = StatusFailure
		}
		reason := ""
		if e.Reason != "" {
			reason = ": " + e.Reason
		}
		j.out.say(fmt.Sprintf("PE %d aborted the job with status %d%s", p.pe, status, reason))
	case status != 0:
		j.out.say(fmt.Sprintf("PE %d ended the job with status %d", p.pe, status))
	}
	j.setStatus(status)
	j.fail()
}

// decideEnded calls decide for the PEs that have ended, except those that have requested the end of
// the job. It reports whether that is too early for one of them: its last frames, or the reaper's
// report, have not arrived yet.
func (j *job) decideEnded() (wait bool) {
	for _, p := range j.procs {
		if p.leaving || p.decided {
			continue
		}
		if p.link != nil {
			wait = wait || p.exited // decide is called when its socket is empty
			continue
		}
		if !p.exited {
			pid, ws, err := findEnded(unix.P_PID, p.pid, unix.WNOHANG)
			switch {
			case errors.Is(err, unix.ECHILD):
				wait = wait || !j.childless // the reaper has seen the end, and reports it next
				continue
			case pid != p.pid:
				continue // it runs
			}
			j.handleExit(pid, ws)
		}
		wait = wait || !p.decided
	}
	return wait && !j.ending
}
