package proxy

import (
	"libshmem/fabric"
)

// Losing a PE where heaps are in GPU memory. What streams have been asked to do they
// do: its end gives slots and chunks back, and only then does a caller hear that its
// operation failed. A chunk that was offered to the PE is free at once, for only that
// PE reads it; one that is read into is the provider's until it gives the read back.
// What a PE of the same node has mapped stays mapped, so copies to and from it end as
// if nothing had happened.
//
// All of this is done at the beginning of a turn: a loss may be noticed in the middle
// of one.

// loseStaged notes that a PE has to be given up in the next turn.
func (e *Engine) loseStaged(pe fabric.PE) {
	e.stage.lost = append(e.stage.lost, pe)
	e.copying()
}

// giveUpLost gives up the PEs that were lost since the last turn.
func (e *Engine) giveUpLost() {
	s := e.stage
	for len(s.lost) > 0 {
		pe := s.lost[len(s.lost)-1]
		s.lost = s.lost[:len(s.lost)-1]
		l := &s.lines[pe]
		s.dropHeld(l)
		e.dropDepartures(pe)
		e.dropPulls(pe, l)
		e.endStaged(pe)
	}
}

// dropHeld forgets messages that wait. Those that a stream is at stay until it is done.
func (s *stage) dropHeld(l *line) {
	keep := l.underway
	if l.changing {
		keep = max(keep, 1)
	}
	for l.held.Len() > keep {
		s.kept = append(s.kept, l.held.PopLast().message[:messageSize])
		l.heldDone++
	}
}

// leaves tells whether a departure goes to its PE by the fabric.
func (d *departure) leaves() bool { return d.kind == wayPut || d.kind == wayServe }

// dropDepartures ends what leaves for a PE, but for what streams are at (left).
func (e *Engine) dropDepartures(pe fabric.PE) {
	s := e.stage
	for range s.departs.Len() {
		d := s.departs.Pop()
		if d.pe != pe || !d.leaves() {
			s.departs.Push(d)
			continue
		}
		d.n = d.begun
		e.departed(d)
	}
	for range s.ready.Len() {
		p := s.ready.Pop()
		if p.of.pe != pe {
			s.ready.Push(p)
			continue
		}
		e.dropPiece(&p)
	}
	for i := range s.offers {
		p := s.offers[i].piece
		if p.of == nil || p.of.pe != pe {
			continue
		}
		s.offers[i].piece = piece{}
		s.giveBack(&p)
		p.of.open--
		e.departed(p.of)
	}
}

// dropPiece gives up a piece that is in main memory and was not sent.
func (e *Engine) dropPiece(p *piece) {
	d := p.of
	e.stage.giveBack(p)
	d.unsent--
	d.open--
	e.departed(d)
}

// dropPulls forgets what a PE has offered. Reads that the provider has come back to
// landedLost.
func (e *Engine) dropPulls(pe fabric.PE, l *line) {
	s := e.stage
	for t := fabric.Token(receives); t < tokens; t++ {
		if o := &e.slots[t]; o.use == usePull && o.pe == pe {
			s.reads[t].of.lost = true
		}
	}
	still := s.pulls[:0]
	for _, p := range s.pulls {
		if p.pe != pe {
			still = append(still, p)
		} else if !p.lost && p.get != 0 {
			s.forget(p)
		}
	}
	clear(s.pulls[len(still):])
	s.pulls = still
	for l.pulls.Len() > 0 {
		switch p := l.pulls.Pop(); {
		case p.done:
			s.pulled = append(s.pulled, p)
		case !p.lost:
			s.forget(p)
		}
	}
	l.pullDone = l.pullsAll
}

func (s *stage) forget(p *pull) {
	s.under--
	s.pulled = append(s.pulled, p)
}

// landedLost takes back a read from a lost PE.
func (e *Engine) landedLost(r *read) {
	s, p := e.stage, r.of
	if p.gpu {
		s.landing.give(r.chunk)
		s.lines[p.pe].landing--
	}
	if p.get != 0 {
		t := fabric.Token(p.get & 0xffff)
		if s.gets[t].reads--; s.gets[t].reads == 0 {
			e.tookEnded(t)
		}
	}
	if p.landed += r.n; p.landed == p.begun {
		s.forget(p)
	}
}

// endStaged ends the operations of callers.
func (e *Engine) endStaged(pe fabric.PE) {
	s := e.stage
	for t := fabric.Token(receives); t < tokens; t++ {
		o := &e.slots[t]
		if o.pe != pe || o.ended {
			continue
		}
		switch o.use {
		case useOffer:
			if o.registered {
				e.dropRegion(o, false)
			}
			e.endLost(t)
		case useGet:
			g := &s.gets[t]
			g.left, g.reads, g.status = 0, 0, int32(Failed)
			in := &s.tracks[StreamIn].chores
			for i := range in.Len() {
				if c := in.At(i); c.what == taskCame && c.token == e.question(t) {
					g.left += c.value
				}
			}
			for r := fabric.Token(receives); r < tokens; r++ {
				if e.slots[r].use == usePull && s.reads[r].of.get == e.question(t) {
					g.reads++
				}
			}
			if g.left == 0 {
				e.endGet(t)
			}
		}
	}
}

// endLost ends an operation on a lost PE that a caller or a quiet waits for.
func (e *Engine) endLost(t fabric.Token) {
	o := &e.slots[t]
	err := e.losses[o.pe]
	if o.request != nil {
		e.err = err
		e.finish(o.request, int32(Failed), 0)
		o.request = nil
	} else {
		e.lose(o.lane, err)
	}
	e.pending[o.lane]--
	e.give(t)
}
