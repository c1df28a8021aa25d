package proxy

import (
	"fmt"
	"testing"
)

// staleStage reports what staging holds at rest.
func (p *pe) staleStage() {
	p.j.t.Helper()
	s := p.stage
	if len(s.busy) != 0 || s.departs.n != 0 || s.ready.n != 0 || len(s.pulls) != 0 || s.under != 0 || s.mine || s.waits {
		p.j.t.Errorf("PE %d at rest: %d PEs busy, %d departures, %d pieces ready, %d pulls, %d of them begun, alone %v, waits %v",
			p.me, len(s.busy), s.departs.n, s.ready.n, len(s.pulls), s.under, s.mine, s.waits)
	}
	for i := range s.lines {
		l := &s.lines[i]
		if l.held.n != 0 || l.pulls.n != 0 || l.changing || l.departs != 0 || l.copies != l.copied || l.owed != 0 || l.chunks != 0 || l.slots != 0 || l.landing != 0 || l.listed {
			p.j.t.Errorf("PE %d at rest: line of PE %d: %+v", p.me, i, l)
		}
	}
	if s.memory == nil {
		return
	}
	for _, pool := range []*pool{&s.landing, &s.leaving, &s.coming, &s.going} {
		if len(pool.free) != cap(pool.free) {
			p.j.t.Errorf("PE %d at rest: %d of %d pieces of %d bytes are free", p.me, len(pool.free), cap(pool.free), pool.size)
		}
	}
	for i := range s.tracks {
		if t := &s.tracks[i]; !t.idle() || t.chores.n != 0 {
			p.j.t.Errorf("PE %d at rest: stream %d: %d chores", p.me, i, t.chores.n)
		}
	}
}

// cards are the ways in which GPUs differ.
var cards = map[string]gpus{
	"atomics": {atomics: allAtomics, delay: 4, chunk: messageSize, chunks: 3},
	"alone":   {alone: true, delay: 4, chunk: messageSize, chunks: 4},
	"mixed":   {has: func(pe int) bool { return pe%2 == 0 }, alone: true, delay: 3, chunk: 2 * messageSize, chunks: 2},
	"mapped":  {mapped: true, atomics: allAtomics, delay: 4, chunk: messageSize, chunks: 2},
	"both":    {mapped: true, alone: true, delay: 4, chunk: messageSize, chunks: 2},
}

// The random programs of order_test.go, with heaps and buffers in GPU memory.
func TestStagedPrograms(t *testing.T) {
	for name, g := range cards {
		for i := range 16 {
			m := combination(i)
			m.gpus = &g
			t.Run(fmt.Sprintf("%s/%s", name, m.name), func(t *testing.T) {
				seeds(3, func(seed uint64) {
					defer described(t, seed)
					n := 2 + int(seed)%3
					j := newJob(t, m, seed, n, shared+n*pairHeap)
					if seed%2 == 0 {
						nearWrap(j)
					}
					runPrograms(j, 60)
				})
			})
		}
	}
}
