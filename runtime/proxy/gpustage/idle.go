package gpustage

// With these functions tests check that no work is under way and no memory is in use.

// Working returns how many pulls are not complete, and how many PEs have waiting messages.
func (s *Stage) Working() (pulls, pes int) { return s.pulls.UnderWay(), s.arrivals.Busy() }

// CheckIdle returns an error that describes the work under way, or the memory in use, or nil.
func (s *Stage) CheckIdle() error {
	for _, part := range []interface{ CheckIdle() error }{s.arrivals, s.pulls, s.departs, s.copies, s.streams, &s.pinned} {
		if err := part.CheckIdle(); err != nil {
			return err
		}
	}
	return nil
}
