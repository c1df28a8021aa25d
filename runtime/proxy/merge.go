package proxy

import (
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
)

// Small operations on one PE leave in one message when several are at hand: those that
// wait in its queue, the signals of a row of writes, and what a caller posts in a burst.
// A batch is a message of the queue (queue.go) that may still grow; the target does what
// it holds in the order of posting. It is of one epoch and one generation, so that fence
// and quiet know nothing of it.
//
// A batch that could leave is held for a while, for more to come:
//
//   - one of signals behind many writes, until some of those are complete. Till
//     then the bytes that they follow cannot be there;
//   - one of a burst, until it is full, or somebody polls, or the loop finds that it
//     has not been changed since its last look.
//
// Any quiet, and whatever cannot be merged and has to follow, lets it go at once. An
// operation that comes alone is never held.

// manyWrites are so many under way that signals behind them are held, of which
// mostSignals leave at once.
const manyWrites, mostSignals = 8, 8

// hold says why a batch is held.
type hold uint8

const (
	notHeld    hold = iota
	forSignals      // until slot.until writes are complete
	forBurst
)

// size is what an operation takes in a batch.
func recordOf(n int) uint32 { return recordSize + uint32(n+7)&^7 }

// merging tells whether operations of n bytes of payload may be merged: not where the
// target may have to keep some of them for a stream.
func (e *Engine) merging(n int) bool { return n <= mergeMost && e.stage == nil }

// bursting tells whether a caller is in the middle of a burst.
func (e *Engine) bursting(n int) bool { return e.Burst >= burstAfter && e.merging(n) }

// grows tells whether the batch at the end of a queue has room for n bytes more of an
// operation that is posted now.
func (e *Engine) grows(p *peer, n int) bool {
	return p.batch != nil && p.batchEpoch == e.Epoch && e.merging(n) &&
		p.batchUsed+recordOf(n) <= messageSize && e.slots[p.last].lane == laneOf(e.open)
}

// draftRecord is draft for an operation that goes into a batch.
func (e *Engine) draftRecord(p *peer, pe fabric.PE, n int) (*header, Status) {
	if !e.grows(p, n) {
		if st := e.openBatch(p, pe); st != Done {
			return nil, st
		}
	}
	e.drafted, e.recording = fabric.Token(p.last), true
	return (*header)(unsafe.Add(p.batch, p.batchUsed)), Done
}

// openBatch puts an empty batch at the end of a queue.
func (e *Engine) openBatch(p *peer, pe fabric.PE) Status {
	h, st := e.draftQueued(p, pe, 0)
	if h == nil {
		return st
	}
	t := e.drafted
	e.drafted = 0
	*h = header{Kind: kindBatch}
	s := &e.slots[t]
	s.hold = notHeld
	e.enqueue(t, s)
	p.batch, p.batchUsed, p.batchEpoch = unsafe.Pointer(h), headerSize, e.Epoch
	return Done
}

// record ends what draftRecord began.
func (e *Engine) record(h *header, payload unsafe.Pointer, n int) Status {
	p := &e.peers[e.slots[e.drafted].pe]
	e.drafted, e.recording = 0, false
	if h.Kind == kindPut || h.Kind == kindPutSignal {
		h.Token = uint32(n)
	}
	if n > 0 {
		copyBytes(unsafe.Add(unsafe.Pointer(h), recordSize), payload, n)
	}
	p.batchUsed += recordOf(n)
	p.count[h.Kind]++
	p.count[Merged]++
	return Done
}

// closeBatch ends the growth of a PE's batch.
func (e *Engine) closeBatch(p *peer) {
	if p.batch == nil {
		return
	}
	s := &e.slots[p.last]
	if s.hold == forBurst {
		atomic.AddUint32(&e.first.Held, ^uint32(0))
	}
	s.hold, s.length = notHeld, p.batchUsed
	p.batch = nil
}

