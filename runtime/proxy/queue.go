package proxy

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/ops"
)

// An operation that a fence orders behind something under way waits here, not in its caller. Any
// operation waits behind bytes that are still to be copied out of GPU memory. Writes wait behind
// messages that have not been applied, and behind writes if the provider does not keep their order
// and has no fence of its own. On a network where messages overtake writes, messages wait behind
// writes without a number. Later operations on the same PE wait behind it, so a queue is in the
// order of posting. The head of a queue waits only for operations that were posted before all of
// the queue, and never for the queue of another PE: answers and flushes pass.
//
// An operation here holds a token, so tokens bound the queues.

// behindWrites reports whether a message of an epoch would overtake writes from before a fence that
// the target does not know of. The provider's own fence is better than a wait.
func (e *Engine) behindWrites(p *layout.Peer, epoch uint64) bool {
	return p.Bare > 0 && p.WriteEpoch != epoch && !e.Net.Caps.Fence
}

// behindBytes reports whether an operation of an epoch would overtake bytes from before a fence
// that are still to be copied out of GPU memory, or onto a mapped heap.
func (e *Engine) behindBytes(pe fabric.PE, p *layout.Peer, epoch uint64) bool {
	return p.Staged && e.gpu.MustFollow(pe, epoch)
}

// overtakes reports whether a message of an epoch would overtake operations that it has to follow
// and that the target does not know of. It is inlined, because two bytes rule that out in most
// cases.
func (e *Engine) overtakes(pe fabric.PE, p *layout.Peer, epoch uint64) bool {
	return (p.Bare > 0 || p.Staged) && e.overtakesThese(pe, p, epoch)
}

func (e *Engine) overtakesThese(pe fabric.PE, p *layout.Peer, epoch uint64) bool {
	return e.behindWrites(p, epoch) || e.behindBytes(pe, p, epoch)
}

// fenced reports whether messages to p ask the provider to keep them behind writes.
func (e *Engine) fenced(p *layout.Peer) bool { return p.Bare > 0 && e.Net.Caps.Fence }

// jam notes that a queue waits for room, which may come without a completion.
func (e *Engine) jam() {
	e.jammed = true
	e.stick()
}

// enqueue puts an operation, whose record is filled, behind the others of its PE.
func (e *Engine) enqueue(t fabric.Token, s *ops.Record) {
	p := &e.Peers[s.PE]
	e.closeBatch(p) // another operation follows it now
	s.Epoch, s.Next = e.Epoch, 0
	e.Recorder.Note(s.PE, layout.EventQueued, uint32(t), 0)
	p.Count[layout.Waited]++
	if p.Queued++; p.Queued == 1 {
		p.First = uint32(t)
		if !p.Listed {
			p.Listed = true
			e.queues = append(e.queues, s.PE)
		}
	} else {
		e.Table.Records[p.Last].Next = t
	}
	p.Last = uint32(t)
	e.Quiets.Pending[s.Lane]++
}

// beginLater is start for an operation that may have to wait, or may leave with others. It returns
// Done and no header if neither is the case.
func (e *Engine) beginLater(p *layout.Peer, pe fabric.PE, n int, merges bool) (*layout.Header, Status) {
	merges = merges && e.merging(n)
	if p.Queued > 0 && !(merges && e.grows(p, n)) {
		e.letGo(pe, p)
	}
	if p.Queued > 0 || e.overtakes(pe, p, e.Epoch) {
		if merges {
			return e.draftRecord(p, pe, n)
		}
		return e.draftQueued(p, pe, n)
	}
	if !merges || !e.bursting(n) {
		return nil, Done
	}
	h, st := e.draftRecord(p, pe, n)
	if h != nil {
		e.holdBurst(p)
	}
	return h, st
}

// draftQueued is draft for a message that has to wait.
func (e *Engine) draftQueued(p *layout.Peer, pe fabric.PE, n int) (*layout.Header, Status) {
	if !e.routed(p, pe) {
		return nil, e.Net.Fail(e.Net.NoRoute(pe))
	}
	if !e.Room(pe, p, 0) {
		return nil, Again
	}
	t, s := e.Take(ops.UseQueued, p, pe)
	if s == nil {
		return nil, Again
	}
	s.Length = uint32(layout.HeaderSize + n)
	e.sending.To, e.drafted = pe, t
	return (*layout.Header)(e.Net.Buffer(t)), Done
}

