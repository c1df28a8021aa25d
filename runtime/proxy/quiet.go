package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// Operations are counted in generations. The open one takes what is posted
// now. QuietBegin closes it, unless the one before is not complete yet: then
// the open one is closed as soon as that is, and all quiets that begin until
// then share it. So at most two generations have operations under way, which
// two counters tell apart by the last bit of the generation's number, and a
// quiet ends however much is posted after it: it waits for two generations at
// most, and neither grows once it is closed.
type generations struct {
	open    Ticket // takes what is posted now; Express.Quieted is the last complete one
	wanted  bool   // close the open one as soon as the one before it is complete
	pending [3]int // operations and parked messages under way, by lane
	lost    [2]error
	unmet   int         // PEs of the closed generation that owe an answer
	listed  bool        // among the streams with a closed one: contexts.closers
	dirty   []fabric.PE // all of Express.Dirty
	late    []fabric.PE // PEs whose flush found no room

	failed    [8]failure // generations, newest last
	nFailed   int
	forgotten failure // the newest that found no place there
}

type failure struct {
	ticket Ticket
	err    error
}

// lane is the last bit of a generation, or noLane for messages that no quiet
// waits for.
type lane uint8

const noLane lane = 2

func laneOf(t Ticket) lane { return lane(t & 1) }

// QuietBegin asks for the completion of everything that was posted before. It
// waits for nothing and allocates nothing. An operation that was answered with
// Again was not posted.
func (e *Engine) QuietBegin() Ticket {
	if len(e.queues) > 0 {
		e.Release()
	}
	if !e.closing() {
		e.closeGeneration()
		t := e.open - 1
		e.settle()
		return t
	}
	e.wanted = true
	return e.open
}

// QuietDone answers Done when everything that was posted before the ticket's
// QuietBegin has taken effect at its target, Pending before, and Failed when
// an operation that the ticket covers failed and no caller was told. Each
// failure is in one generation: all quiets that share it hear of it, and none
// after them. A ticket that is asked for only after eight later generations
// failed is answered Failed too, for it is no longer known.
func (e *Engine) QuietDone(t Ticket) Status {
	if e.settle(); uint64(t) > e.Quieted {
		return Pending
	}
	for i := range e.failed[:e.nFailed] {
		if f := &e.failed[i]; f.ticket == t {
			return e.fail(f.err)
		}
	}
	if t <= e.forgotten.ticket {
		return e.fail(e.forgotten.err)
	}
	return Done
}

// closing tells whether a closed generation is not complete.
func (e *Engine) closing() bool { return uint64(e.open) > e.Quieted+1 }

// closeGeneration notes how far each PE that was touched has to come. A batch is of the
// generation in which it was opened, so none grows any more.
func (e *Engine) closeGeneration() {
	for _, pe := range e.queues {
		e.letGo(pe, &e.peers[pe])
	}
	e.open++
	work := e.dirty[:e.NDirty]
	for _, pe := range work {
		p := &e.peers[pe]
		p.Dirty = false
		p.Goal, p.GoalWrote = p.Asked, p.Wrote
		if !p.Met() {
			p.Unmet = true
			e.unmet++
		}
	}
	e.NDirty = 0
	if e.number != 0 {
		for _, pe := range work {
			e.fold(pe)
		}
		if !e.listed {
			e.listed = true
			e.closers = append(e.closers, e)
		}
	}
	for _, pe := range work {
		// A flush that cannot be sent puts its PE into dirty again, behind
		// where work is read.
		if e.peers[pe].Unmet {
			e.cover(pe)
		}
	}
}

// settle notices that the closed generation is complete.
func (e *Engine) settle() {
	for e.closing() && e.unmet == 0 && e.pending[laneOf(e.open-1)] == 0 {
		t := e.open - 1
		if lost := &e.lost[laneOf(t)]; *lost != nil {
			e.remember(t, *lost)
			*lost = nil
		}
		e.Quieted = uint64(t)
		if !e.wanted {
			return
		}
		e.wanted = false
		e.closeGeneration()
	}
}

func (e *Engine) remember(t Ticket, err error) {
	if e.nFailed == len(e.failed) {
		e.forgotten = e.failed[0]
		copy(e.failed[:], e.failed[1:])
		e.nFailed--
	}
	e.failed[e.nFailed] = failure{t, err}
	e.nFailed++
	e.Failures = 1
}

// lose notes that an operation failed whose caller waits for a quiet.
func (e *Engine) lose(l lane, err error) { e.lost[l] = err }

// cover sees to it that an answer of pe will cover its goal: that of a flush
// under way may, and is looked at when it comes.
func (e *Engine) cover(pe fabric.PE) {
	p := &e.peers[pe]
	switch e.flush(pe) {
	case Again:
		if !p.Late {
			p.Late = true
			e.late = append(e.late, pe)
			e.stick()
		}
	case Failed:
		// The next quiet tries again.
		e.lose(laneOf(e.open-1), e.err)
		p.Unmet = false
		e.unmet--
		e.touch(p, pe)
	}
}

// coverLate tries the flushes again that found no room.
func (e *Engine) coverLate() {
	work := e.late
	e.late = e.late[:0] // cover writes behind where work is read
	for _, pe := range work {
		p := &e.peers[pe]
		if p.Late = false; p.Unmet {
			e.cover(pe)
		}
	}
}

// account has a message to pe that was just sent waited for by the lane's
// generation. A signal that had to wait for its bytes may belong to the closed
// one.
func (e *Engine) account(pe fabric.PE, l lane) {
	p := &e.peers[pe]
	if l == laneOf(e.open) {
		e.touch(p, pe)
		return
	}
	if p.Goal, p.GoalWrote = p.Asked, p.Wrote; !p.Unmet {
		p.Unmet = true
		e.unmet++
	}
	e.cover(pe)
}

// flush asks pe to answer when it has applied all messages sent so far. On a
// fabric that orders messages behind writes the answer covers those too, whose
// completions say only that the source may be reused.
func (e *Engine) flush(pe fabric.PE) Status {
	p := &e.peers[pe]
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
	p := &e.peers[h.From]
	if !p.Flushing || h.Token != p.Question() {
		e.unasked(h)
		return
	}
	p.Count[layout.MostUnanswered] = max(p.Count[layout.MostUnanswered], p.Asked-p.Acked)
	p.Acked, p.WroteAcked = p.FlushAsked, p.FlushWrote
	p.Flushing = false
	e.recorder.Note(fabric.PE(h.From), layout.EventAcked, uint32(min(p.Asked-p.Acked, 1<<24-1)), uint32(p.Acked))
	if !p.Unmet {
		return
	}
	if p.Met() {
		p.Unmet = false
		e.unmet--
	} else {
		e.cover(fabric.PE(h.From))
	}
}

// touch remembers that the open generation has something to ask of pe.
func (e *Engine) touch(p *layout.Peer, pe fabric.PE) {
	if !p.Dirty {
		p.Dirty = true
		e.dirty[e.NDirty] = pe
		e.NDirty++
	}
}
