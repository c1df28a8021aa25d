// Package call has the types that engines exchange with their callers and with the loop that drives
// them: the request, the status of a call, the ticket of a quiet, the limits of an engine and the
// step after a poll. It lies below package proxy and package loop, so that neither has to import
// the other. It owns no state and starts no thread.
//
// The engine writes a Request under its lock, and Done last, with release order. A reader that has
// read Done with acquire order may read the rest.
package call

// Ticket names a quiet. Tickets ascend; 0 is none.
type Ticket uint64

// Limits bound the operations that an engine accepts. They do not change once it is connected.
type Limits struct {
	NPEs      int
	Internal  uint64 // bytes of the symmetric segment before the user heap
	Size      uint64 // bytes of the segment
	PutMax    uint64 // bytes of one put or get
	Parts     bool   // a put or get may have to be divided further: the heaps of GPUs have parts
	MaxInject uint64 // bytes of a message that may be injected
	MergeMost uint64 // bytes of an operation that may share a message
}

// Step says what the loop that drives an engine does after a poll.
type Step int

// The values of Step.
const (
	PollAgain    Step = iota
	PollYielding      // poll again, after a thread that waits for the processor
	PollUnread        // poll again: the provider has work that leaves no completion
	SleepStuck        // pause: the provider's queue was full for an operation, and perhaps no event will end a wait
	SleepHolding      // pause: a batch waits for the rest of its burst
	SleepCopying      // pause: GPU streams have not carried out any work for long
	WaitArmed         // sleep until the network has something
)
