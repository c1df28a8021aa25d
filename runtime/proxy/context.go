package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/early"
	"libshmem/runtime/proxy/layout"
)

// Contexts. A stream of operations is an Engine: it has its own sequence of messages
// to each PE, its own epochs, generations and queues, so that neither a fence nor a
// quiet of one looks at another, and a message of one is never kept at the target for
// what another has on its way. What is the port's they share: the provider, its tokens
// and buffers, and the lock.
//
// A message says which stream of its sender it belongs to, above the number of the PE.
// The target has the other half of that stream in its own stream of that number, which
// is made when the first message comes; it answers there. What two PEs do with streams
// of one number has nothing to do with each other but that.
//
// A stream is never closed: its sequence numbers go on where the PEs left off when the
// number is used again.
//
// Only the first stream numbers its writes (number.go), so the order of the others is
// the sender's own on a network that has none: the numbers of all writes to a PE that
// may be under way are bounded by the room for their arrival in its completion queue.

// contexts are the streams of one port.
type contexts struct {
	first   *Engine
	others  []*Engine // by number; the first is not there, and some may not be
	sticks  []*Engine // others of which something found no room
	closers []*Engine // others with a generation that is closed
}

// OpenContext begins to use the stream of a number and answers the number that there
// is for it: 0 where all share the first one. That is so where operations go through
// GPU memory, whose copies are ordered for all of a PE, and on a network where only a
// number tells that a write has come.
func (e *Engine) OpenContext(number uint32) (uint32, error) {
	ordered := !e.unordered && e.caps.WriteAfterWrite
	if e.gpu != nil || !ordered && !e.caps.DeliveryComplete && e.PutMax() > maxPayload {
		return 0, nil
	}
	_, err := e.newContext(number)
	return number, err
}

// Context is the stream of a number, which is open.
func (e *Engine) Context(number uint32) *Engine {
	if number == 0 {
		return e.first
	}
	return e.others[number]
}

func (e *Engine) newContext(number uint32) (*Engine, error) {
	if int(number) < len(e.others) && e.others[number] != nil {
		return e.others[number], nil
	}
	f := &Engine{
		port: e.port, number: number, space: e.first.space, early: early.New(),
	}
	if err := f.openContext(len(e.peers)); err != nil {
		return nil, err
	}
	f.fillFastPath()
	f.Job = e.first.Job
	for int(number) >= len(e.others) {
		e.others = append(e.others, nil)
	}
	e.others[number] = f
	e.contextTable()[number] = f.State
	return f, nil
}

// all calls f for each stream.
func (e *Engine) all(f func(*Engine)) {
	f(e.first)
	for _, o := range e.others {
		if o != nil {
			f(o)
		}
	}
}

// stick says that something of the stream found no room.
func (e *Engine) stick() {
	if e.Stuck == 0 && e.number != 0 {
		e.sticks = append(e.sticks, e)
	}
	e.Stuck = 1
}

// retryOthers does what found no room before, and notices what is complete.
func (e *Engine) retryOthers() {
	if len(e.sticks) > 0 {
		work := e.sticks
		still := work[:0]
		for _, o := range work {
			if o.retryOwn(); o.Stuck != 0 {
				still = append(still, o)
			}
		}
		e.sticks = still
	}
	if len(e.closers) > 0 {
		still := e.closers[:0]
		for _, o := range e.closers {
			if o.quiets.Settle(); o.quiets.Closing() {
				still = append(still, o)
			} else {
				o.listed = false
			}
		}
		e.closers = still
	}
}

// fold adds what a stream has counted for a PE to what the first one shows. What has
// been written may be compared with later (merge.go), while there is something under
// way.
func (e *Engine) fold(pe fabric.PE) {
	p, to := &e.peers[pe], &e.first.peers[pe].Count
	if p.Writes > 0 || p.Queued > 0 {
		return
	}
	layout.AddCounts(to, &p.Count)
	p.Count = [layout.Counted]uint64{}
}

// closeContexts releases all but the first.
func (e *Engine) closeContexts() {
	for _, o := range e.others {
		if o != nil {
			o.closeContext()
		}
	}
	e.others = nil
}
