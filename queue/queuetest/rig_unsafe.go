package queuetest

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"libshmem/queue"
)

// slotSize is the bytes of a slot: two words of 8 bytes.
const slotSize = 16

// Rig is the whole memory of one ring, and the producers' side of it.
type Rig struct {
	Line *queue.Progress
	Near *queue.Near

	slots   unsafe.Pointer
	replies unsafe.Pointer
	cells   unsafe.Pointer
	claims  [queue.Replies / 32]uint32
	size    uint64
}

// New makes the memory of a ring of n slots whose next position is start, as if the positions below
// start had been used before: the laps of all words show that no operation is stored.
func New(n int, start uint64) *Rig {
	g := &Rig{
		Line:    &queue.Progress{Tail: start, Done: start, Fenced: start},
		Near:    &queue.Near{Head: start, Tail: start},
		slots:   aligned(queue.SlotBytes(n)),
		replies: aligned(queue.ReplyBytes),
		cells:   aligned(queue.CellsBytes),
		size:    uint64(n),
	}
	for p := start; p != start+g.size; p++ {
		for i := range 2 {
			*g.word(p, i) = g.Lap(p) ^ 1<<63
		}
	}
	return g
}

// aligned returns n zero bytes at an address that is a multiple of a slot's size.
func aligned(n int) unsafe.Pointer {
	b := make([]byte, n+slotSize)
	return unsafe.Pointer(&b[-uintptr(unsafe.Pointer(&b[0]))%slotSize])
}

// Memory returns the ring's parts for a consumer.
func (g *Rig) Memory() queue.Memory {
	return queue.Memory{Slots: g.slots, Line: g.Line, Replies: g.replies, Cells: g.cells}
}

// Lap returns the lap bit that makes a word of position p valid.
func (g *Rig) Lap(p uint64) uint64 {
	return (p>>bits.TrailingZeros64(g.size)&1 ^ 1) << 63
}

// word returns the address of word i, 0 or 1, of the slot at position p.
func (g *Rig) word(p uint64, i int) *uint64 {
	return (*uint64)(unsafe.Add(g.slots, (p&(g.size-1))*slotSize+uint64(i)*8))
}

// Word returns word i, 0 or 1, of the slot at position p, with its lap bit.
func (g *Rig) Word(p uint64, i int) uint64 { return atomic.LoadUint64(g.word(p, i)) }

// Set writes word i, 0 or 1, of the slot at position p as it is: the caller has added the lap bit.
func (g *Rig) Set(p uint64, i int, v uint64) { atomic.StoreUint64(g.word(p, i), v) }

// Reserve reserves n positions for a producer and returns the first. Whether their slots are free
// is not checked (Free).
func (g *Rig) Reserve(n int) uint64 { return atomic.AddUint64(&g.Near.Head, uint64(n)) - uint64(n) }

// Free reports whether the slots of all positions below end are free, so that a producer may store
// there. It loads the consumer's tail at most once.
func (g *Rig) Free(end uint64) bool {
	if int64(end-atomic.LoadUint64(&g.Near.Tail)-g.size) <= 0 {
		return true
	}
	tail := atomic.LoadUint64(&g.Line.Tail)
	atomic.StoreUint64(&g.Near.Tail, tail)
	return int64(end-tail-g.size) <= 0
}

// Stopped reports whether the consumer has stopped for good.
func (g *Rig) Stopped() bool { return atomic.LoadUint32(&g.Line.Stopped) != 0 }

// Cell returns the memory beside the slots that belongs to position p.
func (g *Rig) Cell(p uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(g.cells, p>>1%queue.Cells*queue.CellBytes)), queue.CellBytes)
}

// CellFree reports whether the cell of an operation whose last position is before `end` belongs to
// that operation now. The cells are used again every 2*Cells positions, so the consumer must have
// read all operations further back. It loads the consumer's tail at most once.
func (g *Rig) CellFree(end uint64) bool { return g.Free(end + g.size - min(g.size, 2*queue.Cells)) }

// Store stores the slots of an operation at position p. Preconditions: the producer has reserved
// the positions, and Free has reported them free.
func (g *Rig) Store(p uint64, op *queue.Op) {
	var w [2 * queue.MaxSlots]uint64
	for i := range uint64(op.Pack(&w)) {
		g.Set(p+i, 0, w[2*i]|g.Lap(p+i))
		g.Set(p+i, 1, w[2*i+1]|g.Lap(p+i))
	}
}

// Push pushes an operation, as soon as its slots are free, and returns its first position. It
// returns false if the consumer stopped before.
func (g *Rig) Push(op *queue.Op) (uint64, bool) {
	var w [2 * queue.MaxSlots]uint64
	n := op.Pack(&w)
	p := g.Reserve(n)
	for !g.Free(p + uint64(n)) {
		if g.Stopped() {
			return p, false
		}
		runtime.Gosched()
	}
	g.Store(p, op)
	return p, true
}

// Complete reports whether the quiet pushed at position p is complete.
func (g *Rig) Complete(p uint64) bool { return int64(atomic.LoadUint64(&g.Line.Done)-p) > 0 }

// Reply returns reply i.
func (g *Rig) Reply(i uint16) *queue.Reply {
	return (*queue.Reply)(unsafe.Add(g.replies, uintptr(i)*unsafe.Sizeof(queue.Reply{})))
}

// Claim claims a reply for an operation. It returns the reply's number and its turn, the count that
// changes when the consumer fills the reply. It returns false if all replies are claimed.
func (g *Rig) Claim() (i uint16, turn uint32, ok bool) {
	for i := range uint16(queue.Replies) {
		bit := uint32(1) << (i % 32)
		if atomic.OrUint32(&g.claims[i/32], bit)&bit == 0 {
			return i, atomic.LoadUint32(&g.Reply(i).Turn), true
		}
	}
	return 0, 0, false
}

// Replied checks once whether reply i, which was claimed when it had that turn, is filled. If so it
// returns the reply's contents and frees the reply.
func (g *Rig) Replied(i uint16, turn uint32) (value uint64, status int32, ok bool) {
	reply := g.Reply(i)
	if atomic.LoadUint32(&reply.Turn) == turn {
		return 0, 0, false
	}
	value, status = reply.Value, reply.Status
	atomic.AndUint32(&g.claims[i/32], ^(uint32(1) << (i % 32)))
	return value, status, true
}
