package channel

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"

	"libshmem/queue"
)

// Limits of one channel.
const (
	// mostSlots is the slots that one request takes in the ring at most, with a fence before it. One
	// more stays free for a quiet, which waits for no request behind it.
	mostSlots = queue.MaxSlots + 1
	// batch is the number of requests that a Poll takes before it handles replies and quiets.
	batch = 64
	// holdTime is for how long Poll leaves a put, the last request that is stored, because the signal
	// that goes with it may follow. A kernel stores the rest of a put with signal some 2 us later.
	holdTime = 3 * time.Microsecond
)

// Channel is the proxy's side of one channel. One goroutine calls Poll; any goroutine may call
// Taken.
type Channel struct {
	memory Memory
	ring   *queue.Producer
	heap   uint64 // bytes from the start of the symmetric segment to the user heap

	taken    atomic.Uint64 // position of the next request
	complete uint64        // as published
	hold     time.Duration // holdTime, but in tests
	held     time.Time     // when Poll first left the next request, a put; zero: it has not
	dirty    bool          // operations were pushed since the last fence
	owed     bool          // a fence of the kernels was not pushed; the next operation needs one before it
	waiting  []fetch       // operations whose result a kernel waits for
	free     []uint16      // replies of the ring that no operation has
	quiet    quiet         // for quiet_issue
	pairs    []quiet       // quiets of queue pairs, in the order of their positions
}

// fetch is an operation in the ring whose result goes to an element.
type fetch struct {
	element uint64
	turn    uint32 // of the reply before the operation
	reply   uint16
}

// quiet is a quiet in the ring.
type quiet struct {
	position uint64 // in the channel: all operations of requests below it will be complete
	at       uint64 // position in the ring
	underway bool
}

// New returns the channel in a memory. Its requests go to a ring whose only producer it is. heap is
// the number of bytes from the start of the symmetric segment, from which offsets in a ring count,
// to the user heap, from which those of a channel do.
func New(m Memory, ring *queue.Ring, heap uint64) *Channel {
	c := &Channel{memory: m, ring: ring.Producer(), heap: heap, hold: holdTime}
	for i := range uint16(queue.Replies) {
		c.free = append(c.free, i)
	}
	return c
}

// Taken reports whether all requests that kernels have stored whole are in the ring. A kernel that
// ends by an error may leave a part of one.
func (c *Channel) Taken() bool {
	var r request
	n, err := c.memory.read(c.taken.Load(), &r)
	return n == 0 && err == nil
}

// Position returns the position of the next request. Any goroutine may call it.
func (c *Channel) Position() uint64 { return c.taken.Load() }

// Room is the bytes of requests that kernels can have stored beyond Position.
const Room = requestBytes

// Idle reports whether nothing is left to do until a kernel stores a request: all requests are in
// the ring, and no kernel waits for a result or for a quiet. It does not count a quiet for requests
// that are not stored, because a kernel that has ended before it stored them will not do so any
// more. The goroutine of Poll calls it.
func (c *Channel) Idle() bool {
	issue := atomic.LoadUint64(c.memory.word(quietIssueAt))
	return c.Taken() && len(c.waiting)+len(c.pairs) == 0 && !c.quiet.underway && (issue <= c.quiet.position || issue > c.taken.Load())
}

// Poll pushes requests into the ring, hands results to kernels and acknowledges quiets. It reports
// whether it did anything, or has left a request that a later Poll will take. An error is that of a
// request that is not served; the channel cannot pass it.
func (c *Channel) Poll() (worked bool, err error) {
	worked = c.giveResults()
	for range batch {
		took, err := c.take()
		if err != nil {
			return worked, err
		}
		if !took {
			break
		}
		worked = true
	}
	if c.settleQuiets() {
		worked = true
	}
	c.publish()
	return worked || !c.held.IsZero(), nil
}

// take pushes the next request, and what belongs to it. It returns false if none is there, or the
// ring has no room for it.
func (c *Channel) take() (bool, error) {
	at := c.taken.Load()
	var r request
	n, err := c.memory.read(at, &r)
	if n == 0 || err != nil || c.ring.Room() < mostSlots+1 {
		return false, err
	}
	var more uint64 // bytes of the fence and the signal that go with a put
	if r.op == opPut {
		var stored bool
		more, stored = c.signalOf(at+n, &r)
		if !stored && c.holds() && atomic.LoadUint64(c.memory.word(quietIssueAt)) <= at {
			return false, nil
		}
	}
	c.held = time.Time{}
	switch r.op {
	case opQuiet:
		c.pairs = append(c.pairs, c.pushQuiet(at))
	case opFence:
		c.owed = c.owed || c.dirty
	case opAMO:
		if pushed, err := c.pushAMO(&r); !pushed {
			return false, err
		}
	default:
		op, err := c.operation(&r)
		if err != nil {
			return false, err
		}
		if more > 0 {
			c.owed = c.owed || c.dirty
		}
		c.push(&op)
		c.owed = more > 0
	}
	c.taken.Store(at + n + more)
	return true, nil
}

