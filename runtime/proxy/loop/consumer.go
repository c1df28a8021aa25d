package loop

import (
	"fmt"
	"sync/atomic"
	"time"

	"libshmem/queue"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/clock"
	"libshmem/runtime/proxy/fastpath"
	"libshmem/runtime/proxy/wait"
	"libshmem/runtime/trace"
)

// Limits of one consumer.
const (
	// drainBatch is how many operations are taken from a ring before the network
	// is looked at and the next ring has its turn.
	drainBatch = 32
	// WaitingMax is how many operations wait for PEs without room before the
	// rings have to wait themselves: some for each of many PEs, and not so many
	// that going through them costs more than a post.
	WaitingMax = 1024
)

// Consumer empties rings into an engine. Its methods are called by the engine's
// own thread with the engine's lock held, but for those that say otherwise. Drain
// does all of it; Run has C do what is simple.
//
// # Order
//
// Operations of one ring on one PE are posted in their order. One that finds no
// room waits, those after it on the same PE wait behind it, and others pass. A
// fence is the engine's, and an operation that had to wait is posted in an epoch
// of its own, so that it does not share one with what came after a fence.
type Consumer struct {
	e      Poster
	limits call.Limits // of e
	rings  []*serving
	locals *Locals
	report func(error)
	trace  *trace.Track // nil: nothing is traced
	taken  uint64       // operations, ever

	waiting  []waiting
	spare    []waiting
	perPE    []uint16 // operations that wait, by PE
	blocked  []uint32 // pass in which the PE was found without room
	pass     uint32
	enqueued uint64 // operations that had to wait, ever; each has its number

	fences   uint64 // seen so far
	epochFor uint64 // how many of them are behind the engine's present epoch
	batch    [drainBatch]queue.Op
	merge    *queue.Op // a put in batch that may grow; nil: none
	state    progress  // of the operation that is being started, or of merge
	bytes    [2]uint64 // that came in slots, on their way into a message
	kept     [][]byte  // for those of cells
	answers  answers
	order    order

	inner      *fastpath.Loop // the loop in C; nil: the provider is Go only
	localsSeen uint64         // version of locals that it knows
	misses     int            // it found what is Go's, so many times that
	alone      int            // Go goes on alone for so many turns

	stall    time.Duration // how long a ring may stand still; 0: for ever
	watched  time.Time
	device   bool // kernels produce
	looker   *wait.Looker
	serve    serveState
	loop     *Loop // that serves it; nil: it is not attached
	ending   atomic.Bool
	ended    chan struct{}
	lastCall uint64 // the settlement that ends it
}

// serving is one ring.
type serving struct {
	ring    *queue.Ring
	kept    []queue.Op // decoded, and still to be taken: there was no room
	quiet   waits
	fence   waits
	stalled stalled
}

// waiting is an operation that found no room.
type waiting struct {
	op     queue.Op
	state  progress
	number uint64
}

// progress is how far an operation is on its way into the engine.
type progress struct {
	ring   *serving
	fences uint64 // seen before it
	record uint16 // of its answer; 0: none yet
	part   part
	bytes  []byte // that were in a cell, where it had to wait
}

// part is how far a copy in pieces is.
type part uint8

const (
	whole  part = iota
	begun       // pieces were posted
	fenced      // all but the last were, and a fence after them
)

// Stall sets how long a ring may stand still before that is reported; 0, the
// default: for ever. It is called before Attach.
func (c *Consumer) Stall(d time.Duration) { c.stall = d }

// TraceTo has batches of the rings recorded. It is called before Attach.
func (c *Consumer) TraceTo(t *trace.Track) { c.trace = t }

// NewConsumer makes the consumer of rings for e, which is connected. report is called on
// the engine's thread for each operation that failed.
func NewConsumer(e Poster, rings []*queue.Ring, locals *Locals, report func(error)) *Consumer {
	limits := e.Limits()
	c := &Consumer{
		e: e, limits: limits, locals: locals, report: report, ended: make(chan struct{}),
		waiting: make([]waiting, 0, WaitingMax), spare: make([]waiting, 0, WaitingMax),
		perPE: make([]uint16, limits.NPEs), blocked: make([]uint32, limits.NPEs),
	}
	for _, r := range rings {
		c.rings = append(c.rings, &serving{ring: r, kept: make([]queue.Op, 0, drainBatch)})
	}
	c.answers.init()
	c.openInnerLoop()
	return c
}

// Drain takes operations from the rings, posts them, and sees to answers,
// quiets and fences. It returns how much it did: 0 when there is nothing to do
// before an operation is pushed or a completion comes.
func (c *Consumer) Drain() int {
	did := c.answers.give(c)
	did += c.postWaiting()
	for i, s := range c.rings {
		begin := c.trace.Now()
		n := c.drainRing(s)
		if did += n; n > 0 {
			c.trace.Batch(begin, i, n, len(s.kept))
		}
	}
	if len(c.waiting) == 0 && c.fences != c.epochFor {
		// What comes next may be posted in C, which knows epochs only.
		c.e.Fence()
		c.epochFor = c.fences
	}
	if did == 0 {
		c.alone = 0
	}
	return did + c.order.advance(c)
}

