// Package fifo is the queue for the work of a GPU's streams. It has no locks: the thread that holds
// the engine's lock uses it.
package fifo

// Queue is a queue that allocates only when it has to grow.
type Queue[T any] struct {
	buf  []T // a power of two
	head int
	n    int
}

// Len returns how many elements there are.
func (q *Queue[T]) Len() int { return q.n }

// At returns the i-th element from the front.
func (q *Queue[T]) At(i int) *T { return &q.buf[(q.head+i)&(len(q.buf)-1)] }

// Push adds an element at the end.
func (q *Queue[T]) Push(v T) { *q.Next() = v }

// Next adds a zero element at the end, and returns its place until the next call.
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

// Pop removes and returns the front element.
func (q *Queue[T]) Pop() T {
	v := q.take(0)
	q.head = (q.head + 1) & (len(q.buf) - 1)
	return v
}

// PopLast removes and returns the last element.
func (q *Queue[T]) PopLast() T { return q.take(q.n - 1) }

// take returns an element and clears its place, so that the place keeps no memory in use.
func (q *Queue[T]) take(i int) T {
	at := q.At(i)
	v := *at
	var zero T
	*at = zero
	q.n--
	return v
}
