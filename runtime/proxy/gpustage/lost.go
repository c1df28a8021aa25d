package gpustage

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
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

// Lose notes that a PE has to be given up in the next turn.
func (s *Stage) Lose(pe fabric.PE) {
	s.lost = append(s.lost, pe)
	s.copying()
}

// giveUpLost gives up the PEs that were lost since the last turn.
func (s *Stage) giveUpLost() {
	for len(s.lost) > 0 {
		pe := s.lost[len(s.lost)-1]
		s.lost = s.lost[:len(s.lost)-1]
		l := &s.lines[pe]
		s.dropWaiting(l)
		s.dropDepartures(pe)
		s.dropPulls(pe, l)
		s.endStaged(pe)
	}
}

// dropWaiting forgets messages that wait. Those that a stream is at stay until it is done.
func (s *Stage) dropWaiting(l *stagedPeer) {
	keep := l.underway
	if l.changing {
		keep = max(keep, 1)
	}
	for l.held.Len() > keep {
		s.kept = append(s.kept, l.held.PopLast().message[:layout.MessageSize])
		l.heldDone++
	}
}

// leaves reports whether a departure goes to its PE by the fabric.
func (d *departure) leaves() bool { return d.kind == departPut || d.kind == departServe }

// dropDepartures ends what leaves for a PE, but for what streams are at (left).
func (s *Stage) dropDepartures(pe fabric.PE) {
	for range s.departs.Len() {
		d := s.departs.Pop()
		if d.pe != pe || !d.leaves() {
			s.departs.Push(d)
			continue
		}
		d.n = d.begun
		s.departed(d)
	}
	for range s.ready.Len() {
		p := s.ready.Pop()
		if p.of.pe != pe {
			s.ready.Push(p)
			continue
		}
		s.dropPiece(&p)
	}
	for i := range s.offers {
		p := s.offers[i].piece
		if p.of == nil || p.of.pe != pe {
			continue
		}
		s.offers[i].piece = piece{}
		s.giveBack(&p)
		p.of.open--
		s.departed(p.of)
	}
}

// dropPiece gives up a piece that is in main memory and was not sent.
func (s *Stage) dropPiece(p *piece) {
	d := p.of
	s.giveBack(p)
	d.unsent--
	d.open--
	s.departed(d)
}

// dropPulls forgets what a PE has offered. Reads that the provider has come back to
// landedLost.
func (s *Stage) dropPulls(pe fabric.PE, l *stagedPeer) {
	for t := fabric.Token(layout.Receives); t < layout.Tokens; t++ {
		if p := s.reads[t].of; p != nil && p.pe == pe {
			p.lost = true
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
			s.sparePulls = append(s.sparePulls, p)
		case !p.lost:
			s.forget(p)
		}
	}
	l.pullDone = l.pullsAll
}

func (s *Stage) forget(p *pull) {
	s.under--
	s.sparePulls = append(s.sparePulls, p)
}

// landedLost takes back a read from a lost PE.
func (s *Stage) landedLost(r *read) {
	p := r.of
	if p.gpu {
		s.landing.give(r.chunk)
		s.lines[p.pe].landing--
	}
	if p.get != 0 {
		t := fabric.Token(p.get & 0xffff)
		if g := &s.ops[t].get; g.reads > 0 {
			if g.reads--; g.reads == 0 && g.ended {
				s.end(t)
			}
		}
	}
	if p.landed += r.n; p.landed == p.begun {
		s.forget(p)
	}
}

// endStaged ends the operations of callers.
func (s *Stage) endStaged(pe fabric.PE) {
	for t := fabric.Token(layout.Receives); t < layout.Tokens; t++ {
		o := &s.ops[t]
		if o.pe != pe || o.get.ended {
			continue
		}
		switch o.use {
		case useRequestToSend:
			s.engine.Deregister(t, false)
			s.conclude(t)
		case useGet:
			g := &o.get
			g.left, g.reads, g.status = 0, 0, int32(call.Failed)
			in := &s.tracks[StreamIn].chores
			for i := range in.Len() {
				if c := in.At(i); c.what == taskCame && c.token == s.engine.Question(t) {
					g.left += c.value
				}
			}
			for r := fabric.Token(layout.Receives); r < layout.Tokens; r++ {
				if p := s.reads[r].of; p != nil && p.get == s.engine.Question(t) {
					g.reads++
				}
			}
			if g.left == 0 {
				s.endGet(t)
			}
		}
	}
}

// conclude ends an operation, with the reason if its PE was lost.
func (s *Stage) conclude(t fabric.Token) {
	if err := s.engine.Lost(s.ops[t].pe); err != nil {
		s.engine.Conclude(t, int32(call.Failed), err)
	} else {
		s.engine.Conclude(t, 0, nil)
	}
	s.end(t)
}
