package proxy

import (
	"fmt"
	"time"
	"unsafe"

	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Values of Express.Busy.
const (
	busyCopies = 1
	busyRoom   = 2
)

// advance does what streams and room allow, as often as somebody polls.
func (e *Engine) advance() {
	s := e.stage
	s.waits = false
	e.giveUpLost()
	if s.memory != nil {
		for i := range s.tracks {
			e.follow(&s.tracks[i])
		}
	}
	e.letThroughAll()
	e.startPulls()
	e.startDepartures()
	e.sendReady()
	e.mark()
}

// copyGPU, writeGPU and atomicGPU ask a stream for something.

func (e *Engine) copyGPU(s Stream, to, from unsafe.Pointer, n uint64) {
	e.gone(e.stage.memory.Copy(s, to, from, n))
	e.gave(s, n)
}

func (e *Engine) writeGPU(s Stream, at unsafe.Pointer, width uint8, value uint64) {
	e.gone(e.stage.memory.Write(s, at, width, value))
	e.gave(s, uint64(width))
}

func (e *Engine) atomicGPU(s Stream, at unsafe.Pointer, h *layout.Header, old unsafe.Pointer) {
	e.gone(e.stage.memory.Atomic(s, at, h.Op, h.Width, h.Operand, h.Extra, old))
	e.gave(s, uint64(h.Width))
}

func (e *Engine) gave(s Stream, n uint64) { e.stage.tracks[s].add(n, e.stage.errand.Load()) }

// follow does the chores of a stream whose marks have passed.
func (e *Engine) follow(t *track) {
	if t.passed == t.marked {
		return
	}
	e.runs(errandFollow, 0)
	passed, err := e.stage.memory.Marked(t.stream)
	if e.gone(err); err != nil {
		return
	}
	if passed != t.passed {
		e.stage.looks = 0
	}
	t.passed = passed
	t.came(&e.stage.tallies[t.stream])
	for t.chores.Len() > 0 && t.chores.At(0).mark <= t.passed {
		c := t.chores.Pop()
		e.do(&c)
	}
}

const (
	// looksEach is how many looks for a mark come for one look at the clock.
	looksEach = 1 << 10
	// looksAwake is how many come in a row, some milliseconds. Whoever waits longer waits for
	// something of the program's.
	looksAwake = 1 << 13
)

// lookAgain is what the loop does that found nothing but streams that have work.
func (e *Engine) lookAgain() call.Step {
	s := e.stage
	if s.looks++; s.looks%looksEach == 0 {
		e.Report.Publish(time.Now())
	}
	if s.looks < looksAwake {
		return call.PollAgain
	}
	return call.SleepCopying
}

func (e *Engine) do(c *chore) {
	s := e.stage
	switch c.what {
	case taskLanded:
		s.landing.give(c.index)
		s.lines[c.pe].landing--
	case taskApplied:
		s.coming.give(c.index)
	case taskAnswer:
		e.answer(&layout.Header{From: c.pe, Token: c.token}, c.value)
	case taskFetched:
		value := mem.Load(s.coming.at(c.index), int(c.width))
		s.coming.give(c.index)
		e.answer(&layout.Header{From: c.pe, Token: c.token}, value)
	case taskWord:
		e.endWord(c)
	case taskChanged:
		e.changed(c)
	case taskCame:
		e.gotSome(c.token, c.value, 0)
	case taskLeft:
		e.left(c)
	case taskStored:
		e.stored(c)
	case taskCopied:
		e.endCopy(c.of)
	}
}

// copying says that there is something for streams to do. Its end wakes nobody, so
// the loop has to look.
func (e *Engine) copying() {
	e.Busy |= busyCopies
	if e.armed {
		e.armed = false
		e.prov.Wake()
	}
}

// mark puts a mark behind what this turn has put into each stream, and says
// whether somebody has to come back for it.
func (e *Engine) mark() {
	s := e.stage
	e.Busy = 0
	for i := range s.tracks {
		t := &s.tracks[i]
		if t.fresh {
			e.runs(errandMark, 0)
			n, err := s.memory.Mark(t.stream)
			if err == nil && n != t.marked+1 {
				err = fmt.Errorf("mark %d of stream %d came when %d was due", n, i, t.marked+1)
			}
			if e.gone(err); err == nil {
				t.marked, t.fresh = n, false
				t.given(&s.tallies[i])
			}
		}
		if !t.idle() {
			e.copying()
		}
	}
	if s.wants {
		e.copying()
	}
	if s.waits {
		e.Busy |= busyRoom
	}
}
