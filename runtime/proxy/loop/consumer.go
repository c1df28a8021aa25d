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
	// drainBatch is the number of operations that are taken from a ring before the consumer polls
	// the network and empties the next ring.
	drainBatch = 32
	// WaitingMax is the number of operations that may wait because the engine could not post them;
	// beyond it no operation is taken from the rings. It is enough for some operations to each of
	// many PEs. A pass over WaitingMax operations costs no more than a post. Half of the number is
	// divided among the rings, so a ring whose operations all wait does not stop the others.
	WaitingMax = 1024
)

// Consumer empties rings into an engine. The engine's proxy thread calls its methods with the
// engine's lock held, unless their comments say otherwise. Drain handles all operations; Run lets C
// handle the simple cases.
//
// # Order
//
// Operations of one ring on one PE are posted in their order. An operation that the engine cannot
// post (its PE has no credit, or no token is free) waits, later ones on the same PE wait after it,
// and others overtake it. The engine performs a fence. An operation that had to wait is posted in
// an epoch of its own, so that it does not share one with operations from after a fence.
//
// A ring stops before a fence while other rings have operations to post: the fences of several
// rings then begin one epoch together. Kernels like DeepEP's put on many rings, and then send a
// fence and an addition on each. With an epoch for each fence the puts of every other ring would
// follow the additions of the rings before it, which takes a round trip each time.
type Consumer struct {
	e      Poster      // the engine that posts the operations
	limits call.Limits // of e
	rings  []*serving
	locals *Locals
	report func(error)
	trace  *trace.Track // nil: nothing is traced
	taken  uint64       // operations taken from the rings so far

	waiting  []waiting // operations that the engine could not post, in order
	spare    []waiting // memory for waiting: each pass moves what still waits to the other array
	perRing  int       // operations that each ring may have waiting, however many the others have
	shared   int       // free places for operations of any ring, beyond perRing
	perPE    []uint16  // number of waiting operations, by PE
	blocked  []uint32  // by PE: the last pass in which an operation on it could not be posted
	pass     uint32    // number of the last pass over waiting
	enqueued uint64    // operations that had to wait so far; each has its number in this count

	fences   uint64 // fences taken from the rings so far; those that began an epoch together count as one
	epochFor uint64 // value of fences when the engine's present epoch began
	stops    int    // rings that have stopped before a fence
	passed   int    // steps of Drain since the first of these rings stopped
	batch    [drainBatch]queue.Op
	merge    *queue.Op // a put in batch that may grow; nil: none
	state    progress  // of the operation that is being started, or of merge
	bytes    [2]uint64 // bytes from the slots of an operation, until they are copied into a message
	spares   [][]byte  // free memory for copies of bytes from cells
	replies  replies
	order    order

	inner      *fastpath.Loop // the inner loop in C; nil: the provider has no C functions
	localsSeen uint64         // version of locals when inner got its areas
	misses     int            // value of skipC after the last call of C that found only work for Go
	skipC      int            // iterations in which Go still does not call the inner loop in C
	burstsInC  int            // iterations in which C posts bursts, too, because the last one had few puts in a row

	stall   time.Duration    // time after which a ring or operation that waits is reported
	watched time.Time        // time of the last check of the rings
	stuck   map[uint32]stuck // by PE
	stuckAt time.Time        // time of the last check of stuck
	device  bool             // kernels are the producers
	crowded bool             // there are more threads than processors
	sleeper *wait.Sleeper    // sleeps in C and polls the rings of kernels; nil: not used yet
	serve   serveState
	loop    *Loop // the loop that serves it; nil: it is not attached
	ending  atomic.Bool
	ended   chan struct{}
	last    uint64 // the settlement, a quiet of all rings, after which endConsumer detaches the consumer
}

// serving is the consumer's state of one ring.
type serving struct {
	ring    *queue.Ring
	kept    []queue.Op // operations that were read from the ring and not started: see drainRing
	waits   int        // number of the ring's operations in Consumer.waiting
	quiet   waits
	fence   waits
	stopped bool // kept begins with a fence that waits for other rings
	stalled stalled
}

// waiting is an operation from a ring that the engine could not post, and that is tried again.
type waiting struct {
	op     queue.Op
	state  progress
	number uint64 // its number in the count Consumer.enqueued
}

// progress says how much of an operation from a ring has been posted.
type progress struct {
	serving *serving // of its ring
	fences  uint64   // number of fences before it
	record  uint16   // number of its record in Consumer.replies; 0: none yet
	part    part     // which pieces of it are posted
	bytes   []byte   // copy of its bytes from a cell, if it had to wait
}

// part is the progress of a put or get that is posted in pieces.
type part uint8

const (
	whole  part = iota
	begun       // some pieces are posted
	fenced      // all pieces but the last are posted, and a fence after them
)

