package loop

import (
	"fmt"

	"libshmem"
	"libshmem/fabric"
	"libshmem/queue"
)

// check returns an error for an operation that would damage memory of this process or of another
// PE. Producers are kernels, and a kernel with a bug may store any bits in a slot. The op's Width
// is the logarithm of a size: the operation is on 1<<Width bytes.
func (c *Consumer) check(ring *queue.Ring, op *queue.Op) error {
	if !op.HasKnownCode() {
		return fmt.Errorf("%s does not exist (build the device code with the headers of this library)", op.Code)
	}
	if op.PE >= uint32(c.limits.NPEs) {
		return fmt.Errorf("PE %d does not exist, there are %d", op.PE, c.limits.NPEs)
	}
	if err := c.e.Unreachable(libshmem.PE(op.PE)); err != nil {
		return err
	}
	var n uint64 // bytes that the operation changes or reads at the target
	switch op.Code {
	case queue.CodePut, queue.CodeGet:
		return c.checkCopy(ring, op)
	case queue.CodePutSignal:
		if err := c.checkSignal(op); err != nil {
			return err
		}
		return c.checkCopy(ring, op)
	case queue.CodeP:
		n = 1 << op.Width
	case queue.CodePWide:
		n = 8
	case queue.CodePBytes, queue.CodePSignal:
		if n = uint64(op.Size); n == 0 || n > 16 {
			return fmt.Errorf("%d bytes in its slots: they hold 1 to 16", n)
		}
		if op.Code == queue.CodePSignal {
			if err := c.checkSignal(op); err != nil {
				return err
			}
		}
	case queue.CodeAMO, queue.CodeAMOWide:
		n = 1 << op.Width
		k := fabric.Op(op.Kind)
		switch {
		case k < fabric.OpSet || k > fabric.OpFetchXor:
			return fmt.Errorf("atomic operation %d does not exist", op.Kind)
		case op.Width < 2:
			return fmt.Errorf("atomic operation on %d bytes: they have 4 or 8", n)
		case k.Fetches() && (op.Code == queue.CodeAMO || op.Want == 0):
			return fmt.Errorf("atomic operation %d has a result that no producer waits for", op.Kind)
		case !k.Fetches() && op.Code == queue.CodeAMOWide && op.Want != 0:
			return fmt.Errorf("atomic operation %d has no result to wait for", op.Kind)
		case op.Code == queue.CodeAMOWide && op.Want != 0 && op.Reply >= queue.Replies:
			return fmt.Errorf("reply %d does not exist", op.Reply)
		case op.Dest&(n-1) != 0:
			return errMisaligned(op.Dest, n)
		}
	}
	if !c.inSegment(op.Dest, n) {
		return c.errOutside(op.Dest, n)
	}
	return nil
}

// checkSignal returns an error if the signal of a put with signal is invalid: its operation, its
// alignment or its address. Kernels write the ring, and a wrong address must not become a write to
// other memory.
func (c *Consumer) checkSignal(op *queue.Op) error {
	switch k := fabric.Op(op.Kind); {
	case k != fabric.OpSet && k != fabric.OpAdd:
		return fmt.Errorf("signal operation %d does not exist", op.Kind)
	case op.SignalAt%8 != 0:
		return errMisaligned(op.SignalAt, 8)
	case !c.inSegment(op.SignalAt, 8):
		return c.errOutside(op.SignalAt, 8)
	}
	return nil
}

// checkCopy returns an error for a put or get outside the symmetric segment, or whose local buffer
// is not memory of this process. Memory outside the segment that passes is announced to the inner
// loop, which then posts further operations on it itself.
func (c *Consumer) checkCopy(ring *queue.Ring, op *queue.Op) error {
	switch {
	case op.Want != 0 && op.Reply >= queue.Replies:
		return fmt.Errorf("reply %d does not exist", op.Reply)
	case !c.inSegment(op.Dest, op.Length):
		return c.errOutside(op.Dest, op.Length)
	case op.Length == 0 || mayUseCell(op) && ring.InCell(op.Local, op.Length) || c.e.Owns(pointerTo(op.Local), op.Length):
		return nil
	}
	if err := c.locals.Check(op.Local, op.Length, op.Code == queue.CodeGet); err != nil {
		return err
	}
	c.announceLocal(op)
	return nil
}

// inSegment reports whether n bytes at an offset are in the symmetric segment.
func (c *Consumer) inSegment(at, n uint64) bool {
	size := c.limits.Size
	return at <= size && n <= size-at
}

// errOutside returns the error of an operation on n bytes that are not in the symmetric segment.
func (c *Consumer) errOutside(at, n uint64) error {
	return fmt.Errorf("%d bytes at offset %#x are not in the symmetric segment of %d bytes (pass memory from shmem_malloc)", n, at, c.limits.Size)
}

// errMisaligned returns the error of an operation on an offset that is not aligned to n bytes.
func errMisaligned(at, n uint64) error {
	return fmt.Errorf("offset %#x is not aligned to %d bytes (align the object to its size)", at, n)
}