// drainRing takes up to drainBatch operations from a ring.
func (c *Consumer) drainRing(s *serving) int {
	var ops []queue.Op
	if len(s.kept) > 0 {
		if !c.room() {
			return 0
		}
		ops = c.batch[:copy(c.batch[:], s.kept)]
		s.kept = s.kept[:0]
	} else {
		n := s.ring.Take(c.batch[:])
		if n == 0 {
			return 0
		}
		ops = c.batch[:n]
	}
	n := 0
	c.e.Stamp(clock.Now())
	for ; n < len(ops) && c.room(); n++ {
		c.take(s, ops, n)
	}
	c.flushMerge()
	c.e.Stamp(0)
	if s.kept = append(s.kept, ops[n:]...); len(s.kept) == 0 {
		// Not before: a quiet in another ring relies on it that what the tail has
		// passed is posted, or waits for room.
		s.ring.Publish()
	}
	return n
}

// room tells whether one more operation may have to wait, and the put that may
// grow too.
func (c *Consumer) room() bool { return len(c.waiting) < WaitingMax-1 }

// take starts the i-th operation of ops, which are the last that were decoded of
// the ring.
func (c *Consumer) take(s *serving, ops []queue.Op, i int) {
	op := &ops[i]
	c.taken++
	switch op.Code {
	case queue.CodeNop:
		return
	case queue.CodeFence:
		c.flushMerge()
		c.fences++
		s.fence.ask(position(s, ops[i+1:]))
		return
	case queue.CodeQuiet:
		c.flushMerge()
		s.quiet.ask(position(s, ops[i+1:]))
		return
	}
	if err := c.check(s.ring, op); err != nil {
		c.failOp(op, s, err)
		return
	}
	inCell := copies(op) && s.ring.Beside(op.Local, op.Length)
	if !inCell && c.extend(op) {
		return
	}
	c.flushMerge()
	c.state = progress{ring: s, fences: c.fences}
	if op.Code == queue.CodePut && op.Want == 0 && !inCell {
		c.merge = op
		return
	}
	c.start(op)
}

// position is where the ring stood before the later ones of its operations.
func position(s *serving, later []queue.Op) uint64 {
	p := s.ring.Position()
	for i := range later {
		p -= later[i].Slots()
	}
	return p
}

// extend makes a put part of the one before it, where the two are neighbours at
// both ends.
func (c *Consumer) extend(op *queue.Op) bool {
	m := c.merge
	if m == nil || op.Code != queue.CodePut || m.PE != op.PE || m.Context != op.Context || m.Want != 0 ||
		m.Dest+m.Length != op.Dest || m.Local+m.Length != op.Local {
		return false
	}
	m.Length += op.Length
	m.Want, m.Reply = op.Want, op.Reply
	return true
}

func (c *Consumer) flushMerge() {
	if op := c.merge; op != nil {
		c.merge = nil
		c.start(op)
	}
}

// start posts an operation whose progress is in state, or makes it wait.
func (c *Consumer) start(op *queue.Op) {
	if c.perPE[op.PE] == 0 && c.post(op, &c.state) {
		return
	}
	c.enqueued++
	c.keepBytes(op, &c.state)
	c.waiting = append(c.waiting, waiting{*op, c.state, c.enqueued})
	c.perPE[op.PE]++
}

// postWaiting tries those that wait, in order; a PE that still has no room is
// not tried again in the same pass.
func (c *Consumer) postWaiting() int {
	if len(c.waiting) == 0 {
		return 0
	}
	c.pass++
	full := false
	work := c.waiting
	c.waiting, c.spare = c.spare[:0], work
	for i := range work {
		w := &work[i]
		pe := w.op.PE
		if full || c.blocked[pe] == c.pass || !c.post(&w.op, &w.state) {
			c.blocked[pe] = c.pass
			full = full || c.e.Full()
			c.waiting = append(c.waiting, *w)
			continue
		}
		c.giveBytes(&w.state)
		c.perPE[pe]--
	}
	return len(work) - len(c.waiting)
}

// oldestWaiting is the number of the first operation that waits.
func (c *Consumer) oldestWaiting() uint64 {
	if len(c.waiting) == 0 {
		return c.enqueued + 1
	}
	return c.waiting[0].number
}

// Holds reports whether operations that were decoded have not been posted.
func (c *Consumer) Holds() bool {
	for _, s := range c.rings {
		if len(s.kept) > 0 {
			return true
		}
	}
	return len(c.waiting) > 0
}

// Counts returns how many operations were taken from the rings, ever, and how many of them
// had to wait for room.
func (c *Consumer) Counts() (taken, waited uint64) { return c.taken, c.enqueued }

// statusFailed is what an answer's status is for an operation that failed.
const statusFailed = -1

// failOp fails an operation, because it makes no sense or the engine could not
// post it. Whoever waits for its answer gets a status; the ring goes on.
func (c *Consumer) failOp(op *queue.Op, s *serving, err error) {
	if op.Want != 0 && answerable(op.Code) {
		s.ring.Answer(op.Reply, 0, statusFailed)
	}
	c.report(fmt.Errorf("ring: %s for PE %d before position %d: %w", op.Code, op.PE, s.ring.Position(), err))
}

func answerable(code queue.Code) bool {
	switch code {
	case queue.CodePut, queue.CodeGet, queue.CodePutSignal, queue.CodeAMOWide:
		return true
	}
	return false
}