// SetStall sets how long a ring may stand still, or an operation wait to be posted, before that is
// reported; 0, the default: nothing is reported. SetStall must be called before Attach.
func (c *Consumer) SetStall(d time.Duration) { c.stall = d }

// SetCrowded sets whether the threads of PEs and their proxies outnumber their processors.
// SetCrowded must be called before Attach.
func (c *Consumer) SetCrowded(is bool) { c.crowded = is }

// TraceTo makes the consumer record in a trace track how many operations it took from a ring, and
// when. TraceTo must be called before Attach.
func (c *Consumer) TraceTo(t *trace.Track) { c.trace = t }

// NewConsumer makes the consumer of rings for e, which is connected. It calls report on the
// engine's thread for each operation that failed.
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
	c.perRing = max(WaitingMax/2/max(len(rings), 1), 2) // at least 2: canWait counts the put in merge, too
	c.shared = max(WaitingMax-c.perRing*len(rings), 0)
	c.replies.init(limits.NPEs)
	c.openInnerLoop()
	return c
}

// Drain takes operations from the rings, posts them, writes replies, and handles quiets and fences.
// It returns the number of steps: 0 if there is nothing to do until an operation is pushed or a
// completion arrives.
func (c *Consumer) Drain() int {
	did := c.replies.collect(c)
	did += c.postWaiting()
	c.watchWaiting()
	for i, s := range c.rings {
		begin := c.trace.Now()
		n := c.drainRing(s)
		if did += n; n > 0 {
			c.trace.Batch(begin, i, n, len(s.kept))
		}
	}
	did += c.passFences(did)
	if len(c.waiting) == 0 && c.fences != c.epochFor {
		// C may post the next operations, and it orders them by the engine's epoch alone.
		c.e.Fence()
		c.epochFor = c.fences
	}
	if did == 0 {
		c.skipC = 0 // nothing is left for Go, so C may serve the rings again at once
	}
	return did + c.order.advance(c)
}

// drainRing starts operations of a ring, and returns their number: those that its last call has
// left in s.kept, or else up to drainBatch new ones. If there are other rings, it stops before a
// fence: passFences then begins one epoch for the fences of all rings. It also stops if no more
// operations of the ring may wait. Operations that it has read and not started stay in s.kept. Only
// when s.kept is empty does it move the ring's tail past the operations.
func (c *Consumer) drainRing(s *serving) int {
	var ops []queue.Op
	if len(s.kept) > 0 {
		if s.stopped || !c.canWait(s) {
			return 0
		}
		ops = c.batch[:copy(c.batch[:], s.kept)]
		s.kept = s.kept[:0]
	} else {
		n := s.ring.Read(c.batch[:])
		if n == 0 {
			return 0
		}
		ops = c.batch[:n]
	}
	n := 0
	c.e.Stamp(clock.Now())
	together := c.shouldShare(ops)
	if together {
		c.e.BurstBegins()
	}
	for ; n < len(ops) && c.canWait(s); n++ {
		if ops[n].Code == queue.CodeFence && len(c.rings) > 1 {
			s.stopped = true
			c.stops++
			break
		}
		c.process(s, ops, n)
	}
	c.flushMerge()
	if together {
		c.e.BurstEnds()
	}
	c.e.Stamp(0)
	if s.kept = append(s.kept, ops[n:]...); len(s.kept) == 0 {
		// The tail moves only when each operation before it is posted or in c.waiting: a quiet in
		// another ring relies on that.
		s.ring.Publish()
	}
	return n
}

// passFences passes the fences before which drainRing has stopped, and returns their number. One
// new epoch serves all of them. To collect many fences, it waits until the other rings have nothing
// to post, or have posted fastpath.FenceAfter operations meanwhile. did is the number of steps that
// the present call of Drain has made so far.
func (c *Consumer) passFences(did int) int {
	if c.stops == 0 {
		return 0
	}
	if c.passed += did; did > 0 && c.passed < fastpath.FenceAfter {
		return 0
	}
	n := c.stops
	c.stops, c.passed = 0, 0
	c.fences++
	for _, s := range c.rings {
		if !s.stopped {
			continue
		}
		s.stopped = false
		c.taken++
		s.fence.request(position(s, s.kept[1:]))
		if s.kept = append(s.kept[:0], s.kept[1:]...); len(s.kept) == 0 {
			s.ring.Publish()
		}
	}
	return n
}

// canWait reports whether one more operation of a ring may wait, besides the put in merge, which
// was taken from the ring before and may have to wait, too.
func (c *Consumer) canWait(s *serving) bool { return c.shared+max(c.perRing-s.waits, 0) > 1 }

// beginWait counts an operation of a ring that the engine could not post. Each ring has room for
// perRing such operations; further ones use room that all rings share.
func (c *Consumer) beginWait(s *serving) {
	if s.waits++; s.waits > c.perRing {
		c.shared--
	}
}

// endWait removes an operation of a ring, which has waited and is posted now, from the counts.
func (c *Consumer) endWait(s *serving) {
	if s.waits--; s.waits >= c.perRing {
		c.shared++
	}
}

