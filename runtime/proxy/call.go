package proxy

import "libshmem/runtime/proxy/call"

// Types that callers and engines exchange: see package call.
type (
	Status    = call.Status
	Request   = call.Request
	Operation = call.Operation
	Ticket    = call.Ticket
)

// The values of Status.
const (
	Failed  = call.Failed
	Done    = call.Done
	Pending = call.Pending
	Again   = call.Again
)
