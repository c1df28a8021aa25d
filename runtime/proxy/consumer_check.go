package proxy

import (
	"fmt"

	"libshmem/queue"
)

// check refuses what would harm this process or another PE: producers are
// kernels, and what a kernel wrote by mistake is any bits.
func (c *Consumer) check(op *queue.Op) error {
	if !op.Known() {
		return fmt.Errorf("%s does not exist (build the device code with the headers of this library)", op.Code)
	}
	if op.PE >= uint32(len(c.e.peers)) {
		return fmt.Errorf("PE %d does not exist, there are %d", op.PE, len(c.e.peers))
	}
	if !c.e.peers[op.PE].reachable {
		return errNoRoute
	}
	switch op.Code {
	case queue.CodePut, queue.CodeGet:
		return c.checkCopy(op)
	case queue.CodePutSignal:
		if k := Op(op.Kind); k != OpSet && k != OpAdd {
			return fmt.Errorf("signal operation %d does not exist", op.Kind)
		}
		if err := c.checkWord(op.SignalAt, 8); err != nil {
			return err
		}
		return c.checkCopy(op)
	case queue.CodeP:
		return c.checkDest(op.Dest, 1<<op.Width)
	case queue.CodePWide:
		return c.checkDest(op.Dest, 8)
	case queue.CodePPair:
		return c.checkDest(op.Dest, 16)
	case queue.CodeAMO, queue.CodeAMOWide:
		k := Op(op.Kind)
		switch {
		case k < OpSet || k > OpFetchXor:
			return fmt.Errorf("atomic operation %d does not exist", op.Kind)
		case op.Width < 2:
			return fmt.Errorf("atomic operation on %d bytes: they have 4 or 8", 1<<op.Width)
		case k.fetches() && (op.Code == queue.CodeAMO || op.Want == 0):
			return fmt.Errorf("atomic operation %d has a result that nobody waits for", op.Kind)
		case !k.fetches() && op.Code == queue.CodeAMOWide && op.Want != 0:
			return fmt.Errorf("atomic operation %d has no result to wait for", op.Kind)
		case op.Code == queue.CodeAMOWide && op.Want != 0 && op.Reply >= queue.Replies:
			return fmt.Errorf("reply %d does not exist", op.Reply)
		}
		return c.checkWord(op.Dest, 1<<op.Width)
	}
	return nil
}

func (c *Consumer) checkCopy(op *queue.Op) error {
	switch {
	case op.Want != 0 && op.Reply >= queue.Replies:
		return fmt.Errorf("reply %d does not exist", op.Reply)
	case !c.inside(op.Dest, op.Length):
		return c.outside(op.Dest, op.Length)
	case op.Length == 0 || c.e.segment.contains(pointer(op.Local), op.Length):
		return nil
	}
	return c.locals.check(op.Local, op.Length, op.Code == queue.CodeGet)
}

func (c *Consumer) checkDest(at, n uint64) error {
	if c.inside(at, n) {
		return nil
	}
	return c.outside(at, n)
}

// inside tells whether n bytes at an offset are in the symmetric segment.
func (c *Consumer) inside(at, n uint64) bool {
	size := c.e.segment.Size
	return at <= size && n <= size-at
}

func (c *Consumer) outside(at, n uint64) error {
	return fmt.Errorf("%d bytes at offset %#x are not in the symmetric segment of %d bytes (pass memory from shmem_malloc)", n, at, c.e.segment.Size)
}

// checkWord is checkDest for n bytes, a power of two, that have to be aligned.
func (c *Consumer) checkWord(at, n uint64) error {
	if at&(n-1) != 0 {
		return fmt.Errorf("offset %#x is not aligned to %d bytes (align the object to its size)", at, n)
	}
	return c.checkDest(at, n)
}
