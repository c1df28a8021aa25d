package proxy

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
)

// transfers are the one-sided writes and reads of a context: puts that do not fit a message,
// and gets. The rules for when a write may be posted are in write_order.go, the numbers that writes
// have on a network where messages overtake them in numbers.go, and the registration of callers'
// memory for the time of an operation in register_local.go. Messages and the queues of operations
// that wait are the sender's. Memory order is that of the provider's completions.
type transfers struct {
	*operations
	Messages  transferMessages
	GPU       *gpustage.Stage // nil: no PE of this job has GPU memory
	Numbers   writeNumbers
	MaxUnread uint64 // bytes of writes to one PE that it may not have acknowledged

	moving fabric.RMA // operand of calls through Provider and GPU: on the stack it would be allocated
}

// transferMessages sends the messages of the same context, and queues its operations by PE.
type transferMessages interface {
	// startPeer is called before the first operation on a PE, and reports whether operations on it
	// may be posted.
	startPeer(pe libshmem.PE, p *layout.Peer) bool
	// TryUnpark tries to send messages to a PE that are parked because the provider's queue was full,
	// and reports whether none is parked now: a write would overtake them.
	TryUnpark(p *layout.Peer) bool
	// SendBatchBeforeWrite sends the batch of a PE, if a write must follow it, and reports whether the
	// write must queue because earlier operations on the PE are queued.
	SendBatchBeforeWrite(pe libshmem.PE, p *layout.Peer) bool
	// Enqueue queues a write until Resume posts it.
	Enqueue(t fabric.Token, s *record)
	// Drive calls Resume for the writes to a PE that need not wait any longer. Jam makes the sender
	// call Drive at the next poll.
	Drive(pe libshmem.PE)
	Jam()

	// Flush requests a reply from a PE when it has applied all messages sent so far. Admit returns
	// whether a PE has credit for a message of n bytes.
	Flush(pe libshmem.PE) call.Status
	Admit(pe libshmem.PE, p *layout.Peer, n int) call.Status
	// Follow sends the message in the record of a write that has been posted. sendOwn sends a
	// message, or parks it.
	Follow(s *record, p *layout.Peer)
	sendOwn(pe libshmem.PE, epoch uint64, parity parity, h layout.Header)
}
