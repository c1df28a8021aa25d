package queue_test

import (
	"fmt"

	"libshmem/queue"
)

// The model is the protocol as atomic steps of two producers and the consumer. A producer's slot
// words and its earlier stores become visible in any order that its fence allows, as on a GPU, even
// after it has begun its next operation. Operations of one slot carry their operands, and need no
// fence. Sizes need not be powers of two.

// A setting is a case: a ring, and how many slots each operation of each
// producer takes. Positions in states count from start.
type setting struct {
	size  uint64
	start uint64
	ops   [2][]uint8
}

func (c *setting) String() string { return fmt.Sprintf("ring %d from %d %v", c.size, c.start, c.ops) }

func (c *setting) slots(op opID) uint8 { return c.ops[op.producer()][op.index()] }

// slot gives where position p is, and its lap.
func (c *setting) slot(p uint8) (index, lap uint8) {
	at := c.start + uint64(p)
	return uint8(at % c.size), uint8(at / c.size & 1)
}

func (c *setting) total() (n uint8) {
	for _, ops := range c.ops {
		for _, slots := range ops {
			n += slots
		}
	}
	return n
}

// opID names an operation in one byte: the producer and which of its own.
type opID uint8

func opOf(producer int, index uint8) opID { return opID(uint8(producer)<<2 | index) }
func (o opID) producer() int              { return int(o >> 2) }
func (o opID) index() uint8               { return uint8(o & 3) }

// A word of a slot: its producer, its place among the operation's six, and the lap.
type word struct {
	op  opID
	i   uint8
	lap uint8
}

// flaw is a mistake that the exploration has to find.
type flaw int

const (
	sound         flaw = iota
	publishFirst       // the consumer gives the slots back before it has read them
	oneLap             // it looks at the lap of a slot's first word only
	firstSlot          // it looks at the laps of the first slot only
	roomByOne          // a producer stores one slot too early
	roomForFirst       // it waits for room for its first slot only
	tornTake           // it reads the head and adds to it in two steps
	noFence            // nothing orders its writes before its slots
	lapOfFirst         // all slots of an operation get the lap of the first
	lapConstant        // the lap does not change from round to round
	cachesTooMuch      // it keeps the end that it waits for as the tail that it saw
	keepsPoller        // it goes on without giving back the right to read the tail
	flaws
)

var flawNames = [flaws]string{"sound", "publish first", "one lap", "first slot", "room by one", "room for first",
	"torn take", "no fence", "lap of first", "constant lap", "caches too much", "keeps poller"}

// producer is where one of them is.
type producer struct {
	op      uint8 // which operation; all done when past the last
	pc      step
	pos     uint8
	seen    uint8 // the tail that it saw
	pending uint8 // words that are not stored yet, and its source
	late    late
}

// late is an operation that the producer is done with and that is not visible.
type late struct{ op, pos, pending uint8 }

const sourcePending = 1 << 6

// state is everything that a thread can see or hold.
type state struct {
	head, near, tail uint8
	poller           bool
	slots            [4][2]word
	source           uint8 // operations whose source is written
	producers        [2]producer

	read  uint8 // the consumer's position
	have  uint8 // words of an operation that it has
	words [2 * queue.MaxSlots]word
	count [2]uint8 // operations of each producer that it had
}

type step uint8

const (
	writeSource step = iota
	fence
	lookFirst
	take
	takeAdd // only of tornTake
	lookNear
	claim
	lookFar
	keepNear
	release
	store
)

func first(c *setting, f flaw) state {
	var s state
	for p := range uint8(c.size) {
		index, lap := c.slot(p)
		if f == lapConstant {
			lap = 0
		}
		for w := range 2 {
			s.slots[index][w] = word{i: 7, lap: lap ^ 1}
		}
	}
	return s
}

func (s *state) final(c *setting) bool {
	return int(s.producers[0].op) == len(c.ops[0]) && int(s.producers[1].op) == len(c.ops[1]) && s.tail == c.total()
}

