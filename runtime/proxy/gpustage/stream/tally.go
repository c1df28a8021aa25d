package stream

import "sync/atomic"

// tally is the part of a track that other threads may read without the lock: the work that was put
// into the stream, and the work that it has carried out.
type tally struct {
	marked, passed atomic.Uint64
	oldest         atomic.Uint64 // purpose of the oldest operation that is not carried out
	ops, bytes     atomic.Uint64 // operations and bytes put into the stream before the last mark
	opsDone        atomic.Uint64 // operations before the last mark that has passed
	bytesDone      atomic.Uint64
	shown          uint64 // passed at the last update of the page
}

// tick is a mark, and all work of the stream before it.
type tick struct {
	mark       uint64
	queued     uint64 // number of operations
	bytes      uint64
	driverCall uint64 // purpose of the first operation after the mark before
}

// countMark notes that a mark was put into the stream with the work before it, and updates the
// tally, the counts that a thread without the engine's lock may read. marked is stored last: left
// reads it to find counts that belong together.
func (t *track) countMark(p *tally) {
	one := tick{t.marked, t.queued, t.bytes, t.driverCall}
	if t.counts.Len() == 0 {
		p.oldest.Store(one.driverCall)
	}
	t.counts.Push(one)
	t.driverCall = 0
	p.ops.Store(t.queued)
	p.bytes.Store(t.bytes)
	p.marked.Store(t.marked)
}

// countPassed counts the work before the marks that the stream has passed as carried out, and
// updates the tally. passed is stored last: left reads it first.
func (t *track) countPassed(p *tally) {
	for t.counts.Len() > 0 && t.counts.At(0).mark <= t.passed {
		one := t.counts.Pop()
		t.done = one.queued
		p.opsDone.Store(one.queued)
		p.bytesDone.Store(one.bytes)
	}
	if t.counts.Len() > 0 {
		p.oldest.Store(t.counts.At(0).driverCall)
	}
	p.passed.Store(t.passed)
}

// left returns the operations and bytes before the last mark that the stream has not carried out.
// Any thread may call it. The counts may change between the loads; if they do not fit together, it
// returns 0 for both, and the next call probably reads counts that do.
func (t *tally) left() (ops, bytes uint64) {
	passed := t.passed.Load()
	done, bytesDone := t.opsDone.Load(), t.bytesDone.Load()
	queued, bytesQueued := t.ops.Load(), t.bytes.Load()
	if t.marked.Load() == passed || queued <= done || bytesQueued < bytesDone {
		return 0, 0
	}
	return queued - done, bytesQueued - bytesDone
}
