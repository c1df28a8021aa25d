package loop

import (
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/call"
)

// A cell is memory beside a slot of a ring, in which a producer may leave the bytes of a put. It
// belongs to the put until the consumer publishes the ring's tail. By then the engine has copied
// the bytes, or, if the put waits, copyFromCell has.

// mayUseCell reports whether an operation may have its bytes in a cell, memory beside the slots of
// its ring: only puts may.
func mayUseCell(op *queue.Op) bool { return op.Code == queue.CodePut || op.Code == queue.CodePutSignal }

// postBytes posts a put whose bytes are in its cell, memory beside the slots of its ring, or, if
// the put has waited, in the copy w.bytes. The engine copies them again, so the producer gets its
// reply as soon as the engine has accepted the put.
func (c *Consumer) postBytes(op *queue.Op, w *progress) bool {
	pe, offset, source := libshmem.PE(op.PE), libshmem.Offset(op.Dest-c.limits.Internal), pointerTo(op.Local)
	if w.bytes != nil {
		source = unsafe.Pointer(&w.bytes[0])
	}
	var st call.Status
	if op.Code == queue.CodePut {
		st = c.e.PutBytes(pe, offset, source, op.Length)
	} else {
		st = c.e.PutBytesSignal(pe, offset, source, op.Length, libshmem.Offset(op.SignalAt-c.limits.Internal), op.Signal, fabric.Op(op.Kind))
	}
	if op.Want != 0 && (st == call.Done || st == call.Pending) {
		w.serving.ring.Reply(op.Reply, 0, statusDone) // the bytes have been read
	}
	return c.handleStatus(op, w, st)
}

// copyFromCell copies the bytes of an operation that has to wait out of its cell, if they are in
// one, because the producer may soon reuse the cell.
func (c *Consumer) copyFromCell(op *queue.Op, w *progress) {
	if !mayUseCell(op) || !w.serving.ring.InCell(op.Local, op.Length) {
		return
	}
	if last := len(c.spares) - 1; last >= 0 {
		w.bytes, c.spares = c.spares[last], c.spares[:last]
	} else {
		w.bytes = make([]byte, queue.CellBytes)
	}
	copy(w.bytes, unsafe.Slice((*byte)(pointerTo(op.Local)), op.Length))
}

// freeCopy puts the copy that copyFromCell made into the list of spare ones, after the bytes have
// been sent.
func (c *Consumer) freeCopy(w *progress) {
	if w.bytes != nil {
		c.spares = append(c.spares, w.bytes)
		w.bytes = nil
	}
}
