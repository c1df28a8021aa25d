package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// QuietBegin asks for the completion of all operations posted before. It waits for nothing and
// allocates nothing. An operation that was refused with Again was not posted.
func (e *Engine) QuietBegin() Ticket {
	if len(e.queues) > 0 {
		e.Release()
	}
	return e.Quiets.Begin()
}

// QuietDone returns Done when all operations posted before the ticket's QuietBegin have taken
// effect at their targets, and Pending before. It returns Failed if an operation that the ticket
// covers failed and no caller was told: see quiet.Generations.Done.
func (e *Engine) QuietDone(t Ticket) Status {
	st, err := e.Quiets.Done(t)
	if st == Failed {
		e.Net.Err = err
	}
	return st
}

// asker is the engine as its quiets see it.
type asker struct{ e *Engine }

func (a asker) Flush(pe fabric.PE) Status { return a.e.flush(pe) }
func (a asker) Err() error                { return a.e.Net.Err }
func (a asker) Stick()                    { a.e.stick() }

// LetGo sends batches: a batch belongs to the generation in which it was opened.
func (a asker) LetGo() {
	for _, pe := range a.e.queues {
		a.e.letGo(pe, &a.e.Peers[pe])
	}
}

func (a asker) Closed(pes []fabric.PE) {
	e := a.e
	if e.Number == 0 {
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

// flush asks pe to answer when it has applied all messages sent so far. On a fabric that orders
// messages behind writes, the answer also covers writes whose completions say only that the source
// may be reused.
func (e *Engine) flush(pe fabric.PE) Status {
	p := &e.Peers[pe]
	if p.Flushing {
		return Pending
	}
	p.FlushTurn++
	if st := e.sendCopy(pe, &layout.Header{Kind: layout.KindFlush, Token: p.Question()}); st != Done {
		p.FlushTurn--
		return st
	}
	p.FlushAsked, p.FlushWrote = p.Asked, p.Wrote
	p.Flushing = true
	return Pending
}

// flushed takes the answer to a flush.
func (e *Engine) flushed(h *layout.Header) {
	p := &e.Peers[h.From]
	if !p.Flushing || h.Token != p.Question() {
		e.unasked(h)
		return
	}
	p.Count[layout.MostUnanswered] = max(p.Count[layout.MostUnanswered], p.Asked-p.Acked)
	p.Acked, p.WroteAcked = p.FlushAsked, p.FlushWrote
	p.Flushing = false
	e.Recorder.Note(fabric.PE(h.From), layout.EventAcked, uint32(min(p.Asked-p.Acked, 1<<24-1)), uint32(p.Acked))
	e.Quiets.Answered(p, fabric.PE(h.From))
}
