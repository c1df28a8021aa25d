package loop

import (
	"fmt"
	"sync/atomic"

	"libshmem/queue"
	"libshmem/runtime/proxy/call"
)

// maxReplies is the largest number of requests of the engine that are under way at once: one for
// each piece of an operation for whose reply a producer waits.
const maxReplies = 512

// replies writes the replies to operations of rings for which producers wait: it passes a request
// to the engine for each piece of such an operation, and writes the reply when all of the requests
// have completed.
//
// An operation has its record until its reply, also while it waits to be posted: its pieces may be
// under way, and one may have failed. Of the operations that wait for a PE only the first one has
// been tried and has a record. So there are at most as many records without a request as PEs.
type replies struct {
	requests [maxReplies]call.Request
	recordOf [maxReplies]uint16 // the number of each request's record
	idle     []uint16           // free requests
	busy     []uint16           // requests that the engine has
	records  []record           // record 0 means none
	unused   []uint16           // free records
	seen     uint64             // Poster.Completed at the last pass over them
}

// record is the reply to one operation that has not been written yet.
type record struct {
	ring   *queue.Ring
	reply  uint16
	left   uint16 // pieces under way, plus one until the last piece has been posted
	status int32
	value  uint64
	code   queue.Code
	pe     uint32
}

// init allocates the requests and the records of replies for a job of pes PEs. At most WaitingMax
// PEs have operations that wait to be posted.
func (a *replies) init(pes int) {
	records := maxReplies + min(pes, WaitingMax)
	a.idle, a.busy, a.unused = make([]uint16, 0, maxReplies), make([]uint16, 0, maxReplies), make([]uint16, 0, records)
	a.records = make([]record, records+1)
	for i := maxReplies; i > 0; i-- {
		a.idle = append(a.idle, uint16(i-1))
	}
	for i := records; i > 0; i-- {
		a.unused = append(a.unused, uint16(i))
	}
}

// request returns a request, in which the engine records the completion of the next piece of an
// operation. It returns nil if no producer waits for a reply (op.Want is 0), or if all requests are
// in use.
func (a *replies) request(op *queue.Op, w *progress) *call.Request {
	if op.Want == 0 || len(a.idle) == 0 {
		return nil
	}
	if w.record == 0 {
		w.record = a.unused[len(a.unused)-1] // a record is free: see replies
		a.unused = a.unused[:len(a.unused)-1]
		a.records[w.record] = record{ring: w.serving.ring, reply: op.Reply, left: 1, code: op.Code, pe: op.PE}
	}
	i := a.idle[len(a.idle)-1]
	a.idle = a.idle[:len(a.idle)-1]
	a.busy = append(a.busy, i)
	a.recordOf[i] = w.record
	a.records[w.record].left++
	r := &a.requests[i]
	*r = call.Request{}
	return r
}

// cancelLast frees the request that request returned last: its piece was not posted, or completed
// at once.
func (a *replies) cancelLast() {
	i := a.busy[len(a.busy)-1]
	a.busy = a.busy[:len(a.busy)-1]
	a.idle = append(a.idle, i)
	a.records[a.recordOf[i]].left--
}

// notePosted notes that the last piece of an operation has been posted: the reply follows when all
// pieces have completed.
func (a *replies) notePosted(w *progress) {
	if w.record != 0 {
		a.endPiece(w.record)
	}
}

// fail makes the reply to an operation a failure, because a piece of it was refused. Earlier pieces
// may still be under way.
func (a *replies) fail(w *progress) {
	a.records[w.record].status = statusFailed
	a.endPiece(w.record)
}

// endPiece subtracts a finished piece from the pieces of record i. After the last one it writes
// the reply, on which a kernel or another thread waits, and frees the record.
func (a *replies) endPiece(i uint16) {
	rec := &a.records[i]
	if rec.left--; rec.left == 0 {
		rec.ring.Reply(rec.reply, rec.value, rec.status)
		a.unused = append(a.unused, i)
	}
}

// collect handles the requests that the engine has completed, and writes the replies that are
// complete with them. It returns the number of requests that it handled.
func (a *replies) collect(c *Consumer) int {
	completed := c.e.Completed()
	if a.seen == completed {
		return 0
	}
	a.seen = completed
	n := 0
	for i := 0; i < len(a.busy); {
		at := a.busy[i]
		r := &a.requests[at]
		if atomic.LoadUint32(&r.Done) == 0 {
			i++
			continue
		}
		rec := &a.records[a.recordOf[at]]
		rec.value = r.Value
		if r.Status != 0 {
			rec.status = statusFailed
			c.report(fmt.Errorf("ring: %s for PE %d: %w", rec.code, rec.pe, c.e.Err()))
		}
		a.busy[i] = a.busy[len(a.busy)-1]
		a.busy = a.busy[:len(a.busy)-1]
		a.idle = append(a.idle, at)
		a.endPiece(a.recordOf[at])
		n++
	}
	return n
}
