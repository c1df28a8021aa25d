package gpustage

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// A PE is lost, and heaps are in GPU memory. Streams carry out the work that they have been given.
// Its end gives slots and chunks back, and only then do callers learn that their operations failed.
// A chunk in a request to send to the PE is free at once, because only that PE reads it. A chunk
// that is read into belongs to the provider until the provider completes the read. The mapping of a
// PE of the same node stays, so copies to and from it end as usual.
//
// All of this is done at the beginning of a turn, because a loss may be noticed in the middle of
// one.

// Lose notes that a PE has to be given up in the next turn.
func (s *Stage) Lose(pe fabric.PE) {
	s.lost = append(s.lost, pe)
	s.streams.Busy()
}

// giveUpLost gives up the PEs that were lost since the last turn.
func (s *Stage) giveUpLost() {
	for len(s.lost) > 0 {
		pe := s.lost[len(s.lost)-1]
		s.lost = s.lost[:len(s.lost)-1]
		l := &s.lines[pe]
		s.arrivals.Drop(pe)
		s.dropDepartures(pe)
		s.dropPulls(pe, l)
		s.endStaged(pe)
	}
}

// leaves reports whether a departure uses the fabric.
func (d *departure) leaves() bool { return d.kind == departPut || d.kind == departServe }

// dropDepartures ends outgoing operations for a PE. It leaves the pieces that are in streams
// (left).
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

// dropPulls forgets the requests to send of a PE. Reads that the provider has are handled by
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
	l.Pulls.Done = l.Pulls.All
}

func (s *Stage) forget(p *pull) {
	s.under--
	s.sparePulls = append(s.sparePulls, p)
}

// landedLost ends a read from a lost PE.
func (s *Stage) landedLost(r *read) {
	p := r.of
	if p.gpu {
		s.landing.GiveFor(uint32(p.pe), r.chunk)
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
			g.left, g.reads, g.status = g.copied, 0, int32(call.Failed)
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
