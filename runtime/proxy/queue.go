package proxy

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// An operation that a fence orders after an operation under way waits here, not in its caller. Any
// operation waits for earlier bytes that are still to be copied out of GPU memory. Writes wait for
// messages that have not been applied, and for writes if the provider does not keep their order and
// has no fence of its own. On a network where messages overtake writes, messages wait for writes
// without a number. Later operations on the same PE wait after them, so a queue is in the order of
// posting. The head of a queue waits only for operations that were posted before all of the queue,
// and never for the queue of another PE. Replies and flushes do not queue.
//
// An operation here has a token, so the number of tokens bounds the queues.

// behindWrites reports whether a message of an epoch would overtake writes without a number from
// before a fence, so that it has to wait. A provider with a fence of its own keeps that order
// itself.
func (x *sender) behindWrites(p *layout.Peer, epoch uint64) bool {
	return p.Bare > 0 && p.WriteEpoch != epoch && !x.Net.Caps.Fence
}

// behindBytes reports whether an operation of an epoch would overtake bytes from before a fence
// that are still to be copied out of GPU memory, or onto a mapped heap.
func (x *sender) behindBytes(pe libshmem.PE, p *layout.Peer, epoch uint64) bool {
	return p.Staged && x.gpu.MustFollow(pe, epoch)
}

// Overtakes reports whether a message of an epoch would overtake operations that it has to follow
// and that the target does not know of. It is inlined: in most cases two bytes of the peer's record
// are 0, and nothing can be overtaken.
func (x *sender) Overtakes(pe libshmem.PE, p *layout.Peer, epoch uint64) bool {
	return (p.Bare > 0 || p.Staged) && x.overtakesThese(pe, p, epoch)
}

// overtakesThese does the rest of Overtakes, if writes without a number or bytes of the GPU stage
// are under way.
func (x *sender) overtakesThese(pe libshmem.PE, p *layout.Peer, epoch uint64) bool {
	return x.behindWrites(p, epoch) || x.behindBytes(pe, p, epoch)
}

// needsFence reports whether messages to p need the provider's own fence, because writes without a
// number, which they could overtake, are in flight.
func (x *sender) needsFence(p *layout.Peer) bool { return p.Bare > 0 && x.Net.Caps.Fence }

// Jam notes that the head of a queue could not be posted, because the provider's queue was full or
// its PE had no credit. That may change without a completion, so the next poll drives all queues.
func (x *sender) Jam() {
	x.Jammed = true
	x.engine.noteStuck()
}

// Enqueue adds an operation, whose record is filled, at the end of the queue of its PE.
func (x *sender) Enqueue(t fabric.Token, s *record) {
	p := &x.Peers[s.PE]
	x.closeBatch(p) // the batch is no longer the last of the queue
	s.Epoch, s.Next = x.Epoch, 0
	x.Recorder.Note(s.PE, layout.EventQueued, uint32(t), 0)
	p.Count[layout.Waited]++
	if p.Queued > 0 {
		x.Table.Records[p.Last].Next = t
	}
	if p.Enqueue(uint32(t)) {
		x.Queues = append(x.Queues, s.PE)
	}
	x.Quiets.Pending[s.Parity]++
}

// beginLater begins an operation with n bytes of payload that may have to wait in the queue or, if
// merges is set, may share a message with others. It returns where to fill the header. It returns
// Done and no header if neither is the case.
func (x *sender) beginLater(p *layout.Peer, pe libshmem.PE, n int, merges bool) (*layout.Header, call.Status) {
	merges = merges && mergeable(n)
	if p.Queued > 0 && !(merges && x.batchHasSpace(p, n)) {
		x.SendBatch(pe, p)
	}
	if p.Queued > 0 || x.Overtakes(pe, p, x.Epoch) {
		if merges {
			return x.draftRecord(p, pe, n)
		}
		return x.draftQueued(p, pe, n)
	}
	if !merges || !x.shareMessages() {
		return nil, call.Done
	}
	h, st := x.draftRecord(p, pe, n)
	if h != nil {
		x.holdForBurst(p)
	}
	return h, st
}

// draftQueued allocates a token for a message with n bytes of payload that has to wait in the queue
// of a PE, and returns where to fill its header. Then enqueueDraft queues the message.
func (x *sender) draftQueued(p *layout.Peer, pe libshmem.PE, n int) (*layout.Header, call.Status) {
	if !x.Reaches(p, pe) {
		return nil, x.Net.Fail(x.Net.Unreachable(pe))
	}
	if !x.HasRoom(pe, p, 0) {
		return nil, call.Again
	}
	t, s := x.AllocateToken(useQueued, p, pe)
	if s == nil {
		return nil, call.Again
	}
	s.Length = uint32(layout.HeaderSize + n)
	x.sending.To, x.Drafted = pe, t
	return (*layout.Header)(x.Net.Buffer(t)), call.Done
}

// enqueueDraft adds the drafted message, with its payload, to the queue of its PE, or the drafted
// operation to the batch of its PE.
func (x *sender) enqueueDraft(h *layout.Header, payload unsafe.Pointer, n int) call.Status {
	if x.Recording {
		return x.appendRecord(h, payload, n)
	}
	t := x.Drafted
	x.Drafted = 0
	if n > 0 {
		mem.Copy(unsafe.Add(unsafe.Pointer(h), layout.HeaderSize), payload, n)
	}
	x.Enqueue(t, &x.Table.Records[t])
	return call.Done
}

