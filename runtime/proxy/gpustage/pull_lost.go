package gpustage

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// A PE is lost. A chunk that is read into belongs to the provider until the provider completes the
// read, so the reads of the PE stay, and the rest of its pulls is forgotten.

// Drop forgets the requests to send of a lost PE. Reads that the provider has end later, in
// landedLost.
func (p *pulls) Drop(pe libshmem.PE) {
	for t := fabric.Token(layout.Receives); t < layout.Tokens; t++ {
		if q := p.reads[t].of; q != nil && q.PE == pe {
			q.lost = true
		}
	}
	for i := range p.late.Len() {
		if q := p.late.At(i).of; q.PE == pe {
			q.lost = true
		}
	}
	still := p.waiting[:0]
	for _, q := range p.waiting {
		if q.PE != pe {
			still = append(still, q)
		} else if !q.lost && q.Get != 0 {
			p.forget(q)
		}
	}
	clear(p.waiting[len(still):])
	p.waiting = still
	l := &p.from[pe]
	for l.pulls.Len() > 0 {
		switch q := l.pulls.Pop(); {
		case q.done:
			p.spare = append(p.spare, q)
		case !q.lost:
			p.forget(q)
		}
	}
	l.Pulls.Done = l.Pulls.All
}

// Reads returns how many reads of a get the provider has.
func (p *pulls) Reads(get uint32) (n int) {
	for t := fabric.Token(layout.Receives); t < layout.Tokens; t++ {
		if q := p.reads[t].of; q != nil && q.Get == get {
			n++
		}
	}
	return n
}

func (p *pulls) forget(q *pull) {
	p.under--
	p.spare = append(p.spare, q)
}

// landedLost ends a read from a lost PE.
func (p *pulls) landedLost(r *pullRead) {
	q := r.of
	if q.GPU {
		p.chunks.GiveFor(q.PE, r.chunk)
	}
	if q.Get != 0 {
		p.gets.LostRead(q.Get)
	}
	if q.landed += r.n; q.landed == q.begun {
		p.forget(q)
	}
}