// holds reports whether the next request, a put, is held: for holdTime since the first call for it.
func (c *Channel) holds() bool {
	if c.held.IsZero() {
		c.held = time.Now()
	}
	return time.Since(c.held) < c.hold
}

// push pushes an operation, and before it the fence that is owed.
func (c *Channel) push(op *queue.Op) {
	if c.owed {
		c.ring.Push(&queue.Op{Code: queue.CodeFence})
	}
	c.ring.Push(op)
	c.owed, c.dirty = false, true
}

// signalOf finds the signal of a put: up to 3.4 a put with signal is a put, a fence and an atomic
// operation on a signal. If the two follow at a position, it makes the put a put with signal, and
// returns their bytes: then the signal travels with the bytes. The fence between them also orders
// what was pushed before, and what will be, so one is owed before each of both. stored is false if
// what follows is not stored yet and may be a signal.
func (c *Channel) signalOf(at uint64, put *request) (n uint64, stored bool) {
	var fence, signal request
	n, err := c.memory.read(at, &fence)
	if n == 0 || err != nil || fence.op != opFence {
		return 0, n != 0 || err != nil
	}
	m, err := c.memory.read(at+n, &signal)
	if m == 0 || err != nil || signal.op != opAMO {
		return 0, m != 0 || err != nil
	}
	if a, err := amoOf(&signal); err != nil || a.kind > queue.KindAdd || a.increments || signal.size != 8 || signal.pe != put.pe {
		return 0, true
	}
	put.op, put.amo, put.value, put.signalAt = opPutSignal, signal.amo, signal.value, signal.offset
	return n + m, true
}

// operation returns the operation of a request that has no result and is no atomic operation.
func (c *Channel) operation(r *request) (queue.Op, error) {
	op := queue.Op{PE: r.pe, Dest: c.heap + r.offset, Local: c.memory.local(r.local), Length: r.length}
	switch r.op {
	case opPut:
		op.Code = queue.CodePut
	case opGet, opG:
		op.Code = queue.CodeGet
	case opPutSignal:
		a, err := amoOf(r)
		if err != nil {
			return op, err
		}
		op.Code, op.Kind, op.Signal, op.SignalAt = queue.CodePutSignal, a.kind, r.value, c.heap+r.signalAt
	case opP:
		if r.size == 0 || r.size > 8 || r.size&(r.size-1) != 0 {
			return op, fmt.Errorf("p of %d bytes for PE %d: an element has 1, 2, 4 or 8", r.size, r.pe)
		}
		op.Code, op.Width, op.Value = queue.CodeP, uint8(bits.TrailingZeros32(r.size)), r.value
		if r.size == 8 {
			op.Code = queue.CodePWide
		}
	}
	return op, nil
}

// publish lets kernels overwrite the requests that are in the ring. A kernel that has submitted a
// quiet of queue pairs waits until complete has passed it, so complete stays before it until the
// quiet is complete.
func (c *Channel) publish() {
	end := c.taken.Load()
	if len(c.pairs) > 0 {
		end = c.pairs[0].position
	}
	if end != c.complete {
		c.complete = end
		atomic.StoreUint64(c.memory.word(completeAt), end)
	}
}

// pushQuiet pushes a quiet for the requests below a position in the channel.
func (c *Channel) pushQuiet(position uint64) quiet {
	return quiet{position: position, at: c.ring.Push(&queue.Op{Code: queue.CodeQuiet}), underway: true}
}

// settleQuiets acknowledges quiets that are complete, and pushes one for the position that kernels
// have requested since, once the requests below it are in the ring. It reports whether it did
// anything.
func (c *Channel) settleQuiets() (worked bool) {
	for len(c.pairs) > 0 && c.ring.Complete(c.pairs[0].at) {
		c.pairs, worked = c.pairs[1:], true
	}
	if c.quiet.underway && c.ring.Complete(c.quiet.at) {
		c.quiet.underway, worked = false, true
		atomic.StoreUint64(c.memory.word(quietAckAt), c.quiet.position)
	}
	issue := atomic.LoadUint64(c.memory.word(quietIssueAt))
	if !c.quiet.underway && issue > c.quiet.position && c.taken.Load() >= issue && c.ring.Room() >= 1 {
		c.quiet, worked = c.pushQuiet(issue), true
	}
	// What other PEs write here is visible to kernels before the signals that follow it.
	if issue = atomic.LoadUint64(c.memory.word(cstIssueAt)); issue != atomic.LoadUint64(c.memory.word(cstAckAt)) {
		atomic.StoreUint64(c.memory.word(cstAckAt), issue)
		worked = true
	}
	return worked
}
