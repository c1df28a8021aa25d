package cuda

/*
#include "driver.h"
*/
import "C"

import (
	"unsafe"

	"libshmem/runtime/gpu"
	"libshmem/runtime/shmerr"
)

// handle converts a Stream, Event or Function, which is a number for Go's garbage collector, into
// the driver's pointer.
func handle[T ~uintptr](n T) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&n)) }

// NewStream makes a stream that does not wait for the default stream.
func (v *Device) NewStream() (gpu.Stream, error) {
	var s unsafe.Pointer
	err := v.create("make a stream on", func() (string, C.int) {
		return "cuStreamCreate", C.shmemi_cuda_stream_create(v.driver.table, &s, C.SHMEMI_CUDA_STREAM_NON_BLOCKING)
	}, func() error { return v.CloseStream(gpu.Stream(uintptr(s))) })
	return gpu.Stream(uintptr(s)), err
}

// CloseStream destroys a stream once its work is done. It does not wait for the work.
func (v *Device) CloseStream(s gpu.Stream) error {
	return v.freeObject("close a stream of", func() (string, C.int) {
		return "cuStreamDestroy_v2", C.shmemi_cuda_stream_destroy(v.driver.table, handle(s))
	})
}

// SyncStream waits for the work of a stream.
func (v *Device) SyncStream(s gpu.Stream) error {
	return v.do("wait for a stream of", func() (string, C.int) {
		return "cuStreamSynchronize", C.shmemi_cuda_stream_wait(v.driver.table, handle(s))
	})
}

// FinishStream waits for the work of a stream that the caller closes next. Unlike SyncStream it
// succeeds after a reset, which has ended the work.
func (v *Device) FinishStream(s gpu.Stream) error {
	if err := v.SyncStream(s); err != nil && !v.gone() {
		return err
	}
	return nil
}

// StreamDone reports whether a stream has finished all its work. It does not wait.
func (v *Device) StreamDone(s gpu.Stream) (bool, error) {
	const op = "ask a stream of"
	if err := v.enter(op); err != nil {
		return false, err
	}
	return v.leaveReady(op, "cuStreamQuery", C.shmemi_cuda_in_stream_query(v.driver.table, v.context, handle(s)))
}

// Capturing reports whether the stream is being captured into a graph: its state is active or
// invalidated (CUstreamCaptureStatus).
func (v *Device) Capturing(s gpu.Stream) (bool, error) {
	var status C.int
	err := v.do("ask a stream of", func() (string, C.int) {
		return "cuStreamIsCapturing", C.shmemi_cuda_stream_capturing(v.driver.table, handle(s), &status)
	})
	return status != 0, err
}

// CopyAsync starts a copy of n bytes on a stream. Each address may be of main memory or of a GPU:
// the driver finds out which. If main memory is not pinned, the driver may copy the bytes to a
// buffer of its own first, and return after that.
func (v *Device) CopyAsync(s gpu.Stream, to, from gpu.Address, n uint64) error {
	const op = "copy memory on"
	for {
		piece := v.joints.untilJoint(from, v.joints.untilJoint(to, n))
		if err := v.enter(op); err != nil {
			return err
		}
		out := C.shmemi_cuda_in_copy_any(v.driver.table, v.context, C.uint64_t(to), C.uint64_t(from), C.size_t(piece), handle(s))
		if err := v.leave(op, "cuMemcpyAsync", out); err != nil || piece == n {
			return err
		}
		to, from, n = to+gpu.Address(piece), from+gpu.Address(piece), n-piece
	}
}

// CopyInAsync starts a copy of n bytes from main memory on a stream. In the context of OwnContext
// it makes a small copy as two rows, because only a copy engine executes those: a plain small copy
// waits for the engine that runs kernels. Two rows take 1.2 us more than a plain copy on an idle
// GPU. One byte cannot be split, and is a plain copy.
func (v *Device) CopyInAsync(s gpu.Stream, to, from gpu.Address, n uint64) error {
	if n < 2 || n >= C.SHMEMI_CUDA_FEW_ROWS || v.context == v.primary.context {
		return v.CopyAsync(s, to, from, n)
	}
	if odd := n % 2; odd != 0 {
		// Copy the last byte together with the byte before it, which is in place already.
		end := gpu.Address(n - 2)
		if err := v.twoRows(s, to, from, n/2); err != nil {
			return err
		}
		return v.twoRows(s, to+end, from+end, 1)
	}
	return v.twoRows(s, to, from, n/2)
}

