package proxy

import (
	"libshmem"
)

// QuietBegin asks for the completion of all operations posted before. It waits for nothing and
// allocates nothing. An operation that was refused with Again was not posted.
func (e *Engine) QuietBegin() Ticket {
	if len(e.out.Queues) > 0 {
		e.Release()
	}
	return e.ops.Quiets.Begin()
}

// QuietDone returns Done when all operations posted before the ticket's QuietBegin have taken
// effect at their targets, and Pending before. It returns Failed if an operation that the ticket
// covers failed and no caller's status reported: see generations.Done.
func (e *Engine) QuietDone(t Ticket) Status {
	st, err := e.ops.Quiets.Done(t)
	if st == Failed {
		e.ops.Net.Err = err
	}
	return st
}

// flush asks a PE to answer when it has applied all messages sent to it: see asker.
func (e *Engine) flush(pe libshmem.PE) Status { return e.out.Flush(pe) }

// sendBatches sends batches: a batch belongs to the generation in which it was opened.
func (e *Engine) sendBatches() { e.out.SendBatches() }

// touched adds the counts of a context for the PEs that its generation has touched to those of the
// first context, which settles the generation (retryOthers).
func (e *Engine) touched(pes []libshmem.PE) {
	if e.ops.Number == 0 {
		return
	}
	for _, pe := range pes {
		e.fold(pe)
	}
	if !e.listed {
		e.listed = true
		e.closers = append(e.closers, e)
	}
}
