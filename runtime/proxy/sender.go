package proxy

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
)

// sender sends the messages of a context, and keeps the order of its operations on each PE. It owns
// credits for messages (Admit), the engine's own messages that could not be posted yet (Unsent),
// the queues of operations that have to wait (queue.go), and batches, messages that small
// operations share (batch.go). It knows neither the effect of a message at its target nor how
// writes are posted.
//
// The proxy thread reads one of its words without the lock, State.Held.
type sender struct {
	// These three are copies of the operations' members: to read them there costs 1 ns more for
	// each message.
	*layout.State
	Net   *network
	Peers []layout.Peer

	batches
	writes queuedWrites
	gpu    *gpustage.Stage // nil: no PE of this job has GPU memory
	engine *Engine

	Queues    []libshmem.PE // PEs with queued operations, see queue.go; some may have none left
	Unsent    []unsent      // parked messages: the engine's own, which the provider did not accept
	Drafted   fabric.Token  // the token of the message that draftQueued has drafted; 0: none
	Recording bool          // the draft is a record of a batch
	Jammed    bool          // the head of some queue could not be posted

	spare   []unsent
	driving bool        // the head of a queue is being posted
	sending fabric.Send // operand of calls through Provider: on the stack it would be allocated
}

// newSender returns the sender of a context. writes are the writes of the same context, and bursts
// are shared by all contexts. The lists of parked messages of the first context have memory from
// the start, because most programs use no other one.
func newSender(o *operations, writes queuedWrites, bursts *bursts, e *Engine) sender {
	x := sender{batches: batches{operations: o, bursts: bursts}, writes: writes, engine: e}
	x.copyPointers()
	if o.Number == 0 {
		x.Unsent, x.spare = make([]unsent, 0, 64), make([]unsent, 0, 64)
	}
	return x
}

// Open copies the pointers to the state of the context's operations. Preconditions: that state is
// mapped, and the endpoint is open.
func (x *sender) Open() {
	x.copyPointers()
	x.sending.Desc = x.Net.Desc
}

// copyPointers copies the pointers of the operations that each message needs to the sender itself,
// which saves a load for each.
func (x *sender) copyPointers() {
	x.State, x.Net, x.Peers = x.operations.State, x.operations.Net, x.operations.Peers
}

// Use sets the engine's GPU stage.
func (x *sender) Use(g *gpustage.Stage) { x.gpu = g }

// unsent is one of the engine's own messages, parked because the provider's queue was full.
// Callers' messages are never parked: their callers get Again.
type unsent struct {
	pe     libshmem.PE
	parity parity
	epoch  uint64 // of the message
	h      layout.Header
}

// Retry tries again to send parked messages and flushes and to post queued operations, and reports
// whether some still wait.
func (x *sender) Retry() bool {
	x.unpark()
	x.Quiets.RetryFlushes()
	x.driveAll()
	return x.NoRoom()
}

// NoRoom reports whether messages, flushes or queued operations wait because the provider's queue
// was full or a PE had no credit.
func (x *sender) NoRoom() bool { return len(x.Unsent)+len(x.Quiets.Late) > 0 || x.Jammed }

// Drop drops the parked messages, the batch and the queue of a PE that is lost. The caller fails
// the operations that were queued.
func (x *sender) Drop(pe libshmem.PE, p *layout.Peer) {
	kept := x.Unsent[:0]
	for _, m := range x.Unsent {
		if m.pe == pe {
			x.Quiets.Pending[m.parity]--
			continue
		}
		kept = append(kept, m)
	}
	x.Unsent = kept
	p.Unpark()
	x.closeBatch(p)
	p.DropQueue()
}

// Reaches reports whether operations on a PE may be posted. The first call for a PE asks the
// network.
func (x *sender) Reaches(p *layout.Peer, pe libshmem.PE) bool {
	return p.Reachable || x.startPeer(pe, p)
}

