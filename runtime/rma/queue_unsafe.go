package rma

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"libshmem/runtime/mesh"
	"libshmem/runtime/shmerr"
)

// queue is the source of a group's mesh: operations that a thread in C submits to a Queue. The
// proxy begins all of them at its next poll, and writes to each how it has ended.
type queue struct {
	*Queue
	group   *Group
	batch   []*Operation // begun in one call of Begin, last first; kept for the next
	failure atomic.Pointer[error]
}

// lastSubmitted returns where C stores the operation that was submitted last.
func (q *queue) lastSubmitted() *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Pointer(&q.last))
}

// Begin begins, in the order of their submission, all operations that C has submitted, and returns
// how many these are (mesh.Source). The mesh calls it after each poll. C links each operation to the
// one that was submitted before it, so Begin reverses the list. The proxy is awake in Begin, so it
// clears asleep, and C need not wake it.
func (q *queue) Begin(m *mesh.Mesh) int {
	if atomic.LoadUint32(&q.asleep) != 0 {
		atomic.StoreUint32(&q.asleep, 0)
	}
	if atomic.LoadPointer(q.lastSubmitted()) == nil {
		return 0
	}
	q.batch = q.batch[:0]
	for o := (*Operation)(atomic.SwapPointer(q.lastSubmitted(), nil)); o != nil; o = o.next {
		q.batch = append(q.batch, o)
	}
	for _, o := range slices.Backward(q.batch) {
		q.begin(m, o)
	}
	return len(q.batch)
}

// begin begins an operation, or ends it with an error.
func (q *queue) begin(m *mesh.Mesh, o *Operation) {
	t, err := q.transferOf(o)
	if err != nil {
		q.ended(o, err)
		return
	}
	m.Begin(&t, func(err error) { q.ended(o, err) })
}

// ended writes to an operation that it has ended. C may use it for another one at once.
func (q *queue) ended(o *Operation, err error) {
	state := stateDone
	if err != nil {
		q.note(err)
		state = stateFailed
	}
	atomic.StoreUint32(&o.state, uint32(state))
}

// transferOf returns the transfer that an operation of C describes. The error says that the
// operation names memory that is not registered, or has neither bytes nor a signal.
func (q *queue) transferOf(o *Operation) (t mesh.Transfer, err error) {
	t = mesh.Transfer{Get: o.kind == kindGet, Context: int(o.context), Ordered: o.ordered != 0}
	if o.nbytes > 0 {
		if t.At, err = q.group.remote(o.memory, o.rank); err != nil {
			return t, err
		}
		t.Blocks = []mesh.Block{{Local: o.local, Offset: o.offset, Len: o.nbytes}}
	}
	if o.signalMemory != 0 {
		at, err := q.group.remote(o.signalMemory, o.rank)
		if err != nil {
			return t, err
		}
		t.Signal = &mesh.Signal{Region: at, Offset: o.signalOffset, Op: mesh.SignalOp(o.signalOp), Value: o.signalValue}
		if t.At == nil {
			t.At = at
		}
	}
	if t.At == nil {
		return t, shmerr.Causef(shmerr.ErrArgument, "an operation on rank %d has neither bytes nor a signal", o.rank)
	}
	return t, nil
}

// Sleep notes that the proxy is about to sleep, so that C wakes it. It returns false if an operation
// was submitted meanwhile: then the proxy stays awake (mesh.Source). A thread that submits stores
// the operation and then reads asleep; Sleep stores asleep and then reads the operation. So one of
// the two sees what the other has stored.
func (q *queue) Sleep() bool {
	atomic.StoreUint32(&q.asleep, 1)
	if atomic.LoadPointer(q.lastSubmitted()) == nil {
		return true
	}
	atomic.StoreUint32(&q.asleep, 0)
	return false
}

// Fail notes that no operation ends any more, and sets the word `failed`, by which C stops waiting
// for operations (mesh.Source).
func (q *queue) Fail(err error) {
	q.note(err)
	atomic.StoreUint32(&q.failed, 1)
}

// Lost notes that a rank is lost, and sets the word `lost`, by which C reports that even if only
// data of the rank is awaited and no operation fails (mesh.Source).
func (q *queue) Lost(err error) {
	q.note(err)
	atomic.StoreUint32(&q.lost, 1)
}

// note stores the first error of the group's operations, or the first loss of a rank.
func (q *queue) note(err error) { q.failure.CompareAndSwap(nil, &err) }

// Failure returns the first error of the group's operations, or the first loss of a rank, or nil.
func (g *Group) Failure() error {
	if err := g.queue.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Wake wakes the proxy, after an operation was submitted while it slept.
func (g *Group) Wake() { g.Mesh.Wake() }

// remote returns a rank's part of the registered memory with a number; numbers begin at 1.
func (g *Group) remote(number uint64, rank uint32) (*mesh.Remote, error) {
	all := *g.memories.Load()
	if number == 0 || number > uint64(len(all)) || all[number-1] == nil {
		return nil, shmerr.Causef(mesh.ErrClosed, "registered memory %d is not known, or has ended", number)
	}
	x := all[number-1]
	if rank >= uint32(len(x.Remotes)) || x.Remotes[rank] == nil {
		return nil, shmerr.Causef(shmerr.ErrArgument, "rank %d has registered nothing as memory %d", rank, number)
	}
	return x.Remotes[rank], nil
}
