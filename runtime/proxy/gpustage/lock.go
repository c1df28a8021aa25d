package gpustage

import (
	"fmt"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Advance goes on with the work as far as streams and room allow, at each poll.
func (s *Stage) Advance() {
	s.waits, s.flushed = false, false
	s.giveUpLost()
	if s.memory != nil {
		for i := range s.tracks {
			s.follow(&s.tracks[i])
		}
	}
	s.letThroughAll()
	s.startPulls()
	s.startDepartures()
	s.sendReady()
	s.Mark()
}

// NoRoom reports whether an operation waits for room, which may come without a completion.
func (s *Stage) NoRoom() bool { return s.waits }

// follow does the chores of a stream whose marks have passed.
func (s *Stage) follow(t *track) {
	if t.passed == t.marked {
		return
	}
	s.runs(backlog.CallFollow, 0)
	passed, err := s.memory.Marked(t.stream)
	if s.gone(err); err != nil {
		return
	}
	if passed != t.passed {
		s.looks = 0
	}
	t.passed = passed
	t.came(&s.tallies[t.stream])
	for t.chores.Len() > 0 && t.chores.At(0).mark <= t.passed {
		c := t.chores.Pop()
		s.do(&c)
	}
}

// Looks counts and returns the looks for a mark since one has passed.
func (s *Stage) Looks() int {
	s.looks++
	return s.looks
}

func (s *Stage) do(c *chore) {
	switch c.what {
	case taskLanded:
		s.landing.give(c.index)
		s.lines[c.pe].landing--
	case taskApplied:
		s.coming.give(c.index)
	case taskAnswer:
		s.engine.Answer(fabric.PE(c.pe), c.token, c.value)
	case taskFetched:
		value := mem.Load(s.coming.at(c.index), int(c.width))
		s.coming.give(c.index)
		s.engine.Answer(fabric.PE(c.pe), c.token, value)
	case taskWord:
		s.endWord(c)
	case taskChanged:
		s.changed(c)
	case taskCame:
		s.gotSome(c.token, c.value, 0)
	case taskLeft:
		s.left(c)
	case taskStored:
		s.stored(c)
	case taskCopied:
		s.endCopy(c.of)
	}
}

// copying notes that streams have work. The end of the work wakes no thread, so the loop has to
// look.
func (s *Stage) copying() {
	s.state.Busy |= layout.BusyCopies
	s.engine.Wake()
}

// Mark puts a mark behind this turn's work in each stream. It sets Busy if a stream has work or an
// operation waits for room.
func (s *Stage) Mark() {
	s.state.Busy = 0
	for i := range s.tracks {
		t := &s.tracks[i]
		if t.fresh {
			s.runs(backlog.CallMark, 0)
			n, err := s.memory.Mark(t.stream)
			if err == nil && n != t.marked+1 {
				err = fmt.Errorf("mark %d of stream %d came when %d was due", n, i, t.marked+1)
			}
			if s.gone(err); err == nil {
				t.marked, t.fresh = n, false
				t.given(&s.tallies[i])
			}
		}
		if !t.idle() {
			s.copying()
		}
	}
	if s.wants {
		s.copying()
	}
	if s.waits {
		s.state.Busy |= layout.BusyRoom
	}
}