// holdBurst begins to hold the batch that a burst opens.
func (e *Engine) holdBurst(p *peer) {
	s := &e.slots[p.last]
	if s.hold != notHeld || p.queued != 1 {
		return
	}
	s.hold = forBurst
	e.heldTurn++
	if atomic.AddUint32(&e.first.Held, 1) == 1 && e.armed {
		e.armed = false
		e.prov.Wake() // the loop must not sleep over it
	}
}

// holdSignal puts the signal of a write into a batch, if that write is one of many.
func (e *Engine) holdSignal(p *peer, s *slot) bool {
	if s.epoch != e.Epoch || s.lane != laneOf(e.open) || !e.merging(0) || p.parked > 0 {
		return false
	}
	if p.queued > 0 && !e.grows(p, 0) || p.queued == 0 && p.writes < manyWrites {
		return false
	}
	h, st := e.draftRecord(p, s.pe, 0)
	if st != Done {
		return false
	}
	batch := &e.slots[p.last]
	if p.batchUsed == headerSize && p.queued == 1 {
		batch.hold, batch.until = forSignals, p.written()+uint64(p.writes)/4
	}
	*(*[recordSize]byte)(unsafe.Pointer(h)) = *(*[recordSize]byte)(unsafe.Pointer(&s.after))
	e.record(h, nil, 0)
	if p.batchUsed >= headerSize+mostSignals*recordSize {
		e.drive(s.pe)
	}
	return true
}

// written is how many writes to p are complete.
func (p *peer) written() uint64 { return p.count[Writes] - uint64(p.writes) }

// heldYet tells whether the batch is still to be held.
func (e *Engine) heldYet(p *peer, s *slot) bool {
	switch s.hold {
	case forSignals:
		return p.batchUsed < headerSize+mostSignals*recordSize && p.written() < s.until && p.writes > 0
	case forBurst:
		return p.batchUsed+recordOf(8) <= messageSize
	}
	return false
}

// holdsOnly tells whether nothing but a batch that is held waits for p, of the present
// epoch: a write may pass it.
func (e *Engine) holdsOnly(p *peer) bool {
	return p.queued == 1 && p.batch != nil && p.batchEpoch == e.Epoch && e.slots[p.last].hold != notHeld
}

// letGo lets the batch of a PE go.
func (e *Engine) letGo(pe fabric.PE, p *peer) {
	if p.batch != nil {
		e.closeBatch(p)
		e.drive(pe)
	}
}

// Release lets all batches of a stream go, because somebody waits; of all streams,
// where it is the first.
func (e *Engine) Release() {
	if e.number == 0 {
		for _, o := range e.others {
			if o != nil && len(o.queues) > 0 {
				o.Release()
			}
		}
	}
	e.Burst = 0
	for _, pe := range e.queues {
		e.letGo(pe, &e.peers[pe])
	}
}

// holds tells the loop, which is about to sleep, whether a burst is under way. One that
// has not moved since it was last asked is over.
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

// applyBatch does what a batch holds, up to the first that is refused.
func (e *Engine) applyBatch(h *header, payload unsafe.Pointer, n int) {
	if e.stage != nil {
		e.malformed(h)
		return
	}
	one := header{From: h.From, Seq: h.Seq}
	for at := 0; at < n; {
		if n-at < recordSize {
			e.malformed(h)
			return
		}
		*(*[recordSize]byte)(unsafe.Pointer(&one)) = *(*[recordSize]byte)(unsafe.Add(payload, at))
		size := uint32(0)
		switch one.Kind {
		case kindPut, kindPutSignal:
			size, one.Token = one.Token, 0
		case kindStore, kindAMO:
		default:
			e.malformed(h)
			return
		}
		step := recordSize + int(size+7)&^7
		if size > mergeMost || step > n-at || one.Fetch != 0 {
			e.malformed(h)
			return
		}
		from := payload
		if size > 0 { // no pointer behind the message
			from = unsafe.Add(payload, at+recordSize)
		}
		if !e.isDropped(&one) && !e.change(&one, from, int(size)) {
			return
		}
		at += step
	}
}