// twoRows starts a copy of 2n bytes as two rows, which only a copy engine executes; or as a plain
// copy if a boundary of registrations splits it.
func (v *Device) twoRows(s gpu.Stream, to, from gpu.Address, n uint64) error {
	const op = "copy memory on"
	if v.joints.untilJoint(from, v.joints.untilJoint(to, 2*n)) != 2*n {
		return v.CopyAsync(s, to, from, 2*n)
	}
	if err := v.enter(op); err != nil {
		return err
	}
	return v.leave(op, "cuMemcpy2DAsync_v2", C.shmemi_cuda_in_two_rows(v.driver.table, v.context, C.uint64_t(to), C.uint64_t(from), C.size_t(n), handle(s)))
}

// FillAsync makes a stream store the byte value into n bytes. It makes a call for each piece
// between two boundaries of registrations.
func (v *Device) FillAsync(s gpu.Stream, a gpu.Address, value byte, n uint64) error {
	const op = "fill memory on"
	for {
		piece := v.joints.untilJoint(a, n)
		if err := v.enter(op); err != nil {
			return err
		}
		out := C.shmemi_cuda_in_fill8(v.driver.table, v.context, C.uint64_t(a), C.uchar(value), C.size_t(piece), handle(s))
		if err := v.leave(op, "cuMemsetD8Async", out); err != nil || piece == n {
			return err
		}
		a, n = a+gpu.Address(piece), n-piece
	}
}

// Write64 makes a stream store a word of 8 bytes. A thread that sees the word also sees the effects
// of earlier work of the stream.
func (v *Device) Write64(s gpu.Stream, a gpu.Address, value uint64) error {
	const op = "store a word by a stream of"
	if err := v.needsStreamOps(op); err != nil {
		return err
	}
	if err := v.enter(op); err != nil {
		return err
	}
	return v.leave(op, "cuStreamWriteValue64_v2", C.shmemi_cuda_in_stream_write(v.driver.table, v.context, handle(s), C.uint64_t(a), C.uint64_t(value), 0))
}

// Write32 makes a stream store a word of 4 bytes, otherwise like Write64.
func (v *Device) Write32(s gpu.Stream, a gpu.Address, value uint32) error {
	const op = "store a word by a stream of"
	if err := v.needsStreamOps(op); err != nil {
		return err
	}
	if err := v.enter(op); err != nil {
		return err
	}
	return v.leave(op, "cuStreamWriteValue32_v2", C.shmemi_cuda_in_stream_write32(v.driver.table, v.context, handle(s), C.uint64_t(a), C.uint32_t(value), 0))
}

// Stores makes a stream store words, one after the other, with one driver call for each
// gpu.MaxStores of them. A thread that sees a word also sees the earlier ones, and the effects of
// earlier work, as with Write64. The words must not be in managed memory.
func (v *Device) Stores(s gpu.Stream, words []gpu.Store) error {
	const op = "store words by a stream of"
	if err := v.needsStreamOps(op); err != nil {
		return err
	}
	for len(words) > 0 {
		n := min(len(words), gpu.MaxStores)
		if err := v.enter(op); err != nil {
			return err
		}
		out := C.shmemi_cuda_in_stores(v.driver.table, v.context, handle(s), (*C.struct_shmemi_cuda_store)(unsafe.Pointer(&words[0])), C.unsigned(n))
		if err := v.leave(op, "cuStreamBatchMemOp_v2", out); err != nil {
			return err
		}
		words = words[n:]
	}
	return nil
}

// changes are the driver's numbers of the atomic operations that a stream can apply to a word, by
// gpu.Atomic.Op: add, and, or.
var changes = map[int]C.int{2: C.SHMEMI_CUDA_CHANGE_ADD, 3: C.SHMEMI_CUDA_CHANGE_AND, 4: C.SHMEMI_CUDA_CHANGE_OR}

// Change makes a stream apply an atomic operation without a kernel: one of those in changes, none
// of which returns the old value. Facts.StreamChange reports whether the GPU and the driver support
// that.
func (v *Device) Change(s gpu.Stream, o gpu.Atomic) error {
	const op = "change a word by a stream of"
	what, ok := changes[o.Op]
	if !ok || !v.facts.StreamChange {
		return &shmerr.Error{
			Op: op, Object: v.name,
			Cause:  shmerr.Causef(shmerr.ErrUnsupported, "the driver, of CUDA %s, has no stream operation for atomic operation %d on it", v.driver.Version, o.Op),
			Remedy: "take a kernel: it needs CUDA 13.1 or later, and a GPU that has it",
		}
	}
	width := C.int(C.SHMEMI_CUDA_CHANGE_64)
	if o.Width == 4 {
		width = C.SHMEMI_CUDA_CHANGE_32
	}
	if err := v.enter(op); err != nil {
		return err
	}
	return v.leave(op, "cuStreamBatchMemOp_v2", C.shmemi_cuda_in_change(v.driver.table, v.context, handle(s), what, width, C.uint64_t(o.At), C.uint64_t(o.Operand)))
}