// keep puts the draft into the queue.
func (e *Engine) keep(h *layout.Header, payload unsafe.Pointer, n int) Status {
	if e.recording {
		return e.record(h, payload, n)
	}
	t := e.drafted
	e.drafted = 0
	if n > 0 {
		mem.Copy(unsafe.Add(unsafe.Pointer(h), layout.HeaderSize), payload, n)
	}
	e.enqueue(t, &e.Table.Records[t])
	return Done
}

// driveAll posts queued operations as far as order and room allow.
func (e *Engine) driveAll() {
	e.jammed = false
	still := e.queues[:0]
	for _, pe := range e.queues {
		if e.drive(pe); e.Peers[pe].Queued > 0 {
			still = append(still, pe)
		} else {
			e.Peers[pe].Listed = false
		}
	}
	e.queues = still
}

// drive posts the operations in the queue of a PE, from its head on.
func (e *Engine) drive(pe fabric.PE) {
	p := &e.Peers[pe]
	if e.driving {
		return // the call under way comes to it
	}
	e.driving = true
	defer func() { e.driving = false }()
	for p.Queued > 0 && p.Parked == 0 {
		t := fabric.Token(p.First)
		s := &e.Table.Records[t]
		next := s.Next
		var st Status
		switch s.Use {
		case ops.UseWaits:
			st = e.driveWrite(t, s, p)
		case ops.UseDeparts:
			st = e.driveDeparture(t, s, p)
		default:
			st = e.driveMessage(t, s, p)
		}
		if st == Again || e.Net.IsLost(pe) {
			return
		}
		p.First = uint32(next)
		p.Queued--
		if st == Failed {
			e.driveFailed(t, s)
		}
	}
}

// driveDeparture posts a put that waited and has GPU memory at one side.
func (e *Engine) driveDeparture(t fabric.Token, s *ops.Record, p *layout.Peer) Status {
	if e.overtakes(s.PE, p, s.Epoch) {
		return Again
	}
	if st := e.admit(s.PE, p, layout.HeaderSize); st != Done {
		return e.jamUnless(p.Flushing, st)
	}
	s.Use = ops.UsePut
	st := e.gpu.Leave(t)
	if st == Done {
		return Done
	}
	s.Use = ops.UseDeparts
	return e.jamUnless(false, st)
}

func (e *Engine) driveWrite(t fabric.Token, s *ops.Record, p *layout.Peer) Status {
	if e.behindBytes(s.PE, p, s.Epoch) {
		return Again
	}
	return e.rma.Resume(t, s, p)
}

func (e *Engine) jamUnless(comes bool, st Status) Status {
	if st == Again && !comes {
		e.jam()
	}
	return st
}

func (e *Engine) driveMessage(t fabric.Token, s *ops.Record, p *layout.Peer) Status {
	if e.overtakes(s.PE, p, s.Epoch) {
		return Again
	}
	if s.Hold != ops.NotHeld && e.keepsBatch(p, s) {
		return Again
	}
	if fabric.Token(p.Last) == t {
		e.closeBatch(p)
	}
	n := int(s.Length)
	if st := e.admit(s.PE, p, n); st != Done {
		return e.jamUnless(p.Flushing, st)
	}
	op, lane, epoch, pe := &e.sending, s.Lane, s.Epoch, s.PE
	op.To, op.Len, op.Buf, op.Token = pe, n, e.Net.Buffer(t), t
	op.Fence = e.fenced(p)
	op.Inject = n <= e.Net.Caps.MaxInject && !op.Fence
	injected := op.Inject
	s.Use = ops.UseSend
	if err := e.stampAndSend(op, p); err != nil {
		s.Use = ops.UseQueued
		return e.jamUnless(false, e.Refused(pe, p, err))
	}
	e.Quiets.Pending[lane]--
	p.Ask(e.Cost(n), epoch)
	if injected {
		e.Give(t)
	}
	e.Quiets.Account(pe, lane)
	return Done
}

// driveFailed ends an operation that waited and that the provider then refused for good.
func (e *Engine) driveFailed(t fabric.Token, s *ops.Record) {
	e.Quiets.Pending[s.Lane]--
	if s.Request != nil {
		e.Tell(s.Request, -1, 0)
	} else {
		e.Quiets.Fail(s.Lane, e.Net.Err)
	}
	e.Give(t)
}
