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
// covers failed and no caller was told: see quiet.Generations.Done.
func (e *Engine) QuietDone(t Ticket) Status {
	st, err := e.ops.Quiets.Done(t)
	if st == Failed {
		e.ops.Net.Err = err
	}
	return st
}

// upward is the engine as its quiets, its sender and its monitor see it.
type upward struct{ e *Engine }

func (a *upward) Flush(pe libshmem.PE) Status { return a.e.out.Flush(pe) }
func (a *upward) Err() error                  { return a.e.ops.Net.Err }
func (a *upward) Stick()                      { a.e.stick() }

func (a *upward) NoRoom() bool { return a.e.NoRoom() }

func (a *upward) Holds() bool { return a.e.holds() }

func (a *upward) Unreachable(pe libshmem.PE, err error) { a.e.unreachable(pe, err) }

// LetGo sends batches: a batch belongs to the generation in which it was opened.
func (a *upward) LetGo() { a.e.out.LetGoAll() }

func (a *upward) Closed(pes []libshmem.PE) {
	e := a.e
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
