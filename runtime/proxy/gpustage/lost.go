package gpustage

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// When a PE is lost and heaps are in GPU memory, streams still carry out the work that is in them.
// When it is complete, the Stage frees its slots and chunks, and only then do callers learn that
// their operations failed. A chunk for which a request to send was sent to the PE is free at once,
// because only that PE reads it. A chunk that is read into belongs to the provider until the
// provider completes the read. The mapping of a PE of the same node stays, so copies to and from it
// complete as usual.
//
// All of this happens when a poll begins, because a loss may be noticed in the middle of one.

// Lose notes that a PE is lost: the next poll drops its messages and fails the operations on it.
func (s *Stage) Lose(pe libshmem.PE) {
	s.lost = append(s.lost, pe)
	s.streams.MarkBusy()
}

// dropLost drops the work for the PEs that were lost since the last poll, and fails the operations
// on them. It runs at the beginning of a poll, because a PE may be lost in the middle of other
// work.
func (s *Stage) dropLost() {
	for len(s.lost) > 0 {
		pe := s.lost[len(s.lost)-1]
		s.lost = s.lost[:len(s.lost)-1]
		s.arrivals.Drop(pe)
		s.departs.Drop(pe)
		s.pulls.Drop(pe)
		for t := fabric.Token(layout.Receives); t < layout.Tokens; t++ {
			s.puts.failLost(t, pe)
			s.gets.failLost(t, pe)
		}
	}
}
