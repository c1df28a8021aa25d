package proxy

import (
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/ops"
)

// Small operations on one PE leave in one message when several are at hand: operations in the PE's
// queue, the signals of consecutive writes, and the operations of a caller's burst. A batch is a
// message of the queue (queue.go) that may still grow. The target applies its operations in the
// order of posting. A batch belongs to one epoch and one generation, so fence and quiet need no rule
// for it.
//
// A batch that could leave is held for a while, because more operations may come:
//
//   - a batch of signals behind many writes, until some of those are complete. Before that the
//     bytes in front of the signals cannot have arrived;
//   - a batch of a burst, until it is full, or a caller polls, or the loop finds that it has not
//     changed since the last look.
//
// A quiet, or an operation that cannot be merged and has to follow, sends the batch at once. A
// single operation is never held.

// manyWrites is how many writes under way it takes to hold the signals behind them; mostSignals of
// the signals leave at once.
const manyWrites, mostSignals = 8, 8

// recordOf returns the size of an operation's record in a batch.
func recordOf(n int) uint32 { return layout.RecordSize + uint32(n+7)&^7 }

// merging reports whether operations of n bytes of payload may be merged. They may not if the
// target may have to keep some of them for a stream of its GPU.
func (e *Engine) merging(n int) bool { return n <= layout.MergeMost && e.gpu == nil }

// bursting reports whether a caller is in the middle of a burst.
func (e *Engine) bursting(n int) bool { return e.Burst >= layout.BurstAfter && e.merging(n) }

// grows reports whether the batch at the end of a queue has room for n bytes more of an operation
// that is posted now.
func (e *Engine) grows(p *layout.Peer, n int) bool {
	return p.Batch != nil && p.BatchEpoch == e.Epoch && e.merging(n) &&
		p.BatchUsed+recordOf(n) <= messageSize && e.Table.Records[p.Last].Lane == e.Quiets.Parity()
}

// draftRecord is draft for an operation that goes into a batch.
func (e *Engine) draftRecord(p *layout.Peer, pe fabric.PE, n int) (*layout.Header, Status) {
	if !e.grows(p, n) {
		if st := e.openBatch(p, pe); st != Done {
			return nil, st
		}
	}
	e.drafted, e.recording = fabric.Token(p.Last), true
	return (*layout.Header)(unsafe.Add(p.Batch, p.BatchUsed)), Done
}

// openBatch puts an empty batch at the end of a queue.
func (e *Engine) openBatch(p *layout.Peer, pe fabric.PE) Status {
	h, st := e.draftQueued(p, pe, 0)
	if h == nil {
		return st
	}
	t := e.drafted
	e.drafted = 0
	*h = layout.Header{Kind: layout.KindBatch}
	s := &e.Table.Records[t]
	s.Hold = ops.NotHeld
	e.enqueue(t, s)
	p.Batch, p.BatchUsed, p.BatchEpoch = unsafe.Pointer(h), layout.HeaderSize, e.Epoch
	return Done
}

// record ends what draftRecord began.
func (e *Engine) record(h *layout.Header, payload unsafe.Pointer, n int) Status {
	p := &e.Peers[e.Table.Records[e.drafted].PE]
	e.drafted, e.recording = 0, false
	if h.Kind == layout.KindPut || h.Kind == layout.KindPutSignal {
		h.Token = uint32(n)
	}
	if n > 0 {
		mem.Copy(unsafe.Add(unsafe.Pointer(h), layout.RecordSize), payload, n)
	}
	p.BatchUsed += recordOf(n)
	p.Count[h.Kind]++
	p.Count[layout.Merged]++
	return Done
}

// closeBatch ends the growth of a PE's batch.
func (e *Engine) closeBatch(p *layout.Peer) {
	if p.Batch == nil {
		return
	}
	s := &e.Table.Records[p.Last]
	if s.Hold == ops.ForBurst {
		atomic.AddUint32(&e.first.Held, ^uint32(0))
	}
	s.Hold, s.Length = ops.NotHeld, p.BatchUsed
	p.Batch = nil
}

// holdBurst begins to hold a batch that a burst opens.
func (e *Engine) holdBurst(p *layout.Peer) {
	s := &e.Table.Records[p.Last]
	if s.Hold != ops.NotHeld || p.Queued != 1 {
		return
	}
	s.Hold = ops.ForBurst
	e.heldTurn++
	if atomic.AddUint32(&e.first.Held, 1) == 1 {
		e.Net.Wake() // the loop must not sleep while a batch is held
	}
}