// process handles ops[i], one of the operations that were taken from a ring last: it notes a fence
// or a quiet, and checks and posts any other operation. It leaves a put in merge for a while, in
// case the next operation continues it.
func (c *Consumer) process(s *serving, ops []queue.Op, i int) {
	op := &ops[i]
	c.taken++
	switch op.Code {
	case queue.CodeNop:
		return
	case queue.CodeFence:
		c.flushMerge()
		c.fences++
		s.fence.request(position(s, ops[i+1:]))
		return
	case queue.CodeQuiet:
		c.flushMerge()
		s.quiet.request(position(s, ops[i+1:]))
		return
	}
	if err := c.check(s.ring, op); err != nil {
		c.failOp(op, s, err)
		return
	}
	inCell := mayUseCell(op) && s.ring.InCell(op.Local, op.Length)
	if !inCell && c.extendMerge(op) {
		return
	}
	c.flushMerge()
	c.state = progress{serving: s, fences: c.fences}
	if op.Code == queue.CodePut && op.Want == 0 && !inCell {
		c.merge = op
		return
	}
	c.start(op)
}

// position returns a ring's position before `later`, the last operations that were read from it. A
// quiet or fence for which a producer waits is identified by the position after it.
func position(s *serving, later []queue.Op) uint64 {
	p := s.ring.Position()
	for i := range later {
		p -= later[i].Slots()
	}
	return p
}

// extendMerge adds a put to the one in merge, if its source and its destination continue those of
// that put. It returns false if they do not, or if a producer waits for the reply to the put in
// merge (Want): the merged put has only one reply.
func (c *Consumer) extendMerge(op *queue.Op) bool {
	m := c.merge
	if m == nil || op.Code != queue.CodePut || m.PE != op.PE || m.Context != op.Context || m.Want != 0 ||
		m.Dest+m.Length != op.Dest || m.Local+m.Length != op.Local {
		return false
	}
	m.Length += op.Length
	m.Want, m.Reply = op.Want, op.Reply
	return true
}

// flushMerge posts the put in merge, if there is one: no more puts are added to it.
func (c *Consumer) flushMerge() {
	if op := c.merge; op != nil {
		c.merge = nil
		c.start(op)
	}
}

// start posts an operation whose progress is in c.state. If that is not possible now, or operations
// on the same PE wait already, the operation waits in their order; the bytes in its ring cell are
// copied, so that the producer may reuse the cell.
func (c *Consumer) start(op *queue.Op) {
	if c.perPE[op.PE] == 0 && c.post(op, &c.state) {
		return
	}
	c.enqueued++
	c.copyFromCell(op, &c.state)
	c.waiting = append(c.waiting, waiting{*op, c.state, c.enqueued})
	c.beginWait(c.state.serving)
	c.perPE[op.PE]++
}

// postWaiting posts the waiting operations, in order, as far as credits and tokens allow now, and
// returns their number. If one cannot be posted, no later one on the same PE is tried in the same
// pass.
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
		c.freeCopy(&w.state)
		c.endWait(w.state.serving)
		c.perPE[pe]--
	}
	return len(work) - len(c.waiting)
}

// oldestWaiting returns the number of the oldest waiting operation, or the next number if no
// operation waits: operations with smaller numbers have been posted.
func (c *Consumer) oldestWaiting() uint64 {
	if len(c.waiting) == 0 {
		return c.enqueued + 1
	}
	return c.waiting[0].number
}

// Holds reports whether some operations that were read from rings have not been posted.
func (c *Consumer) Holds() bool {
	for _, s := range c.rings {
		if len(s.kept) > 0 {
			return true
		}
	}
	return len(c.waiting) > 0
}

// Counts returns how many operations were taken from the rings so far, and how many of them had to
// wait because the engine could not post them at once.
func (c *Consumer) Counts() (taken, waited uint64) { return c.taken, c.enqueued }

// Values of the status in the reply to an operation, which C writes, too (fill_reply).
const (
	statusDone   = int32(call.Done)
	statusFailed = int32(call.Failed)
)

// failOp reports an operation that is invalid or that the engine could not post. A producer that
// waits for its reply gets statusFailed; the ring goes on.
func (c *Consumer) failOp(op *queue.Op, s *serving, err error) {
	if op.Want != 0 && hasReply(op.Code) {
		s.ring.Reply(op.Reply, 0, statusFailed)
	}
	c.report(fmt.Errorf("ring: %s for PE %d before position %d: %w", op.Code, op.PE, s.ring.Position(), err))
}

// hasReply reports whether a producer may wait for a reply to operations with a code. The other
// operations have no field for a reply.
func hasReply(code queue.Code) bool {
	switch code {
	case queue.CodePut, queue.CodeGet, queue.CodePutSignal, queue.CodeAMOWide:
		return true
	}
	return false
}
