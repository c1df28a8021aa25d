package gpustage

import (
	"unsafe"

	"libshmem/runtime/proxy/fifo"
)

// pool is pinned memory in pieces of one size.
type pool struct {
	base unsafe.Pointer
	size uint64
	free []uint16
}

func (p *pool) init(base unsafe.Pointer, size uint64, n int) {
	p.base, p.size, p.free = base, size, make([]uint16, 0, n)
	for i := n; i > 0; i-- {
		p.free = append(p.free, uint16(i-1))
	}
}

func (p *pool) at(i uint16) unsafe.Pointer { return unsafe.Add(p.base, uint64(i)*p.size) }

// take gives out a piece; false: all are in use.
func (p *pool) take() (uint16, bool) {
	last := len(p.free) - 1
	if last < 0 {
		return 0, false
	}
	i := p.free[last]
	p.free = p.free[:last]
	return i, true
}

// takeFor gives a piece to a PE, which may have some already. A PE that is stuck leaves half of the
// pieces that it found to the others.
func (p *pool) takeFor(has *uint16) (uint16, bool) {
	if !p.mayTakeFor(*has) {
		return 0, false
	}
	i, ok := p.take()
	if ok {
		*has++
	}
	return i, ok
}

func (p *pool) mayTakeFor(has uint16) bool { return has == 0 || int(has) < len(p.free) }

func (p *pool) give(i uint16) { p.free = append(p.free, i) }

// chore is work to do when a stream has passed a mark.
type chore struct {
	mark  uint64
	what  task
	width uint8
	lane  uint8  // from Pend
	index uint16 // of a piece of a pool, or of a word
	pe    uint32
	token uint32
	value uint64
	n     uint64
	of    *departure
}

type task uint8

const (
	taskLanded  task = iota + 1 // give a landing chunk back
	taskApplied                 // give a slot back
	taskAnswer                  // send an answer
	taskFetched                 // send an answer, whose value is in a slot
	taskWord                    // a word has been read
	taskChanged                 // a stream has done an atomic operation
	taskCame                    // bytes of a get are in place
	taskLeft                    // a piece is copied out
	taskStored                  // a store to a mapped heap is done; a slot may be given back
	taskCopied                  // an operation on a mapped heap is complete
)

// track follows one stream.
type track struct {
	stream     Stream
	marked     uint64 // last mark that was asked for
	passed     uint64
	fresh      bool // there is work behind that mark
	chores     fifo.Queue[chore]
	asked      uint64           // operations so far
	bytes      uint64           // bytes of copies so far
	driverCall uint64           // of the first operation behind the last mark
	done       uint64           // operations before the last mark that has passed
	counts     fifo.Queue[tick] // marks that have not passed
}

// add notes an operation of n bytes, and its purpose.
func (t *track) add(n, purpose uint64) {
	if t.driverCall == 0 {
		t.driverCall = purpose
	}
	t.fresh = true
	t.asked++
	t.bytes += n
}

// full reports whether the stream must get no more work until it has done some.
func (t *track) full() bool { return t.asked-t.done >= StreamQueue-queueSlack }

// queueSlack is room for work that cannot wait: the second halves of operations, and work that
// pools bound.
const queueSlack = MaxChunks + maxWords + smallSlots

// last returns the mark that is, or will be, behind all work in the stream.
func (t *track) last() uint64 {
	if t.fresh {
		return t.marked + 1
	}
	return t.marked
}

// idle reports whether the stream has done everything.
func (t *track) idle() bool { return !t.fresh && t.passed == t.marked }

// later adds a chore that follows all work that is in the stream now.
func (t *track) later(c chore) {
	c.mark = t.last()
	t.chores.Push(c)
}
