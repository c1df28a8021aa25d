package backlog

import "time"

// Work returns the work of a stream as the page of its process shows it; now is the time of the
// same clock. False: the stream has no work.
func (s *Shown) Work(of Stream, now uint64) (Work, bool) {
	if s.Ops == 0 {
		return Work{}, false
	}
	return Work{Stream: of, Ops: s.Ops, Bytes: s.Bytes, For: CallText(s.Call), Age: time.Duration(now - s.Since)}, true
}
