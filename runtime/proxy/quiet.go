package proxy

import (
	"libshmem"
)

// QuietBegin begins a quiet of all operations posted before, and returns its ticket for QuietDone.
// It waits for nothing and allocates nothing. An operation that was refused with Again was not
// posted.
func (e *Engine) QuietBegin() Ticket {
	if len(e.out.Queues) > 0 {
		e.Release()
	}
	return e.ops.Quiets.Begin()
}

// QuietDone returns Done when all operations posted before the ticket's QuietBegin have taken
// effect at their targets, and Pending before. It returns Failed if an operation that the ticket
// covers failed and no caller got its status: see generations.Done. Err then has the reason.
func (e *Engine) QuietDone(t Ticket) Status {
	st, err := e.ops.Quiets.Done(t)
	if st == Failed {
		e.ops.Net.Err = err
	}
	return st
}

// flush requests a reply from a PE when it has applied all messages sent to it (interface flusher).
func (e *Engine) flush(pe libshmem.PE) Status { return e.out.Flush(pe) }

// sendBatches sends the batches, messages that small operations share, before the open generation
// is closed: the group of operations for which the next quiets wait. A batch belongs to the
// generation in which it was opened.
func (e *Engine) sendBatches() { e.out.SendBatches() }

// noteSentTo is called when a generation, the operations for which a quiet waits, is closed, with
// the PEs to which the generation has sent. For a context other than the first it adds the counts
// of those PEs to the first context's, and adds the context to the list of those whose closed
// generation retryOthers settles.
func (e *Engine) noteSentTo(pes []libshmem.PE) {
	if e.ops.Number == 0 {
		return
	}
	for _, pe := range pes {
		e.moveCountsToFirst(pe)
	}
	if !e.listed {
		e.listed = true
		e.closingContexts = append(e.closingContexts, e)
	}
}
