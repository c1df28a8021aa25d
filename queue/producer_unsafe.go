package queue

import (
	"sync/atomic"
	"unsafe"
)

// Producer submits operations to a ring from Go. It is the only producer of its ring, and one
// goroutine uses it, so it needs no reservations.
type Producer struct {
	ring *Ring  // its geometry and its memory; the position in it is the consumer's
	head uint64 // next position to be stored
}

// Producer returns the producer of a ring into which nothing has been pushed.
func (r *Ring) Producer() *Producer { return &Producer{ring: r} }

// Room returns how many slots are free.
func (p *Producer) Room() uint64 { return p.ring.Slots() - (p.head - p.ring.Tail()) }

// Push stores an operation and returns its position. Preconditions: Room has reported enough slots
// for it.
func (p *Producer) Push(op *Op) uint64 {
	var w [2 * MaxSlots]uint64
	at := p.head
	n := uint64(op.Pack(&w))
	for i := range n {
		slot, lap := (*[2]uint64)(p.ring.slot(at+i)), p.ring.lap(at+i)
		storeRelease64(&slot[0], w[2*i]|lap)
		storeRelease64(&slot[1], w[2*i+1]|lap)
	}
	p.head += n
	return at
}

// Complete reports whether the quiet that was pushed at a position is complete.
func (p *Producer) Complete(position uint64) bool {
	return int64(atomic.LoadUint64(&p.ring.line.Done)-position) > 0
}

// Turn returns how many operations have been replied to in reply i. It is read before an operation
// is pushed that has the reply, and compared by Replied.
func (p *Producer) Turn(i uint16) uint32 { return atomic.LoadUint32(&p.reply(i).Turn) }

// Replied reports whether reply i is there, which had a turn before its operation was pushed. If so
// it returns the value that was fetched, and 0, or a status that is not 0 if the operation failed.
func (p *Producer) Replied(i uint16, turn uint32) (value uint64, status int32, ok bool) {
	r := p.reply(i)
	if atomic.LoadUint32(&r.Turn) == turn {
		return 0, 0, false
	}
	return r.Value, r.Status, true
}

// reply returns the address of reply i.
func (p *Producer) reply(i uint16) *Reply {
	return (*Reply)(unsafe.Add(p.ring.replies, uintptr(i)*unsafe.Sizeof(Reply{})))
}
