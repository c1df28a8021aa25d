// Package call holds what engines exchange with their callers and with the loop that drives them:
// the request, the status of a call, the ticket of a quiet, the limits of an engine and the step
// after a poll. It lies below package proxy and package loop, so that neither has to import the
// other. It owns no state and starts no thread.
//
// A Request is written by the engine under its lock, and Done last, with release order. Whoever
// reads Done with acquire order may read the rest.
package call

// Ticket names a quiet. Tickets ascend; 0 is none.
type Ticket uint64

// Limits bound the operations that an engine takes. They stay as they are once it is connected.
type Limits struct {
	NPEs      int
	Internal  uint64 // bytes of the symmetric segment before the user heap
	Size      uint64 // bytes of the segment
	PutMax    uint64 // bytes of one put or get
	MaxInject uint64 // bytes of a message that may be injected
}

// Step is what the loop does after a poll.
type Step int

// The values of Step.
const (
	PollAgain    Step = iota
	PollUnread        // the provider has something that leaves no completion
	SleepStuck        // something has no room, and nothing may come that ends a wait
	SleepHolding      // a batch waits for the rest of its burst
	SleepCopying      // streams have not carried out anything for long
	WaitArmed
)
