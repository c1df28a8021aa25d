package proxy

import (
	"libshmem"
	"libshmem/runtime/proxy/layout"
)

// A context is an Engine. It has its own sequence of messages to each PE, and its own epochs,
// generations and queues. So a fence or quiet of one context does not wait for operations of
// another, and the target never holds back a message of one context because of an operation of
// another. Contexts share the port: the provider, its tokens and buffers, and the lock.
//
// A message carries the number of its sender's context above the number of the PE. The target
// handles it in its own context of that number, which it makes when the first message arrives, and
// replies from there. That is the only link between the contexts of one number on two PEs.
//
// A context is never closed: when its number is used again, its sequence numbers go on where the
// PEs left off.
//
// Only the first context numbers its writes (numbers.go), because the room for arrivals in a PE's
// completion queue bounds the numbers of all writes under way to it. On a network without order the
// senders therefore keep the order of the other contexts.

// contexts are the contexts of this PE that share a provider.
type contexts struct {
	first           *Engine
	others          []*Engine // by number; without the first context, and an entry may be nil
	stuckContexts   []*Engine // others with an operation that could not be posted
	closingContexts []*Engine // others with a closed generation
}

// OpenContext begins to use the context of a number, and returns the number to use: 0 if all
// contexts share the first one. They share it if the engine has a GPU stage, whose streams order
// the copies of all contexts together. They also share it on a network where only a write's number
// shows that the write has arrived, because the other contexts do not number writes, unless the
// engine posts no writes at all (PutMax).
func (e *Engine) OpenContext(number uint32) (uint32, error) {
	ordered := !e.ops.Net.Unordered && e.ops.Net.Caps.WriteAfterWrite
	if e.gpu != nil || !ordered && !e.ops.Net.Caps.DeliveryComplete && e.PutMax() > layout.MaxPut {
		return 0, nil
	}
	_, err := e.newContext(number)
	return number, err
}

// Context returns the open context of a number, or nil.
func (e *Engine) Context(number uint32) *Engine {
	if number == 0 {
		return e.first
	}
	return e.others[number]
}

// newContext returns the context of a number, and makes it if this PE does not have one. A context
// has its own sequence numbers, credit and quiets; it shares the endpoint, the operation records
// and the sequence streams with the first one.
func (e *Engine) newContext(number uint32) (*Engine, error) {
	if int(number) < len(e.others) && e.others[number] != nil {
		return e.others[number], nil
	}
	context := &Engine{
		ops: operations{Net: e.ops.Net, Table: e.ops.Table, Number: number}, port: e.port,
	}
	context.compose(e.rma.MaxUnread)
	context.rma.Numbers.Space = e.first.rma.Numbers.Space
	if err := context.openContext(len(e.ops.Peers)); err != nil {
		return nil, err
	}
	context.shareNetwork()
	context.in.Sequences = e.first.in.Sequences
	context.fillFastPath()
	context.Job, context.Seal = e.first.Job, e.first.Seal
	for int(number) >= len(e.others) {
		e.others = append(e.others, nil)
	}
	e.others[number] = context
	e.contextTable()[number] = context.State
	return context, nil
}

// forEachContext calls f for the engine of each context that is open, the first one before the others.
func (e *Engine) forEachContext(f func(*Engine)) {
	f(e.first)
	for _, o := range e.others {
		if o != nil {
			f(o)
		}
	}
}

// noteStuck notes that an operation of the context could not be posted: the next poll tries it
// again.
func (e *Engine) noteStuck() {
	if e.Stuck == 0 && e.ops.Number != 0 {
		e.stuckContexts = append(e.stuckContexts, e)
	}
	e.Stuck = 1
}

// retryOthers retries operations of the other contexts that could not be posted, and settles the
// closed generations of those contexts, so that quiets complete.
func (e *Engine) retryOthers() {
	if len(e.stuckContexts) > 0 {
		work := e.stuckContexts
		still := work[:0]
		for _, o := range work {
			if o.retryOwn(); o.Stuck != 0 {
				still = append(still, o)
			}
		}
		e.stuckContexts = still
	}
	if len(e.closingContexts) > 0 {
		still := e.closingContexts[:0]
		for _, o := range e.closingContexts {
			if o.ops.Quiets.Settle(); o.ops.Quiets.Closing() {
				still = append(still, o)
			} else {
				o.listed = false
			}
		}
		e.closingContexts = still
	}
}

// moveCountsToFirst moves the counts of a context for a PE to the first context, whose counts other
// processes see. It does nothing while writes are under way or operations are queued: a batch of
// signals is held until the context has counted enough complete writes (batchStaysHeld).
func (e *Engine) moveCountsToFirst(pe libshmem.PE) {
	p, to := &e.ops.Peers[pe], &e.first.ops.Peers[pe].Count
	if p.Writes > 0 || p.Queued > 0 {
		return
	}
	layout.AddCounts(to, &p.Count)
	p.Count = [layout.Counted]uint64{}
}

// closeContexts releases all contexts but the first, whose state is in the status page:
// closeFastPath closes that.
func (e *Engine) closeContexts() {
	for _, o := range e.others {
		if o != nil {
			o.closeContext()
		}
	}
	e.others = nil
}
