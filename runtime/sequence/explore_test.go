package sequence

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"
)

// A program is a PE's operations on one target: w writes, s writes and signals behind it, m sends a
// message, f is a fence, q a flush, whose answer acknowledges. A sender without room sends a flush
// by itself.
type program struct {
	space Space
	start uint32
	ops   string
}

var programs = []program{
	{Space{Bits: 2, Window: 2}, 0, "sswmfmsws"},
	{Space{Bits: 2, Window: 2}, 1<<32 - 2, "wwwwwwwfm"},
	{Space{Bits: 2, Window: 2}, 3, "swfswqmsfm"},
	{Space{Bits: 2, Window: 1}, 1<<31 - 1, "wsfmwsfwm"},
	{Space{Bits: 3, Window: 4}, 6, "wwwfmsqwwsfm"},
	{Space{Bits: 3, Window: 4}, 1<<32 - 3, "swwwfsmwwfs"},
	{Space{Bits: 3, Window: 3}, 2, "wwfwsfwmqwsm"},
	{Space{Bits: 3, Window: 2}, 7, "sfsfsfmswm"},
	{Space{Bits: 4, Window: 8}, 1<<32 - 5, "wwmwsfwwsfmwm"},
	{Space{Bits: 4, Window: 6}, 9, "wwwsfwmswfmm"},
	{Space{Bits: 4, Window: 8}, 14, "wmwmwmfwsmwm"},
}

// flaw is a mistake in one end, which the exploration has to find.
type flaw int

const (
	sound flaw = iota
	signalAhead
	fenceForgotten
	flushShort
	countOnly
	unchecked
	windowTooLarge
	flaws
)

var flawNames = [flaws]string{
	"sound", "a signal does not say that it follows its bytes", "a fence is forgotten", "a flush does not follow what came last",
	"the target counts writes instead of numbering them", "the target does not wait", "the window has more writes than there are numbers",
}

const most = 16 // writes and messages of a program, its own flushes included

// system is the whole state of a run: both ends, and the operations under way, as sets of the
// numbers in which writes and messages were posted.
type system struct {
	pc           uint8
	out          Out
	edge         uint32
	seen         uint64
	wrote, there uint16 // writes posted, and in
	fenced       uint16 // those before the last fence
	sent, came   uint16 // messages posted, and with the target
	applied      uint8
	flushes      uint16
	flushing     bool
	need         [most]uint32
	must         [most]uint16 // writes that a message must follow by the specification
	acks         [2]uint32    // under way, in any order
	nAcks        uint8
	signal       bool // the next step is the message behind a write
}

func begin(p *program, f flaw) system {
	s := system{out: Out{Space: p.space, Posted: p.start, In: p.start, After: p.start}, edge: p.start}
	if f == windowTooLarge {
		s.out.Space.Window = 1<<p.space.Bits + 1
	}
	return s
}

func (s *system) in(p *program) *In {
	return &In{space: s.out.Space, edge: s.edge, seen: []uint64{s.seen}}
}

// send posts a message.
func (s *system) send(f flaw, must uint16, flush bool) {
	i := bits.OnesCount16(s.sent)
	s.need[i] = s.out.Need()
	if flush && f != flushShort {
		s.need[i] = s.out.All()
	}
	s.must[i] = must
	s.sent |= 1 << i
	if flush {
		s.flushes |= 1 << i
		s.flushing = true
	}
}

// step does the sender's next. False: it has to wait.
func (s *system) step(p *program, f flaw) (string, bool) {
	if s.signal {
		s.signal = false
		if f != signalAhead {
			s.out.Follow()
		}
		s.send(f, s.fenced|1<<(bits.OnesCount16(s.wrote)-1), false)
		return "signal", true
	}
	if int(s.pc) == len(p.ops) {
		return "", false
	}
	op := p.ops[s.pc]
	switch op {
	case 'w', 's':
		if !s.out.HasRoom() {
			if s.flushing {
				return "", false
			}
			s.send(f, s.wrote, true)
			return "flush for room", true
		}
		s.out.Write()
		s.wrote |= 1 << bits.OnesCount16(s.wrote)
		s.signal = op == 's'
	case 'm':
		s.send(f, s.fenced, false)
	case 'f':
		if f != fenceForgotten {
			s.out.Follow()
		}
		s.fenced = s.wrote
	case 'q':
		if s.flushing {
			return "", false
		}
		s.send(f, s.wrote, true)
	}
	s.pc++
	return string(op), true
}

