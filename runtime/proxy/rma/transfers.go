package rma

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/ops"
)

// Transfers are the writes and reads of one context.
type Transfers struct {
	*ops.Operations
	Messages   Messages
	GPU        GPU // nil: no PE of this job has GPU memory
	Numbers    Numbers
	MostUnread uint64 // bytes of writes to one PE that it may not have acknowledged

	moving fabric.RMA // operand of calls through Provider and GPU: on the stack it would be allocated
}
