package proxy

import "libshmem/fabric"

// Fence orders what was posted before it ahead of what is posted after it, for
// each PE. It posts nothing and waits for nothing: the operations that have to
// wait find out when they are posted.
func (e *Engine) Fence() Status {
	e.Epoch++
	return Done
}

// Quiet answers Done when everything that was posted has taken effect at its
// target. While it answers Pending the caller polls and asks again. It answers
// Failed once when an operation failed that no caller was told about.
func (e *Engine) Quiet() Status {
	if e.lost != nil {
		err := e.lost
		e.lost = nil
		return e.fail(err)
	}
	e.unpark()
	if len(e.parked) > 0 {
		return Pending
	}
	status := Done
	keep := e.dirty[:0]
	for _, pe := range e.dirty {
		p := &e.peers[pe]
		if p.acked == p.asked && p.writes == 0 && !p.unflushed && !p.flushing {
			p.dirty = false
			continue
		}
		keep = append(keep, pe)
		if (p.acked != p.asked || p.unflushed) && e.flush(pe) == Failed {
			status = Failed
		}
	}
	e.dirty = keep
	if status == Done && (len(e.dirty) > 0 || e.inflight > 0) {
		return Pending
	}
	return status
}

// flush asks pe to answer when it has applied all messages sent so far. On a
// fabric that orders messages behind writes the answer covers those too, whose
// completions say only that the source may be reused.
func (e *Engine) flush(pe fabric.PE) Status {
	p := &e.peers[pe]
	if p.flushing {
		return Pending
	}
	t, s, ok := e.take(useFlush, pe)
	if !ok {
		return Again
	}
	if st := e.send(pe, e.Epoch, &header{Kind: kindFlush, Token: e.question(t)}, nil, 0); st != Done {
		e.give(t)
		return st
	}
	s.asked = p.asked
	p.flushing = true
	p.unflushed = false
	return Pending
}
