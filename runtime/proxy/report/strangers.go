package report

import (
	"fmt"
	"math/bits"
)

// What reaches an endpoint need not come from a PE of the job: a provider's listener
// takes connections from whoever knows its address. A message that does not carry the
// job's token and a PE's number, is no whole message, or has come before is dropped:
// nobody who does not belong to the job may end it. What carries the token is a PE's,
// and from there on a mistake is the job's own.

// ReportTo has f hear of refused messages: of the first, and then each time that there
// are twice as many. It is called with the lock held, and must not call the engine.
func (e *Endpoint) ReportTo(f func(error)) { e.tell = f }

// Tell reports an error that ends nothing.
func (e *Endpoint) Tell(err error) {
	if e.tell != nil {
		e.tell(err)
	}
}

// Refused is how many messages were dropped, and entries of the completion queue.
func (e *Endpoint) Refused() uint64 { return e.strange + e.prov.Strangers() }

// Refuse counts a message that is dropped.
func (e *Endpoint) Refuse(format string, args ...any) {
	e.strange++
	if n := e.strange; e.tell != nil && bits.OnesCount64(n) == 1 {
		e.tell(fmt.Errorf("receive: dropped a "+format+", %d dropped so far (keep strangers off the network of %s)",
			append(args, n, e.caps.Domain)...))
	}
}

// tellDropped tells of entries of the completion queue that the provider dropped, as Refuse
// does of messages.
func (e *Endpoint) tellDropped() {
	n := e.prov.Strangers()
	if n < max(1, 2*e.told) {
		return
	}
	e.told = n
	if e.tell != nil {
		e.tell(fmt.Errorf("poll: dropped completions that no operation of this PE caused, %d so far (keep strangers off the network of %s)",
			n, e.caps.Domain))
	}
}
