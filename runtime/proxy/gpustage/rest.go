package gpustage

import (
	"fmt"

	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage/pool"
)

// Views for tests.

// Working returns how many pulls are not complete, and how many PEs have waiting messages.
func (s *Stage) Working() (pulls, pes int) { return s.pulls.Under(), s.arrivals.Busy() }

// Regions returns how many parts of the heap are registered.
func (s *Stage) Regions() int { return s.heaps.Regions() }

// Extents returns the parts of a PE's heap that the fabric is known to reach.
func (s *Stage) Extents(pe fabric.PE) []Extent { return s.heaps.Of(pe) }

// Rest says what a Stage still holds when no operation is under way; nil: nothing.
func (s *Stage) Rest() error {
	if s.departs.Len() != 0 || s.ready.Len() != 0 || s.waits {
		return fmt.Errorf("%d departures, %d pieces ready, waits %v",
			s.departs.Len(), s.ready.Len(), s.waits)
	}
	if err := s.arrivals.Rest(); err != nil {
		return err
	}
	if err := s.pulls.Rest(); err != nil {
		return err
	}
	for i := range s.lines {
		l := &s.lines[i]
		if l.departs != 0 || l.copies != l.copied || l.owed != 0 {
			return fmt.Errorf("line of PE %d: %+v", i, l)
		}
	}
	for _, pool := range []*pool.Pool{&s.landing, &s.leaving, &s.coming, &s.going} {
		if !pool.Free() {
			return fmt.Errorf("some of %d pieces of %d bytes are not free", pool.Len(), pool.Size())
		}
	}
	return s.streams.Rest()
}
