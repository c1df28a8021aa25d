package loop

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/call"
)

// post posts a checked operation to the engine. It returns false if the engine cannot post it now;
// op then has the rest of a large operation. An operation that fails is reported and not tried
// again. Offsets in a ring count from the start of the symmetric segment, and those of the engine
// from the user heap, limits.Internal bytes later.
func (c *Consumer) post(op *queue.Op, w *progress) bool {
	if w.fences != c.epochFor {
		// Operations of one epoch are not ordered, so operations from before and after a fence
		// never share one. More epochs than fences only order more.
		c.e.Fence()
		c.epochFor = w.fences
	}
	if mayUseCell(op) && (w.bytes != nil || w.serving.ring.InCell(op.Local, op.Length)) {
		return c.postBytes(op, w)
	}
	pe, offset := libshmem.PE(op.PE), libshmem.Offset(op.Dest-c.limits.Internal)
	switch op.Code {
	case queue.CodePut:
		if op.Want == 0 && c.pieceSize(op) == op.Length { // all, or the last piece
			return c.handleStatus(op, w, c.e.Put(pe, offset, pointerTo(op.Local), op.Length, nil))
		}
		return c.postCopy(op, w)
	case queue.CodePutSignal:
		if op.Want == 0 && w.part == whole && c.pieceSize(op) == op.Length {
			return c.handleStatus(op, w, c.e.PutSignal(pe, offset, pointerTo(op.Local), op.Length,
				libshmem.Offset(op.SignalAt-c.limits.Internal), op.Signal, fabric.Op(op.Kind), nil))
		}
		return c.postCopy(op, w)
	case queue.CodeGet:
		return c.postCopy(op, w)
	case queue.CodeP:
		return c.handleStatus(op, w, c.e.Store(pe, offset, 1<<op.Width, op.Value))
	case queue.CodePWide:
		return c.handleStatus(op, w, c.e.Store(pe, offset, 8, op.Value))
	case queue.CodePBytes:
		c.bytes = [2]uint64{op.Value, op.Value2}
		return c.handleStatus(op, w, c.e.PutBytes(pe, offset, unsafe.Pointer(&c.bytes), uint64(op.Size)))
	case queue.CodePSignal:
		c.bytes = [2]uint64{op.Value, op.Value2}
		return c.handleStatus(op, w, c.e.PutBytesSignal(pe, offset, unsafe.Pointer(&c.bytes), uint64(op.Size),
			libshmem.Offset(op.SignalAt-c.limits.Internal), op.Signal, fabric.Op(op.Kind)))
	case queue.CodeAMO:
		return c.handleStatus(op, w, c.e.AMO(pe, offset, fabric.Op(op.Kind), 1<<op.Width, op.Value, 0, nil, nil))
	}
	// What is left is CodeAMOWide, an atomic operation for whose reply a producer may wait.
	r := c.replies.request(op, w)
	if r == nil && op.Want != 0 {
		return false
	}
	st := c.e.AMO(pe, offset, fabric.Op(op.Kind), 1<<op.Width, op.Value, op.Value2, nil, r)
	if r != nil && st != call.Pending {
		c.replies.cancelLast()
	}
	if st == call.Pending {
		c.replies.notePosted(w)
		return true
	}
	return c.handleStatus(op, w, st)
}

// handleStatus handles what the engine has returned for an operation that has no request, or whose
// request it did not accept: it reports a failure. It returns false if the engine could not post
// the operation, which then has to be tried again.
func (c *Consumer) handleStatus(op *queue.Op, w *progress, st call.Status) bool {
	switch st {
	case call.Again:
		return false
	case call.Failed:
		c.reportRefused(op, w)
	}
	return true
}

// reportRefused reports an operation that the engine refused, and fails its reply if a producer
// waits.
func (c *Consumer) reportRefused(op *queue.Op, w *progress) {
	if w.record != 0 {
		c.replies.fail(w)
		op.Want = 0
	}
	c.failOp(op, w.serving, c.e.Err())
}

// postCopy posts a put or get, in pieces of at most the size that the engine accepts at once. The
// last piece carries the signal. If a producer waits for a reply, the reply is written when all
// pieces have completed. It returns false if a piece could not be posted: op then has the rest.
func (c *Consumer) postCopy(op *queue.Op, w *progress) bool {
	for {
		n := c.pieceSize(op)
		last := n == op.Length
		if last && op.Code == queue.CodePutSignal && w.part == begun {
			// The signal follows the bytes of the last piece. This fence makes the signal follow
			// the bytes of the other pieces, too.
			c.e.Fence()
			w.part = fenced
		}
		var r *call.Request
		if op.Want != 0 {
			if r = c.replies.request(op, w); r == nil {
				return false
			}
		}
		st := c.postPiece(op, n, last, r)
		if r != nil && st != call.Pending {
			c.replies.cancelLast()
		}
		switch {
		case st == call.Again:
			return false
		case st == call.Failed:
			c.reportRefused(op, w)
			return true
		case last:
			c.replies.notePosted(w)
			return true
		}
		op.Dest, op.Local, op.Length = op.Dest+n, op.Local+n, op.Length-n
		w.part = begun
	}
}

// pieceSize returns how many bytes of a put or get the engine accepts at once: at most PutMax and,
// if a transfer may be split at the parts of a heap (Parts), at most the rest of its part.
func (c *Consumer) pieceSize(op *queue.Op) uint64 {
	n := min(op.Length, c.limits.PutMax)
	if c.limits.Parts {
		n = c.e.Part(libshmem.PE(op.PE), libshmem.Offset(op.Dest-c.limits.Internal), pointerTo(op.Local), n)
	}
	return n
}

// postPiece posts the next n bytes of a put or get. last says that it is the last piece, which
// carries the signal: its bytes are complete then.
func (c *Consumer) postPiece(op *queue.Op, n uint64, last bool, r *call.Request) call.Status {
	pe, offset, local := libshmem.PE(op.PE), libshmem.Offset(op.Dest-c.limits.Internal), pointerTo(op.Local)
	switch {
	case op.Code == queue.CodeGet:
		return c.e.Get(pe, offset, local, n, r)
	case op.Code == queue.CodePutSignal && last:
		return c.e.PutSignal(pe, offset, local, n, libshmem.Offset(op.SignalAt-c.limits.Internal), op.Signal, fabric.Op(op.Kind), r)
	}
	return c.e.Put(pe, offset, local, n, r)
}
