package chaos

import (
	"container/heap"

	"libshmem"
	"libshmem/fabric"
)

// delayed waits for its time: an operation for the other provider, or a completion for the caller.
type delayed struct {
	due   int64 // nanoseconds of the provider's clock
	order uint64
	what  what
	send  fabric.Send
	rma   fabric.RMA
	comp  fabric.Completion
	copy  int // the copy of its bytes, or noCopy
}

// to returns the target of a delayed operation.
func (h *delayed) to() libshmem.PE {
	if h.what == aSend {
		return h.send.To
	}
	return h.rma.PE
}

type what uint8

const (
	aSend what = iota
	aWrite
	aRead
	aCompletion
)

// queue is a heap with the earliest operation on top. Those due at the same time keep the order of
// posting.
type queue struct {
	all   []*delayed
	spare []*delayed
	next  uint64
}

func (q *queue) Len() int { return len(q.all) }

func (q *queue) Less(i, j int) bool {
	a, b := q.all[i], q.all[j]
	return a.due < b.due || a.due == b.due && a.order < b.order
}

func (q *queue) Swap(i, j int) { q.all[i], q.all[j] = q.all[j], q.all[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { q.all = append(q.all, x.(*delayed)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(q.all) - 1
	x := q.all[last]
	q.all = q.all[:last]
	return x
}

// add keeps one.
func (q *queue) add(h delayed) {
	var to *delayed
	if last := len(q.spare) - 1; last >= 0 {
		to, q.spare = q.spare[last], q.spare[:last]
	} else {
		to = new(delayed)
	}
	*to = h
	to.order = q.next
	q.next++
	heap.Push(q, to)
}

// due reports whether the time of the first one has come.
func (q *queue) due(now int64) bool { return len(q.all) > 0 && q.all[0].due <= now }

// take removes the first one and returns it.
func (q *queue) take() *delayed { return heap.Pop(q).(*delayed) }

// end frees an element that was taken.
func (q *queue) end(h *delayed) { q.spare = append(q.spare, h) }

// earliest returns when the next operation is due, or never.
func (q *queue) earliest() int64 {
	if len(q.all) == 0 {
		return never
	}
	return q.all[0].due
}
