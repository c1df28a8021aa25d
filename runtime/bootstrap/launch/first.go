package launch

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/wire"
)

// reaperDelay is the interval between checks whether the reaper has reported the end of a PE that
// it has seen.
const reaperDelay = 10 * time.Millisecond

// aborted ends the job because PE p aborts it, unless another PE ended before, perhaps the one that
// p missed: the first cause decides how the job ends. The reaper may report that end only after the
// abort has arrived, because its thread waits for a processor or is busy with another child. So
// aborted first finds out which PEs have ended.
func (j *job) aborted(p *process, e wire.Ending) {
	if len(j.links) > 0 && !p.probed && !j.ending {
		p.probed, p.aborting = true, true
		j.probe(func() {
			p.aborting = false
			j.aborted(p, e)
		})
		return
	}
	p.aborting = !j.ending && j.firstEnds()
	if p.aborting {
		j.after(reaperDelay, func() { j.aborted(p, e) })
		return
	}
	j.endAs(p, wire.Abort, e)
	if p.exited {
		j.decide(p)
	}
}

// endAs ends the job with the status and reason that PE p has sent, by an abort or an exit.
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

// firstEnds calls decide for the PEs that have ended, except those that have requested the end of
// the job. It reports whether that is too early for one of them: its last frames, or the reaper's
// report, have not arrived yet.
func (j *job) firstEnds() (wait bool) {
	for _, p := range j.procs {
		if p.leaving || p.judged {
			continue
		}
		if p.link != nil {
			wait = wait || p.exited // decide is called when its socket is empty
			continue
		}
		if !p.exited {
			pid, ws, err := ended(unix.P_PID, p.pid, unix.WNOHANG)
			switch {
			case errors.Is(err, unix.ECHILD):
				wait = wait || !j.childless // the reaper has seen the end, and reports it next
				continue
			case pid != p.pid:
				continue // it runs
			}
			j.exited(pid, ws)
		}
		wait = wait || !p.judged
	}
	return wait && !j.ending
}