// startPeer is called before the first operation on a PE. It asks the network whether there is a
// path to the PE and returns the answer. If there is one, the PE gets a ring of the flight
// recorder, and, if the provider names the writer, its sequence stream.
func (x *sender) startPeer(pe libshmem.PE, p *layout.Peer) bool {
	if p.SetReachable(x.Net.Reachable(pe)); p.Reachable {
		x.writes.startPeer(p)
		x.Recorder.AssignRing(pe)
	}
	return p.Reachable
}

// begin returns the header of a caller's operation on a PE, which the caller fills for Send. n is
// the payload in bytes, and merges says that the operation may share its message with others. If
// the operation cannot be posted now, begin returns no header, and a status. The header is filled
// where the provider reads it. If it were filled elsewhere and copied at once, its narrow stores
// would still be under way when the wide loads of the copy follow, which takes 8 ns more.
func (x *sender) begin(pe libshmem.PE, n int, merges bool) (*layout.Header, call.Status) {
	p := &x.Peers[pe]
	if !x.Reaches(p, pe) {
		return nil, x.Net.Fail(x.Net.Unreachable(pe))
	}
	if !x.TryUnpark(p) {
		return nil, x.CountNoTurn(pe, p)
	}
	// The operation waits behind queued ones and behind an earlier epoch that is not complete, or it
	// may join others in one message. beginLater returns no header and Done if it goes out now.
	if p.Queued > 0 || x.shareMessages() || x.Overtakes(pe, p, x.Epoch) {
		if h, st := x.beginLater(p, pe, n, merges); h != nil || st != call.Done {
			return h, st
		}
	}
	// The provider copies a message that it injects. A longer one needs a token until its completion.
	if layout.HeaderSize+n > x.Net.Caps.MaxInject && !x.HasRoom(pe, p, 0) {
		return nil, call.Again
	}
	if st := x.Admit(pe, p, layout.HeaderSize+n); st != call.Done {
		return nil, st
	}
	if h := x.draft(p, pe, n); h != nil {
		return h, call.Done
	}
	return nil, call.Again
}

// TryUnpark tries to send the messages to p that are parked because the provider's queue was full,
// since the queue may have emptied without a completion (injected messages have none). It reports
// whether none is parked now; otherwise a caller's message would overtake them.
func (x *sender) TryUnpark(p *layout.Peer) bool {
	if p.Parked > 0 {
		x.unpark()
	}
	return p.Parked == 0
}

// Admit returns Done if a caller may send p a message of n bytes, and Again if p has no credit for
// it. Credit is counted in units, of up to 2^State.Unit bytes of a message. When FlushAt units,
// half of p's credit, are unacknowledged, it starts a flush, which requests an acknowledgement.
func (x *sender) Admit(pe libshmem.PE, p *layout.Peer, n int) call.Status {
	if p.Charged-p.Acked < uint64(x.FlushAt) {
		return call.Done
	}
	return x.admitLate(pe, p, n)
}

// admitLate does the rest of Admit when half of the PE's credit is used up: it sends a flush,
// unless one is under way, whose reply renews the credit. It returns Again if a message of n bytes
// would exceed the credit, and Failed if the flush cannot be sent at all.
func (x *sender) admitLate(pe libshmem.PE, p *layout.Peer, n int) call.Status {
	switch st := x.Flush(pe); {
	case st == call.Failed:
		return call.Failed
	case p.Charged-p.Acked+x.Cost(n) > uint64(x.Window):
		x.CountNoCredit(pe, p)
		return call.Again
	}
	return call.Done
}

// queuedWrites posts the one-sided writes of the same context that wait in queues. transfers
// implements it.
type queuedWrites interface {
	// startPeer is called before the first operation on a PE.
	startPeer(p *layout.Peer)
	// Resume posts a write that has waited in a queue; call.Again: it still has to wait.
	Resume(t fabric.Token, s *record, p *layout.Peer) call.Status
}
