package proxy

import (
	"fmt"
	"math/bits"
)

// What reaches an endpoint need not come from a PE of the job: a provider's listener
// takes connections from whoever knows its address. A message that does not carry the
// job's token and a PE's number, is no whole message, or has come before is dropped:
// nobody who does not belong to the job may end it. What carries the token is a PE's,
// and from there on a mistake is the job's own.

// truncated is libfabric's error of a receive whose message was larger than its buffer.
const truncated = 265

// ReportTo has f hear of refused messages: of the first, and then each time that there
// are twice as many. It is called with the lock held, and must not call the engine.
func (e *Engine) ReportTo(f func(error)) { e.report = f }

// Refused is how many messages were dropped, and entries of the completion queue.
func (e *Engine) Refused() uint64 { return e.strange + e.prov.Strangers() }

// refuse drops a message.
func (e *Engine) refuse(format string, args ...any) {
	e.strange++
	if n := e.strange; e.report != nil && bits.OnesCount64(n) == 1 {
		e.report(fmt.Errorf("receive: dropped a "+format+", %d dropped so far (keep strangers off the network of %s)",
			append(args, n, e.caps.Domain)...))
	}
}

// reportDropped tells of entries of the completion queue that the provider dropped, as refuse
// does of messages.
func (e *Engine) reportDropped() {
	n := e.prov.Strangers()
	if n < max(1, 2*e.reported) {
		return
	}
	e.reported = n
	if e.report != nil {
		e.report(fmt.Errorf("poll: dropped completions that no operation of this PE caused, %d so far (keep strangers off the network of %s)",
			n, e.caps.Domain))
	}
}
