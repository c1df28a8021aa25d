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
		s.arrivals.Drop(pe)
		s.dropDepartures(pe)
		s.pulls.Drop(pe)
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

// endStaged ends the operations of callers.
func (s *Stage) endStaged(pe fabric.PE) {
	for t := fabric.Token(layout.Receives); t < layout.Tokens; t++ {
		o := &s.ops[t]
		if o.pe == pe && o.use == useRequestToSend {
			s.engine.Deregister(t, false)
			s.conclude(t)
		}
		s.gets.drop(t, pe)
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