// next calls reach with each state that may follow.
func (s *system) next(p *program, f flaw, reach func(string, system)) error {
	n := *s
	if label, ok := n.step(p, f); ok {
		reach(label, n)
	}
	for i := range bits.Len16(s.wrote) {
		if s.there>>i&1 == 0 {
			n, in := *s, s.in(p)
			if err := in.Arrive((p.start + uint32(i)) & p.space.mask()); err != nil {
				return err
			}
			n.edge, n.seen = in.edge, in.seen[0]
			n.there |= 1 << i
			reach(fmt.Sprintf("write %d comes", i), n)
		}
	}
	for i := range bits.Len16(s.sent) {
		if s.came>>i&1 == 0 {
			n := *s
			n.came |= 1 << i
			reach(fmt.Sprintf("message %d comes", i), n)
		}
	}
	if i := s.applied; s.came>>i&1 != 0 {
		in := s.in(p)
		reached, err := in.Reached(s.need[i])
		if err != nil {
			return err
		}
		switch f {
		case countOnly:
			reached = int32(p.start+uint32(bits.OnesCount16(s.there))-s.need[i]) >= 0
		case unchecked:
			reached = true
		}
		if reached {
			if missing := s.must[i] &^ s.there; missing != 0 {
				return fmt.Errorf("message %d is applied while writes %#b are missing", i, missing)
			}
			n := *s
			n.applied++
			if s.flushes>>i&1 != 0 {
				n.acks[n.nAcks] = in.Ack()
				n.nAcks++
			}
			reach(fmt.Sprintf("message %d is applied", i), n)
		}
	}
	for i := range s.nAcks {
		n := *s
		if err := n.out.HandleAck(s.acks[i]); err != nil {
			return err
		}
		n.nAcks--
		n.acks[i] = n.acks[n.nAcks]
		n.acks[n.nAcks] = 0
		n.flushing = false
		reach("an acknowledgement comes", n)
	}
	return nil
}

func (s *system) done(p *program) bool {
	return int(s.pc) == len(p.ops) && !s.signal && s.there == s.wrote && int(s.applied) == bits.OnesCount16(s.sent) && s.nAcks == 0
}

// explore goes through every order in which a program's writes, messages and
// acknowledgements can come.
func explore(p *program, f flaw) (int, error) {
	type node struct {
		s     system
		from  int
		label string
	}
	nodes := []node{{begin(p, f), -1, ""}}
	seen := map[system]bool{nodes[0].s: true}
	trace := func(i int) string {
		var steps []string
		for ; i > 0; i = nodes[i].from {
			steps = append([]string{nodes[i].label}, steps...)
		}
		return strings.Join(steps, ", ")
	}
	ends := 0
	for i := 0; i < len(nodes); i++ {
		s := nodes[i].s
		moves := 0
		err := s.next(p, f, func(label string, n system) {
			if moves++; !seen[n] {
				seen[n] = true
				nodes = append(nodes, node{n, i, label})
			}
		})
		switch {
		case err != nil:
			return len(nodes), fmt.Errorf("%w, after %s", err, trace(i))
		case moves == 0 && !s.done(p):
			return len(nodes), fmt.Errorf("nothing can happen any more after %s", trace(i))
		case moves == 0:
			ends++
		}
	}
	if ends == 0 {
		return len(nodes), fmt.Errorf("the program never ends")
	}
	return len(nodes), nil
}

// TestExplore holds that no message is applied before the writes that it follows are in, that no
// write is taken for another, and that no end waits for ever. Each step takes something away from
// the work left, so a run that does not end is a run that is stuck.
func TestExplore(t *testing.T) {
	total := 0
	for i := range programs {
		p := &programs[i]
		n, err := explore(p, sound)
		if err != nil {
			t.Errorf("%v: %v", *p, err)
		}
		t.Logf("%v: %d states", *p, n)
		total += n
	}
	if total < 40_000 {
		t.Errorf("%d states in all: the programs have become too small to say much", total)
	}
}

func TestFlaws(t *testing.T) {
	for f := sound + 1; f < flaws; f++ {
		var found error
		for i := range programs {
			if _, err := explore(&programs[i], f); err != nil {
				found = err
				break
			}
		}
		if found == nil {
			t.Errorf("%s: not found", flawNames[f])
		} else {
			t.Logf("%s: %v", flawNames[f], found)
		}
	}
}