// produce returns the possible next steps of producer i.
func (s *state) produce(c *setting, f flaw, i int, next func(label string, s state)) {
	p := &s.producers[i]
	// go on with the state changed by do, at another step
	to := func(label string, pc step, do func(n *state, p *producer)) {
		n := *s
		n.producers[i].pc = pc
		do(&n, &n.producers[i])
		next(label, n)
	}
	for w := range uint8(6) {
		if p.late.pending>>w&1 != 0 {
			to(fmt.Sprintf("late word %d of %d", w, opOf(i, p.late.op)), p.pc, func(n *state, p *producer) {
				n.store(c, f, opOf(i, p.late.op), p.late.pos, w)
				if p.late.pending &^= 1 << w; p.late.pending == 0 {
					p.late = late{}
				}
			})
		}
	}
	if int(p.op) == len(c.ops[i]) {
		return
	}
	id, slots := opOf(i, p.op), c.ops[i][p.op]
	room := func(pos, tail uint8) bool {
		end := pos + slots
		switch f {
		case roomByOne:
			end--
		case roomForFirst:
			end = pos + 1
		}
		return int8(end-tail-uint8(c.size)) <= 0
	}
	if p.pending&sourcePending != 0 {
		to("source lands", p.pc, func(n *state, p *producer) {
			p.pending &^= sourcePending
			n.source |= 1 << id
			p.finish()
		})
	}
	pc := p.pc
	if pc == writeSource && slots == 1 {
		pc = lookFirst
	}
	switch pc {
	case writeSource:
		to("write source", fence, func(_ *state, p *producer) { p.pending = sourcePending })
	case fence:
		if f == noFence || p.pending == 0 && p.late.pending == 0 {
			to("fence", lookFirst, func(*state, *producer) {})
		}
	case lookFirst:
		to("look at the cached tail", take, func(_ *state, p *producer) { p.seen = s.near })
	case take, takeAdd:
		at := p.pos
		if pc == take {
			at = s.head
		}
		next := lookNear
		if room(at, p.seen) {
			next = store
		}
		if pc == take && f == tornTake {
			to("take", takeAdd, func(_ *state, p *producer) { p.pos = at })
			break
		}
		to("take", next, func(n *state, p *producer) {
			n.head = at + slots
			p.pos, p.seen = at, 0
			p.pending |= 1<<(2*slots) - 1
		})
	case lookNear:
		next := claim
		if room(p.pos, s.near) {
			next = store
		}
		to("look at the cached tail again", next, func(*state, *producer) {})
	case claim: // the right to read the tail for all
		if s.poller {
			to("another reads the tail", lookNear, func(*state, *producer) {})
		} else {
			to("claim", lookFar, func(n *state, _ *producer) { n.poller = true })
		}
	case lookFar:
		to("look at the tail", keepNear, func(n *state, p *producer) { p.seen = n.tail })
	case keepNear:
		to("keep the tail", release, func(n *state, p *producer) {
			if n.near = p.seen; f == cachesTooMuch {
				n.near = p.pos
			}
		})
	case release:
		next := lookNear
		if room(p.pos, p.seen) {
			next = store
		}
		to("release", next, func(n *state, p *producer) {
			n.poller = f == keepsPoller && next == store
			p.seen = 0
		})
	case store:
		if p.pending&sourcePending == 0 && p.late.pending == 0 {
			to("go on", writeSource, func(_ *state, p *producer) {
				*p = producer{op: p.op + 1, late: late{p.op, p.pos, p.pending}}
			})
		}
		for w := range 2 * slots {
			if p.pending>>w&1 != 0 {
				to(fmt.Sprintf("store word %d of %d", w, id), store, func(n *state, p *producer) {
					n.store(c, f, id, p.pos, w)
					p.pending &^= 1 << w
					p.finish()
				})
			}
		}
	}
}

// store makes word w of an operation at a position visible.
func (s *state) store(c *setting, f flaw, id opID, pos, w uint8) {
	index, lap := c.slot(pos + w/2)
	if f == lapOfFirst {
		_, lap = c.slot(pos)
	}
	if f == lapConstant {
		lap = 0
	}
	s.slots[index][w%2] = word{op: id, i: w, lap: lap}
}

// finish goes on to the next operation when all of this one is visible.
func (p *producer) finish() {
	if p.pc == store && p.pending == 0 {
		*p = producer{op: p.op + 1, late: p.late}
	}
}

// consume returns the possible next steps of the consumer, and an error when it found another
// operation than was pushed.
func (s *state) consume(c *setting, f flaw, next func(label string, s state)) error {
	if s.have == 0 && s.tail != s.read {
		n := *s
		n.tail = n.read
		next("publish", n)
	}
	k := s.have
	index, lap := c.slot(s.read + k/2)
	if f == lapConstant {
		lap = 0
	}
	w := s.slots[index][k%2]
	looks := (f != oneLap || k%2 == 0) && (f != firstSlot || k < 2)
	n := *s
	if looks && w.lap != lap || w.i == 7 {
		n.have, n.words = 0, [6]word{}
		if n != *s {
			next("read: not there yet", n)
		}
		return nil
	}
	n.words[k], n.have = w, k+1
	slots := uint8(1)
	if n.have >= 2 {
		slots = c.slots(n.words[0].op)
	}
	if f == publishFirst && n.have == 2 {
		n.tail = n.read + slots
	}
	if n.have < 2*slots {
		next(fmt.Sprintf("read word %d", k), n)
		return nil
	}
	id := n.words[0].op
	for i, w := range n.words[:n.have] {
		if w.op != id || w.i != uint8(i) {
			return fmt.Errorf("operation %d is torn: word %d is word %d of %d", id, i, w.i, w.op)
		}
	}
	if n.count[id.producer()] != id.index() {
		return fmt.Errorf("producer %d: operation %d came after %d others", id.producer(), id.index(), n.count[id.producer()])
	}
	if slots > 1 && n.source>>id&1 == 0 {
		return fmt.Errorf("operation %d is there and what it names is not", id)
	}
	n.count[id.producer()]++
	n.read += slots
	n.have, n.words = 0, [6]word{}
	next(fmt.Sprintf("has operation %d", id), n)
	return nil
}
