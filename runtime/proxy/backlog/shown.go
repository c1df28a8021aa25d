package backlog

import "time"

// Work returns the work that is shown of a stream, at a time of the same clock; false: all is done.
func (s *Shown) Work(of Stream, now uint64) (Work, bool) {
	if s.Ops == 0 {
		return Work{}, false
	}
	return Work{Stream: of, Ops: s.Ops, Bytes: s.Bytes, For: CallText(s.Call), Age: time.Duration(now - s.Since)}, true
}
