package proxy

import (
	"fmt"
	"math/bits"

	"libshmem/fabric"
)

// A message need not come from a PE of the job: the listener of a provider accepts connections from
// any process that knows its address, and no process outside of the job may end the job. So the
// engine drops a message that lacks the job's token or a PE's number, that is incomplete, or that
// has arrived before. A message with the token is from a PE, so an error in it ends the job.

// ReportTo sets the function that gets reports of dropped messages, of the first one and then each
// time that their number has doubled, and all errors of ReportError. f is called with the lock
// held, and must not call the engine.
func (e *Report) ReportTo(f func(error)) { e.report = f }

// ReportError reports an error after which the job goes on.
func (e *Report) ReportError(err error) {
	if e.report != nil {
		e.report(err)
	}
}

// Refused returns the number of messages and completions that were dropped.
func (e *Report) Refused() uint64 { return e.strange + e.prov.Strangers() }

// Belated returns the number of requests and words of PEs of the job that the provider has dropped
// because they came too late.
func (e *Report) Belated() uint64 { return fabric.BelatedOf(e.prov) }

// Refuse counts a message that the engine drops, which format describes. It reports the first,
// second, fourth, eighth and so on, so that a flood of messages does not flood the log.
func (e *Report) Refuse(format string, args ...any) {
	e.strange++
	if n := e.strange; e.report != nil && bits.OnesCount64(n) == 1 {
		e.report(fmt.Errorf("receive: dropped a "+format+", %d dropped so far (keep strangers off the network of %s)",
			append(args, n, e.caps.Domain)...))
	}
}

// ReportDropped reports completions that the provider has dropped, as often as Refuse reports
// messages. Publish calls it, and Engine.Close before it closes the provider: a job may end before
// the next Publish is due.
func (e *Report) ReportDropped() {
	n := e.prov.Strangers()
	if n < max(1, 2*e.reportedDrops) {
		return
	}
	e.reportedDrops = n
	if e.report != nil {
		e.report(fmt.Errorf("poll: refused what came from outside of the job, %d so far (keep strangers off the network of %s)",
			n, e.caps.Domain))
	}
}
