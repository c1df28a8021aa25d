// Package fifo is the queue for the work of a GPU's streams. It has no locks: the thread that holds
// the engine's lock uses it.
package fifo

// Queue is a queue that allocates only when it has to grow.
type Queue[T any] struct {
	buf  []T // its length is a power of two
	head int // index of the front element
	n    int // number of elements
}

// Len returns the number of elements.
func (q *Queue[T]) Len() int { return q.n }

// At returns the element at index i, which must be below Len; index 0 is the front. The address is
// valid until Next or Push.
func (q *Queue[T]) At(i int) *T { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

// Push adds an element at the end.
func (q *Queue[T]) Push(v T) { *q.Next() = v }

// Next adds a zero element at the end, and returns its address, valid until the next call. A full
// buffer is doubled, and its elements are moved to the beginning of the new one.
func (q *Queue[T]) Next() *T {
	if q.n == len(q.buf) {
		buf := make([]T, max(8, 2*q.n))
		for i := range q.n {
			buf[i] = *q.At(i)
		}
		q.buf, q.head = buf, 0
	}
	q.n++
	return q.At(q.n - 1)
}

// Pop removes and returns the front element. The queue must not be empty.
func (q *Queue[T]) Pop() T {
	v := q.remove(0)
	q.head = (q.head + 1) & (len(q.buf) - 1)
	return v
}

// PopLast removes and returns the last element. The queue must not be empty.
func (q *Queue[T]) PopLast() T { return q.remove(q.n - 1) }

// remove returns element i, the first or the last, and clears its memory, so that it keeps nothing
// alive. For the first one the caller moves head.
func (q *Queue[T]) remove(i int) T {
	at := q.At(i)
	v := *at
	var zero T
	*at = zero
	q.n--
	return v
}
