package loop

import (
	"fmt"
	"math/bits"
	"time"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/proxy/fastpath"
)

// innerLoopTime is the longest time of one call of the inner loop in C. It may delay Go's own
// checks, whose periods are milliseconds, by as much.
const innerLoopTime = 5 * time.Millisecond

// openInnerLoop makes the inner loop in C, which posts the simple operations of the rings, if the
// provider has the C functions for it.
func (c *Consumer) openInnerLoop() {
	config, ok := c.e.InnerLoop()
	if !ok {
		return
	}
	config.Batch = drainBatch
	for _, s := range c.rings {
		m := s.ring.Memory()
		config.Rings = append(config.Rings, fastpath.Ring{
			Slots: m.Slots, Line: unsafe.Pointer(m.Line), Replies: m.Replies, Cells: m.Cells, Log2Slots: uint32(bits.TrailingZeros64(s.ring.Slots())),
		})
	}
	c.inner = fastpath.New(config)
	c.inner.SetServesAll(true)
}

// closeInnerLoop frees the inner loop in C.
func (c *Consumer) closeInnerLoop() {
	if c.inner != nil {
		c.inner.Close()
		c.inner = nil
	}
}

// ServableInC reports whether the loop in C may serve the rings: there is one, no operation waits
// to be posted, neither the consumer nor its loop is about to end, and no quiet or fence needs a
// step of Go before the next completion.
func (c *Consumer) ServableInC() bool {
	if c.inner == nil || c.Holds() || c.ending.Load() || c.loop != nil && c.loop.stopping.Load() {
		return false
	}
	o := &c.order
	return o.phase == quiets || o.phase == settled && o.requested.Load() == o.covers
}

// Run lets C serve the rings until there is work for Go, for at most limit, or until C has found no
// work for the time spin. held reports whether the engine's lock is held at the return: it is if
// completions have arrived that Go has to handle. a counts what C has done.
//
// Preconditions: ServableInC, and the caller does not hold the engine's lock.
func (c *Consumer) Run(limit, spin time.Duration) (a fastpath.Account, held bool, err error) {
	c.dropUnmapped()
	for i, s := range c.rings {
		c.inner.Positions[i] = s.ring.Position()
	}
	ticket := uint64(0)
	if c.order.phase == quiets {
		ticket = uint64(c.order.ticket)
	}
	reason := c.inner.Run(limit, spin, c.replies.seen, ticket)
	for i, s := range c.rings {
		s.ring.Seek(c.inner.Positions[i])
	}
	a = c.inner.Account()
	c.taken += uint64(a.Taken)
	switch reason {
	case fastpath.Completion:
		c.e.Complete(c.inner.Completions())
		return a, true, nil
	case fastpath.Error:
		return a, false, fmt.Errorf("poll the network: error %d of libfabric", a.Failure)
	}
	return a, false, nil
}

// maxSkipped is the largest number of iterations in a row in which Go does not call the inner loop
// in C because its last calls found only work for Go. Each such call doubles the number, up to
// this.
const maxSkipped = 15

// RunInC calls Run if C may serve the rings, and they hold no burst (operations that may share
// messages). If C finds only work for Go, for example large puts, Go does not call it for some
// iterations, because that would be in vain.
func (c *Consumer) RunInC(limit, spin time.Duration) (a fastpath.Account, held bool, err error) {
	if c.skipC > 0 {
		c.skipC--
		return a, false, nil
	}
	if !c.ServableInC() || c.hasBurst() {
		return a, false, nil
	}
	a, held, err = c.Run(limit, spin)
	if a.Taken > 0 || !a.Left {
		c.misses = 0
		return a, held, err
	}
	c.misses = min(2*c.misses+1, maxSkipped)
	c.skipC = c.misses
	return a, held, err
}

// serveInC lets C serve the rings for a while, if it may. held reports whether the engine's lock is
// held at the return: it is if completions have arrived that Go has to handle.
func (l *Loop) serveInC(c *Consumer) (a fastpath.Account, held bool, err error) {
	// The thread clears attention, the flag that ends C's loop, before it checks for work, because
	// other threads set the flag after they have stored the work.
	l.e.ClearAttention()
	s := &c.serve
	spin := c.spinTime()
	if s.pollEnd.IsZero() {
		spin = 0 // the thread has just slept
	} else {
		spin = max(spin-s.pollEnd.Sub(s.lastWork), 0)
	}
	a, held, err = c.RunInC(innerLoopTime, spin)
	if a.Ran > innerLoopTime/5 {
		// After a long call of C the goroutine may run on another thread: rebind checks that in the
		// next iteration.
		l.binding.iterations = 0
	}
	return a, held, err
}

// announceLocal tells the inner loop in C which memory around an operation's local buffer is
// readable, so that C can post the next operation from there.
func (c *Consumer) announceLocal(op *queue.Op) {
	if c.inner == nil || op.Code == queue.CodeGet || op.Length > c.limits.MaxInject {
		return
	}
	c.dropUnmapped()
	if begin, end, ok := c.locals.areaAround(op.Local); ok {
		c.inner.AddLocal(begin, end)
	}
}

// dropUnmapped makes the inner loop in C drop the memory that announceLocal has passed, if some of
// it may have been unmapped since.
func (c *Consumer) dropUnmapped() {
	if v := c.locals.version.Load(); v != c.localsSeen {
		c.localsSeen = v
		c.inner.Forget()
	}
}