// holdSignal puts the signal of a write into a batch, if that write is one of many.
func (e *Engine) holdSignal(p *layout.Peer, s *ops.Record) bool {
	if s.Epoch != e.Epoch || s.Lane != e.Quiets.Parity() || !e.merging(0) || p.Parked > 0 {
		return false
	}
	if p.Queued > 0 && !e.grows(p, 0) || p.Queued == 0 && p.Writes < manyWrites {
		return false
	}
	h, st := e.draftRecord(p, s.PE, 0)
	if st != Done {
		return false
	}
	batch := &e.Table.Records[p.Last]
	if p.BatchUsed == layout.HeaderSize && p.Queued == 1 {
		batch.Hold, batch.Until = ops.ForSignals, p.Written()+uint64(p.Writes)/4
	}
	*(*[layout.RecordSize]byte)(unsafe.Pointer(h)) = *(*[layout.RecordSize]byte)(unsafe.Pointer(&s.After))
	e.record(h, nil, 0)
	if p.BatchUsed >= layout.HeaderSize+mostSignals*layout.RecordSize {
		e.drive(s.PE)
	}
	return true
}

// keepsBatch reports whether the batch is still to be held.
func (e *Engine) keepsBatch(p *layout.Peer, s *ops.Record) bool {
	switch s.Hold {
	case ops.ForSignals:
		return p.BatchUsed < layout.HeaderSize+mostSignals*layout.RecordSize && p.Written() < s.Until && p.Writes > 0
	case ops.ForBurst:
		return p.BatchUsed+recordOf(8) <= messageSize
	}
	return false
}

// holdsOnly reports whether only a held batch of the present epoch waits for p: a write may pass
// it.
func (e *Engine) holdsOnly(p *layout.Peer) bool {
	return p.Queued == 1 && p.Batch != nil && p.BatchEpoch == e.Epoch && e.Table.Records[p.Last].Hold != ops.NotHeld
}

// letGo sends the batch of a PE.
func (e *Engine) letGo(pe fabric.PE, p *layout.Peer) {
	if p.Batch != nil {
		e.closeBatch(p)
		e.drive(pe)
	}
}

// Release sends all batches of a context, because a caller waits. On the first context it sends
// those of all contexts.
func (e *Engine) Release() {
	if e.Number == 0 {
		for _, o := range e.others {
			if o != nil && len(o.queues) > 0 {
				o.Release()
			}
		}
	}
	e.Burst = 0
	for _, pe := range e.queues {
		e.letGo(pe, &e.Peers[pe])
	}
}

// holds reports, before the loop sleeps, whether a burst is under way. A burst that has not grown
// since the last call is over.
func (e *Engine) holds() bool {
	if atomic.LoadUint32(&e.Held) == 0 {
		return false
	}
	if e.heldTurn == e.heldSeen {
		e.Release()
		return false
	}
	e.heldSeen = e.heldTurn
	return true
}

// applyBatch applies the operations of a batch, up to the first that is refused.
func (e *Engine) applyBatch(h *layout.Header, payload unsafe.Pointer, n int) {
	if e.gpu != nil {
		e.malformed(h)
		return
	}
	one := layout.Header{From: h.From, Seq: h.Seq}
	for at := 0; at < n; {
		if n-at < layout.RecordSize {
			e.malformed(h)
			return
		}
		*(*[layout.RecordSize]byte)(unsafe.Pointer(&one)) = *(*[layout.RecordSize]byte)(unsafe.Add(payload, at))
		size := uint32(0)
		switch one.Kind {
		case layout.KindPut, layout.KindPutSignal:
			size, one.Token = one.Token, 0
		case layout.KindStore, layout.KindAMO:
		default:
			e.malformed(h)
			return
		}
		step := layout.RecordSize + int(size+7)&^7
		if size > layout.MergeMost || step > n-at || one.Fetch != 0 {
			e.malformed(h)
			return
		}
		from := payload
		if size > 0 { // so that no pointer lies behind the message
			from = unsafe.Add(payload, at+layout.RecordSize)
		}
		if !e.isDropped(&one) && !e.change(&one, from, int(size)) {
			return
		}
		at += step
	}
}
