package chaos

import (
	"container/heap"

	"libshmem"
	"libshmem/fabric"
)

// delayed is an operation for the inner provider, or a completion for the caller, that waits until
// it is due.
type delayed struct {
	due   int64  // nanoseconds of the provider's clock
	order uint64 // number of elements that were added before
	kind  opKind
	send  fabric.Send
	rma   fabric.RMA
	comp  fabric.Completion
	copy  int // number of the copy of its bytes, or noCopy
}

// to returns the target of a delayed operation.
func (h *delayed) to() libshmem.PE {
	if h.kind == aSend {
		return h.send.To
	}
	return h.rma.PE
}

// opKind is the kind of a delayed operation.
type opKind uint8

const (
	aSend opKind = iota
	aWrite
	aRead
	aCompletion // of inner's Poll, which the caller gets later
)

// queue is a heap with the earliest operation on top. Operations that are due at the same time keep
// the order of posting.
type queue struct {
	all   []*delayed
	spare []*delayed // records to be used again
	next  uint64     // order of the next element
}

// Len returns the number of delayed operations and completions. With Less, Swap, Push and Pop it
// implements heap.Interface.
func (q *queue) Len() int { return len(q.all) }

// Less orders operations by due time, and operations of one due time by their order of posting.
func (q *queue) Less(i, j int) bool {
	a, b := q.all[i], q.all[j]
	return a.due < b.due || a.due == b.due && a.order < b.order
}

// Swap exchanges elements i and j, for heap.
func (q *queue) Swap(i, j int) { q.all[i], q.all[j] = q.all[j], q.all[i] }

// Push appends x, a *delayed, without restoring the heap's order: only heap.Push calls it.
func (q *queue) Push(x any) { q.all = append(q.all, x.(*delayed)) }

// Pop removes the last element, to which heap.Pop, its only caller, has moved the earliest.
func (q *queue) Pop() any {
	last := len(q.all) - 1
	x := q.all[last]
	q.all = q.all[:last]
	return x
}

// add puts a copy of h into the queue of delayed operations, which is ordered by due time and then
// by order of posting.
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

// due reports whether the earliest operation is due.
func (q *queue) due(now int64) bool { return len(q.all) > 0 && q.all[0].due <= now }

// removeEarliest removes the earliest operation and returns it. The queue must not be empty.
func (q *queue) removeEarliest() *delayed { return heap.Pop(q).(*delayed) }

// reuse puts the record of a removed operation into the list of spare ones, for a later add.
func (q *queue) reuse(h *delayed) { q.spare = append(q.spare, h) }

// earliest returns when the next operation is due, or never.
func (q *queue) earliest() int64 {
	if len(q.all) == 0 {
		return never
	}
	return q.all[0].due
}
