package proxy

import (
	"sync/atomic"
	"time"
)

// Retry retries operations that could not be posted before, and updates the status page. It does
// nothing if another thread holds the lock: that thread polls, and retries, too.
func (e *Engine) Retry() {
	if !e.TryLock() {
		return
	}
	e.retry()
	e.Report.Publish(time.Now())
	e.Unlock()
}

// Release sends all batches of a context, because a caller waits: a batch is a message that several
// small operations share, and is held while more may come (batch.go). On the first context Release
// sends the batches of all contexts.
func (e *Engine) Release() {
	if e.ops.Number == 0 {
		for _, o := range e.others {
			if o != nil && len(o.out.Queues) > 0 {
				o.Release()
			}
		}
	}
	e.Burst = 0
	e.out.SendBatches()
}

// BurstBegins is called before the operations that lay in a ring together are posted: up to
// BurstEnds the small ones for one PE share messages.
func (e *Engine) BurstBegins() { e.out.gathers = true }

// BurstEnds ends a burst: it sends the messages that its operations share.
func (e *Engine) BurstEnds() {
	e.out.gathers = false
	e.out.SendBatches()
}

// holdOrSendBatches decides, before the loop sleeps, about batches, messages that small operations
// share. It returns true if one stays held for more operations of a caller's burst. If no further
// batch has been held for a burst since the last call, it sends the batches of this context, or of
// all contexts if this is the first one, and returns false.
func (e *Engine) holdOrSendBatches() bool {
	if atomic.LoadUint32(&e.Held) == 0 {
		return false
	}
	if e.bursts.NoneSinceLastCall() {
		e.Release()
		return false
	}
	return true
}