// conditions are the driver's numbers of the conditions of Wait64.
var conditions = [...]C.uint{gpu.AtLeast: C.SHMEMI_CUDA_WAIT_GEQ, gpu.Equal: C.SHMEMI_CUDA_WAIT_EQ, gpu.And: C.SHMEMI_CUDA_WAIT_AND}

// Wait64 makes a stream wait until a word of 8 bytes meets a condition, such as at least value.
// Later work of the stream starts after that. The wait needs no kernel.
func (v *Device) Wait64(s gpu.Stream, a gpu.Address, value uint64, until gpu.Condition) error {
	const op = "wait for a word by a stream of"
	if err := v.needsStreamOps(op); err != nil {
		return err
	}
	if err := v.enter(op); err != nil {
		return err
	}
	return v.leave(op, "cuStreamWaitValue64_v2", C.shmemi_cuda_in_stream_watch(v.driver.table, v.context, handle(s), C.uint64_t(a), C.uint64_t(value), conditions[until]))
}

// needsStreamOps returns an error if the driver cannot put waits and stores of 8 bytes into
// streams.
func (v *Device) needsStreamOps(op string) error {
	if v.facts.StreamOps {
		return nil
	}
	return &shmerr.Error{
		Op: op, Object: v.name,
		Cause:  shmerr.Causef(shmerr.ErrUnsupported, "the driver, of CUDA %s, has no stream operations on 64 bits for it", v.driver.Version),
		Remedy: "install a driver of CUDA 11.7 or later",
	}
}

// NewEvent makes an event that records no time, which makes it cheaper.
func (v *Device) NewEvent() (gpu.Event, error) {
	var e unsafe.Pointer
	err := v.create("make an event on", func() (string, C.int) {
		return "cuEventCreate", C.shmemi_cuda_event_create(v.driver.table, &e, C.SHMEMI_CUDA_EVENT_NO_TIMING)
	}, func() error { return v.CloseEvent(gpu.Event(uintptr(e))) })
	return gpu.Event(uintptr(e)), err
}

// CloseEvent destroys an event, and does not wait for it.
func (v *Device) CloseEvent(e gpu.Event) error {
	return v.freeObject("close an event of", func() (string, C.int) {
		return "cuEventDestroy_v2", C.shmemi_cuda_event_destroy(v.driver.table, handle(e))
	})
}

// Record records an event after the present work of a stream.
func (v *Device) Record(e gpu.Event, s gpu.Stream) error {
	const op = "record an event on"
	if err := v.enter(op); err != nil {
		return err
	}
	return v.leave(op, "cuEventRecord", C.shmemi_cuda_in_event_record(v.driver.table, v.context, handle(e), handle(s)))
}

// EventDone reports whether the work before the event's last Record is complete.
func (v *Device) EventDone(e gpu.Event) (bool, error) {
	const op = "ask an event of"
	if err := v.enter(op); err != nil {
		return false, err
	}
	return v.leaveReady(op, "cuEventQuery", C.shmemi_cuda_in_event_query(v.driver.table, v.context, handle(e)))
}

// SyncEvent waits for the work before the event's last Record.
func (v *Device) SyncEvent(e gpu.Event) error {
	return v.do("wait for an event of", func() (string, C.int) {
		return "cuEventSynchronize", C.shmemi_cuda_event_wait(v.driver.table, handle(e))
	})
}

// After makes a stream wait for the work before the event's last Record.
func (v *Device) After(s gpu.Stream, e gpu.Event) error {
	const op = "order streams of"
	if err := v.enter(op); err != nil {
		return err
	}
	return v.leave(op, "cuStreamWaitEvent", C.shmemi_cuda_in_stream_after(v.driver.table, v.context, handle(s), handle(e), 0))
}

// FlushWrites waits until this GPU, or all GPUs, see the bytes that NICs have written to its
// memory. After a reset it succeeds: no kernel of the program is left to see them, and the proxy,
// which flushes before it acts on a message, must reach the end of shmem_finalize.
func (v *Device) FlushWrites(all bool) error {
	const op = "flush a NIC's writes to"
	const byCall = 1 // the bit of gpu.Facts.FlushWrites that says that the driver can flush by a call
	if v.driver.table.flush_writes == nil || v.facts.FlushWrites&byCall == 0 {
		return &shmerr.Error{Op: op, Object: v.name, Cause: shmerr.Causef(shmerr.ErrUnsupported, "the driver, of CUDA %s, has no call for it", v.driver.Version)}
	}
	to := C.int(C.SHMEMI_CUDA_FLUSH_TO_OWNER)
	if all {
		to = C.SHMEMI_CUDA_FLUSH_TO_ALL
	}
	return v.freeObject(op, func() (string, C.int) {
		return "cuFlushGPUDirectRDMAWrites", C.shmemi_cuda_flush_writes(v.driver.table, C.SHMEMI_CUDA_FLUSH_THIS_CONTEXT, to)
	})
}
