package gpustage

import "sync/atomic"

// tally is what other threads may read of a track.
type tally struct {
	marked, passed atomic.Uint64
	oldest         atomic.Uint64 // errand of the oldest
	ops, bytes     atomic.Uint64 // that the stream was given; at the last mark that passed
	opsDone        atomic.Uint64
	bytesDone      atomic.Uint64
	shown          uint64 // passed when the page was brought up to date
}

// tick is what is before a mark.
type tick struct {
	mark       uint64
	asked      uint64 // operations
	bytes      uint64
	driverCall uint64 // of the first of them
}

// given shows that the stream has a mark more.
func (t *track) given(p *tally) {
	one := tick{t.marked, t.asked, t.bytes, t.driverCall}
	if t.counts.Len() == 0 {
		p.oldest.Store(one.driverCall)
	}
	t.counts.Push(one)
	t.driverCall = 0
	p.ops.Store(t.asked)
	p.bytes.Store(t.bytes)
	p.marked.Store(t.marked)
}

// came notes the marks that have passed, and shows it.
func (t *track) came(p *tally) {
	for t.counts.Len() > 0 && t.counts.At(0).mark <= t.passed {
		one := t.counts.Pop()
		t.done = one.asked
		p.opsDone.Store(one.asked)
		p.bytesDone.Store(one.bytes)
	}
	if t.counts.Len() > 0 {
		p.oldest.Store(t.counts.At(0).driverCall)
	}
	p.passed.Store(t.passed)
}

// left is what the stream has not carried out of what a mark is behind.
func (t *tally) left() (ops, bytes uint64) {
	passed := t.passed.Load()
	done, bytesDone := t.opsDone.Load(), t.bytesDone.Load()
	given, bytesGiven := t.ops.Load(), t.bytes.Load()
	if t.marked.Load() == passed || given <= done || bytesGiven < bytesDone {
		return 0, 0
	}
	return given - done, bytesGiven - bytesDone
}