// driveAll posts the queued operations of all PEs, as far as order, credit and the provider's queue
// allow. PEs whose queue is empty are removed from the list.
func (x *sender) driveAll() {
	x.Jammed = false
	still := x.Queues[:0]
	for _, pe := range x.Queues {
		if x.Drive(pe); x.Peers[pe].Queued > 0 {
			still = append(still, pe)
		} else {
			x.Peers[pe].Unlist()
		}
	}
	x.Queues = still
}

// Drive posts the operations in the queue of a PE, from its head on.
func (x *sender) Drive(pe libshmem.PE) {
	p := &x.Peers[pe]
	if x.driving {
		return // the call of Drive that is under way will reach this operation
	}
	x.driving = true
	defer func() { x.driving = false }()
	for p.Queued > 0 && p.Parked == 0 {
		t := fabric.Token(p.First)
		s := &x.Table.Records[t]
		next := s.Next
		var st call.Status
		switch s.Use {
		case useWaits:
			st = x.driveWrite(t, s, p)
		case useDeparts:
			st = x.driveDeparture(t, s, p)
		default:
			st = x.driveMessage(t, s, p)
		}
		if st == call.Again || x.Net.IsLost(pe) {
			return
		}
		p.Dequeue(uint32(next))
		if st == call.Failed {
			x.failQueued(t, s)
		}
	}
}

// driveDeparture lets the GPU stage start a queued put whose source or destination is GPU memory.
// Again: it still has to wait.
func (x *sender) driveDeparture(t fabric.Token, s *record, p *layout.Peer) call.Status {
	if x.Overtakes(s.PE, p, s.Epoch) {
		return call.Again
	}
	// A put begins only if the PE has credit for a message with a header at least.
	if st := x.Admit(s.PE, p, layout.HeaderSize); st != call.Done {
		return x.jamUnless(p.Flushing, st)
	}
	s.Use = usePut // no longer queued (useDeparts), for a completion within Resume
	st := x.gpu.Resume(t)
	if st == call.Done {
		return call.Done
	}
	s.Use = useDeparts
	return x.jamUnless(false, st)
}

// driveWrite posts a one-sided write that waited in the queue. Again: it still has to wait.
func (x *sender) driveWrite(t fabric.Token, s *record, p *layout.Peer) call.Status {
	if x.behindBytes(s.PE, p, s.Epoch) {
		return call.Again
	}
	return x.writes.Resume(t, s, p)
}

// jamUnless returns st. If st is Again, it also calls Jam, so that the next poll drives the queue,
// unless a reply to a flush will arrive (awaitsReply), whose handling drives the queue.
func (x *sender) jamUnless(awaitsReply bool, st call.Status) call.Status {
	if st == call.Again && !awaitsReply {
		x.Jam()
	}
	return st
}

// driveMessage sends a message, or a batch, that waited in the queue. Again: it still has to wait,
// or the batch is held for more operations.
func (x *sender) driveMessage(t fabric.Token, s *record, p *layout.Peer) call.Status {
	if x.Overtakes(s.PE, p, s.Epoch) {
		return call.Again
	}
	if s.Hold != notHeld && x.batchStaysHeld(p, s) {
		return call.Again
	}
	if fabric.Token(p.Last) == t { // an open batch is the last of its queue, and this may be it
		x.closeBatch(p)
	}
	n := int(s.Length)
	if st := x.Admit(s.PE, p, n); st != call.Done {
		return x.jamUnless(p.Flushing, st)
	}
	op, parity, epoch, pe := &x.sending, s.Parity, s.Epoch, s.PE
	op.To, op.Len, op.Buf, op.Token = pe, n, x.Net.Buffer(t), t
	op.Fence = x.needsFence(p)
	op.Inject = n <= x.Net.Caps.MaxInject && !op.Fence
	injected := op.Inject
	s.Use = useSend
	if err := x.stampAndSend(op, p); err != nil {
		s.Use = useQueued
		return x.jamUnless(false, x.StatusOfRefusal(pe, p, err))
	}
	x.Quiets.Pending[parity]--
	p.Charge(x.Cost(n), epoch)
	if injected {
		x.ReleaseToken(t)
	}
	x.Quiets.AwaitAcknowledgement(pe, parity)
	return call.Done
}

// failQueued fails an operation that waited in the queue of its PE and that the provider then
// refused for good: its request or, without one, the quiets that cover it.
func (x *sender) failQueued(t fabric.Token, s *record) {
	x.Quiets.Pending[s.Parity]--
	if s.Request != nil {
		x.Complete(s.Request, int32(call.Failed), 0)
	} else {
		x.Quiets.Fail(s.Parity, x.Net.Err)
	}
	x.ReleaseToken(t)
}

// SendBatchBeforeWrite sends the batch of a PE, unless a write on the PE may overtake that. It
// reports whether the write still has to wait in the queue after operations on the PE.
func (x *sender) SendBatchBeforeWrite(pe libshmem.PE, p *layout.Peer) bool {
	if p.Batch != nil && !x.onlyHeldBatchQueued(p) {
		x.SendBatch(pe, p)
	}
	return p.Queued > 0 && !x.onlyHeldBatchQueued(p) || x.behindBytes(pe, p, x.Epoch)
}

// Follow sends the message that follows a write, after the write has been posted, or adds it to a
// batch.
func (x *sender) Follow(s *record, p *layout.Peer) {
	if !x.addSignalToBatch(p, s) {
		x.sendOrPark(s.PE, s.Epoch, s.Parity, &s.After)
	}
}
