package proxy

import (
	"libshmem/fabric"
)

// The transfers are the one-sided writes and reads of a context: puts that do not fit a message, and
// gets. The rules for when a write may be posted are in write_order.go, the numbers that writes have
// on a network where messages overtake them in numbers.go, and the registration of callers' memory for
// the time of an operation in register_local.go. Messages and the queues of operations that wait are
// the sender's. Memory order is that of the provider's completions.

// Transfers are the writes and reads of one context.
type Transfers struct {
	*Operations
	Messages   rmaMessages
	GPU        rmaGPU // nil: no PE of this job has GPU memory
	Numbers    Numbers
	MostUnread uint64 // bytes of writes to one PE that it may not have acknowledged

	moving fabric.RMA // operand of calls through Provider and GPU: on the stack it would be allocated
}
