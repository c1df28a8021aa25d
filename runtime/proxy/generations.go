package proxy

import (
	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// flusher sends flushes to PEs, which reply when they have applied earlier messages. The engine
// implements it.
type flusher interface {
	// flush requests a reply from a PE when it has applied all messages sent to it. Pending: the
	// request is under way; Again: the provider's queue is full; Failed: Err has the reason.
	flush(pe libshmem.PE) call.Status
	Err() error
	// noteStuck notes that a flush could not be posted: RetryFlushes is called at the next poll.
	noteStuck()
	// sendBatches sends the messages that small operations share. It is called before the open
	// generation is closed: from then on no operation may join it.
	sendBatches()
	// noteSentTo gets the PEs to which a generation has sent, when the generation is closed and
	// before the flushes to them. It must not store the slice.
	noteSentTo(pes []libshmem.PE)
}

// generations group the operations of one context, so that a quiet completes when all operations
// posted before it have taken effect, however many are posted later. They know which PEs owe a
// reply to a flush, and send flushes through the interface flusher. They know nothing of messages.
//
// Operations that are posted now belong to the open generation. Begin closes it, unless the
// generation before it is not complete yet. Then the open one is closed as soon as the one before
// is complete, and all quiets that begin until then share it. So at most two generations have
// operations under way. Two counters, selected by the parity (the last bit of the generation's
// number), count them separately. A quiet completes however many operations are posted after it: it
// waits for two generations at most, and neither grows once it is closed.
type generations struct {
	Open    call.Ticket   // the generation of new operations; State.Quieted is the last complete one
	Pending [3]int        // operations and parked messages under way, by parity; those of noParity are not read
	Late    []libshmem.PE // PEs whose flush could not be posted
	Wanted  bool          // close the open generation as soon as the one before is complete
	Unmet   int           // PEs that owe a reply for the closed generation

	flusher   flusher
	state     *layout.State
	peers     []layout.Peer
	dirty     []libshmem.PE // PEs to which the open generation has sent: the first State.NDirty entries
	lost      [2]error      // by parity: why an operation of the generation has failed; nil: none has
	failed    [8]failure    // the last generations that failed, newest last
	nFailed   int
	forgotten failure // the newest failure that no longer fits
}

// failure is why a generation of operations failed, for the quiet with that ticket.
type failure struct {
	ticket call.Ticket
	err    error
}

// parity is the last bit of a generation's number, or noParity for messages that no quiet waits
// for. It is an index of generations.Pending.
type parity uint8

// noParity is the parity of messages that no quiet waits for.
const noParity parity = 2

// newGenerations returns the generations of a context. C changes state and peers, too. dirty has an
// entry for each PE; its first State.NDirty entries are the PEs to which the open generation has
// sent.
func newGenerations(f flusher, state *layout.State, peers []layout.Peer, dirty []libshmem.PE) generations {
	return generations{Open: 1, flusher: f, state: state, peers: peers, dirty: dirty}
}

// Parity returns the parity of the open generation, that of new operations: the last bit of its
// number, which selects one of two counters.
func (g *generations) Parity() parity { return parity(g.Open & 1) }

// closedParity returns the parity of the generation before the open one.
func (g *generations) closedParity() parity { return parity((g.Open - 1) & 1) }

// Begin begins a quiet of all operations posted before, and returns the ticket to pass to Done. It
// waits for nothing and allocates nothing.
func (g *generations) Begin() call.Ticket {
	if !g.Closing() {
		g.close()
		t := g.Open - 1
		g.Settle()
		return t
	}
	g.Wanted = true
	return g.Open
}

// Done returns call.Done when all operations posted before the ticket's Begin have taken effect at
// their targets, and Pending until then. It returns Failed with a reason if an operation that the
// ticket covers failed and no caller waited for it; a caller that waits gets the failure as its own
// status. Each failure belongs to one generation: all quiets that share the generation get it, and
// no later ones. If Done is first called for a ticket after eight later generations have failed, it
// returns Failed too, because the ticket's result is no longer known.
func (g *generations) Done(t call.Ticket) (call.Status, error) {
	if g.Settle(); uint64(t) > g.state.Quieted {
		return call.Pending, nil
	}
	for i := range g.failed[:g.nFailed] {
		if f := &g.failed[i]; f.ticket == t {
			return call.Failed, f.err
		}
	}
	if t <= g.forgotten.ticket {
		return call.Failed, g.forgotten.err
	}
	return call.Done, nil
}

// Closing reports whether the generation before the open one, which is closed, is not complete yet.
// A generation is a group of operations that quiets complete together.
func (g *generations) Closing() bool { return uint64(g.Open) > g.state.Quieted+1 }

// close closes the open generation: it notes, for each PE to which the generation has sent, what
// the PE has to acknowledge, and sends flushes to the PEs that have not acknowledged it.
func (g *generations) close() {
	g.flusher.sendBatches()
	g.Open++
	work := g.dirty[:g.state.NDirty]
	for _, pe := range work {
		p := &g.peers[pe]
		if p.CloseGeneration() {
			g.Unmet++
		}
	}
	g.state.NDirty = 0
	g.flusher.noteSentTo(work)
	for _, pe := range work {
		// If the flush fails, requestCover adds the PE to dirty again, at an entry that this loop
		// has read.
		if g.peers[pe].Unmet {
			g.requestCover(pe)
		}
	}
}

// Settle marks the closed generation complete, if no operation of it is under way and no PE owes it
// a reply. Then it closes the open one if quiets wait for that.
func (g *generations) Settle() {
	for g.Closing() && g.Unmet == 0 && g.Pending[g.closedParity()] == 0 {
		t := g.Open - 1
		if lost := &g.lost[g.closedParity()]; *lost != nil {
			g.storeFailure(t, *lost)
			*lost = nil
		}
		g.state.Quieted = uint64(t)
		if !g.Wanted {
			return
		}
		g.Wanted = false
		g.close()
	}
}

// storeFailure stores why generation t failed, for Done. There is room for the last eight failures;
// of the older ones only the newest is stored, and Done reports it for each older ticket.
// State.Failures tells C that some generation has failed.
func (g *generations) storeFailure(t call.Ticket, err error) {
	if g.nFailed == len(g.failed) {
		g.forgotten = g.failed[0]
		copy(g.failed[:], g.failed[1:])
		g.nFailed--
	}
	g.failed[g.nFailed] = failure{t, err}
	g.nFailed++
	g.state.Failures = 1
}

// Fail makes the quiets of the generation with a parity fail, because an operation failed and no
// caller waits for it.
func (g *generations) Fail(parity parity, err error) { g.lost[parity] = err }

// requestCover makes sure that some reply of a PE will cover its goal, that is, all messages of the
// closed generation. The reply to a flush under way may cover it; HandleReply checks that when the
// reply arrives.
func (g *generations) requestCover(pe libshmem.PE) {
	p := &g.peers[pe]
	if p.Left {
		g.LeavePE(p)
		return
	}
	switch g.flusher.flush(pe) {
	case call.Again:
		if p.MarkLate() {
			g.Late = append(g.Late, pe)
			g.flusher.noteStuck()
		}
	case call.Failed:
		// This quiet fails; MarkDirty makes the next one flush the PE again.
		g.Fail(g.closedParity(), g.flusher.Err())
		p.Settle()
		g.Unmet--
		g.MarkDirty(p, pe)
	}
}

// RetryFlushes retries the flushes that could not be posted because the provider's queue was full.
func (g *generations) RetryFlushes() {
	work := g.Late
	g.Late = g.Late[:0] // requestCover adds PEs to Late at entries that this loop has read
	for _, pe := range work {
		p := &g.peers[pe]
		if p.ClearLate(); p.Unmet {
			g.requestCover(pe)
		}
	}
}

// AwaitAcknowledgement makes the generation with a parity wait until a PE acknowledges the message
// that was just sent to it. That may be the closed generation, if the message is a signal that had
// to wait for its bytes.
func (g *generations) AwaitAcknowledgement(pe libshmem.PE, parity parity) {
	p := &g.peers[pe]
	if parity == g.Parity() {
		g.MarkDirty(p, pe)
		return
	}
	if p.RaiseGoal() {
		g.Unmet++
	}
	g.requestCover(pe)
}

// MarkDirty adds a PE to the dirty list, those to which the open generation has sent: a quiet of
// the generation has to get a reply from it.
func (g *generations) MarkDirty(p *layout.Peer, pe libshmem.PE) {
	if p.Touch() {
		g.dirty[g.state.NDirty] = pe
		g.state.NDirty++
	}
}

// HandleReply handles a PE's reply to a flush: the closed generation stops waiting for the PE, or
// requests another flush if the reply does not cover all that the generation has sent to the PE.
func (g *generations) HandleReply(p *layout.Peer, pe libshmem.PE) {
	if !p.Unmet {
		return
	}
	if p.HasAcknowledgedGoal() {
		p.Settle()
		g.Unmet--
	} else {
		g.requestCover(pe)
	}
}

// LeavePE makes quiets stop waiting for a PE whose program has announced its end: it needs no
// messages any more, and will soon stop replying.
func (g *generations) LeavePE(p *layout.Peer) {
	if p.Settle() {
		g.Unmet--
	}
	p.Excuse()
}

// LosePE makes quiets stop waiting for a lost PE. A quiet fails if it covers messages that the PE
// has not acknowledged: those of the closed generation if that waited for the PE (Settle), and
// those of the open one, beyond the closed one's goal.
func (g *generations) LosePE(p *layout.Peer, err error) {
	if p.Settle() {
		g.Unmet--
		g.Fail(g.closedParity(), err)
	}
	if p.Dirty && (p.Charged > max(p.Acked, p.Goal) || p.Wrote > max(p.WroteAcked, p.GoalWrote)) {
		g.Fail(g.Parity(), err)
	}
	p.Excuse()
	p.AbandonFlush()
}

// Dirty returns the PEs to which the open generation has sent.
func (g *generations) Dirty() []libshmem.PE { return g.dirty[:g.state.NDirty] }

// Failed returns the number of failed generations whose tickets are still known.
func (g *generations) Failed() int { return g.nFailed }

// Lost returns, for the generation of each parity, why an operation of it has failed.
func (g *generations) Lost() [2]error { return g.lost }
