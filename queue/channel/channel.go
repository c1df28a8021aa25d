package channel

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"libshmem/queue"
)

// Limits of one channel.
const (
	// mostSlots is the slots that one request takes in the ring at most.
	mostSlots = queue.MaxSlots
	// batch is the number of requests that a Poll takes before it handles replies and quiets.
	batch = 64
)

// Channel is the proxy's side of one channel. One goroutine calls Poll; any goroutine may call
// Taken.
type Channel struct {
	memory Memory
	ring   *queue.Producer
	heap   uint64 // bytes from the start of the symmetric segment to the user heap

	taken    atomic.Uint64 // position of the next request
	complete uint64        // as published
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
	c := &Channel{memory: m, ring: ring.Producer(), heap: heap}
	for i := range uint16(queue.Replies) {
		c.free = append(c.free, i)
	}
	return c
}

// Taken reports whether all requests that kernels have stored are in the ring.
func (c *Channel) Taken() bool {
	_, stored := c.memory.entry(c.taken.Load())
	return !stored
}

// Idle reports whether nothing is left to do until a kernel stores a request: all requests are in
// the ring, and no kernel waits for a result or for a quiet. It does not count a quiet for requests
// that are not stored, because a kernel that has ended before it stored them will not do so any
// more. The goroutine of Poll calls it.
func (c *Channel) Idle() bool {
	issue := atomic.LoadUint64(c.memory.word(quietIssueAt))
	return c.Taken() && len(c.waiting)+len(c.pairs) == 0 && !c.quiet.underway && (issue <= c.quiet.position || issue > c.taken.Load())
}

// Poll pushes requests into the ring, hands results to kernels and acknowledges quiets. It reports
// whether it did anything. An error is that of a request that is not served; the channel cannot
// pass it.
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
	return worked, nil
}

// take pushes the next request. It returns false if none is there, or the ring has no room for it.
func (c *Channel) take() (bool, error) {
	at := c.taken.Load()
	var r request
	n, err := c.memory.read(at, &r)
	if n == 0 || err != nil || c.ring.Room() < mostSlots {
		return false, err
	}
	switch r.op {
	case opQuiet:
		c.pairs = append(c.pairs, quiet{position: at, at: c.ring.Push(&queue.Op{Code: queue.CodeQuiet}), underway: true})
	case opAMO:
		if pushed, err := c.pushAMO(&r); !pushed {
			return false, err
		}
	default:
		op, err := c.operation(&r)
		if err != nil {
			return false, err
		}
		c.ring.Push(&op)
	}
	c.taken.Store(at + n)
	return true, nil
}

// operation returns the operation of a request that has no result and is no atomic operation.
func (c *Channel) operation(r *request) (queue.Op, error) {
	op := queue.Op{PE: r.pe, Dest: c.heap + r.offset, Local: c.memory.local(r.local), Length: r.length}
	switch r.op {
	case opPut:
		op.Code = queue.CodePut
	case opGet, opG:
		op.Code = queue.CodeGet
	case opFence:
		op = queue.Op{Code: queue.CodeFence}
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
	if !c.quiet.underway && issue > c.quiet.position && c.taken.Load() >= issue && c.ring.Room() >= mostSlots {
		c.quiet = quiet{position: issue, at: c.ring.Push(&queue.Op{Code: queue.CodeQuiet}), underway: true}
		worked = true
	}
	// What other PEs write here is visible to kernels before the signals that follow it.
	if issue = atomic.LoadUint64(c.memory.word(cstIssueAt)); issue != atomic.LoadUint64(c.memory.word(cstAckAt)) {
		atomic.StoreUint64(c.memory.word(cstAckAt), issue)
		worked = true
	}
	return worked
}
