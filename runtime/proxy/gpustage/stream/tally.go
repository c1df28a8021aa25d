package stream

import "sync/atomic"

// tally is the part of a track that other threads may read.
type tally struct {
	marked, passed atomic.Uint64
	oldest         atomic.Uint64 // purpose of the oldest operation
	ops, bytes     atomic.Uint64 // given to the stream, at the last mark
	opsDone        atomic.Uint64
	bytesDone      atomic.Uint64
	shown          uint64 // passed at the last update of the page
}

// tick is the work before a mark.
type tick struct {
	mark       uint64
	queued     uint64 // number of operations
	bytes      uint64
	driverCall uint64 // purpose of the first operation
}

// given notes and shows one more mark of the stream.
func (t *track) given(p *tally) {
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

// came records the marks that the stream has passed, and shows them.
func (t *track) came(p *tally) {
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

// left returns the work before a mark that the stream has not carried out.
func (t *tally) left() (ops, bytes uint64) {
	passed := t.passed.Load()
	done, bytesDone := t.opsDone.Load(), t.bytesDone.Load()
	given, bytesGiven := t.ops.Load(), t.bytes.Load()
	if t.marked.Load() == passed || given <= done || bytesGiven < bytesDone {
		return 0, 0
	}
	return given - done, bytesGiven - bytesDone
}
