package proxy

import (
	"os"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	flow "libshmem/runtime/sequence"
)

// What simulated jobs change in an engine, and look at.

// nearWrap puts the counters of an engine towards a PE just below their wrap. The PE does the same.
func (e *Engine) nearWrap(pe int) {
	p := &e.ops.Peers[pe]
	p.Sent, p.Received = 1<<32-30, 1<<32-30
	p.Charged, p.Acked, p.ChargedThen = 1<<32-20, 1<<32-20, 1<<32-20
	e.Epoch = 1<<32 - 10
	if e.rma.Numbers.On {
		p.Out.Posted, p.Out.In, p.Out.After, p.Edge = 1<<32-5, 1<<32-5, 1<<32-5, 1<<32-5
		e.in.Flows[pe] = flow.InAt(e.rma.Numbers.Space, 1<<32-5)
	}
}

// streamless returns how many PEs have refused this one a sequence stream.
func (e *Engine) streamless() (n uint64) {
	for i := range e.ops.Peers {
		if e.ops.Peers[i].Stream == sequenceRefused {
			n++
		}
	}
	return n
}

// sleeps reports whether Loop would go to sleep after a Poll with n completions.
func (e *Engine) sleeps(n int, pace *fabric.Pace, now time.Time) bool {
	switch e.Next(n, pace) {
	case call.WaitArmed:
		return true
	case call.PollUnread:
		pace.NoteRefusal(now)
	}
	return false
}

// foundNoRoom reports whether an operation waits for room that may come without an arrival.
func (e *Engine) foundNoRoom() bool {
	some := false
	e.forEachContext(func(s *Engine) { some = some || s.NoRoom() })
	return some
}

func (e *Engine) unqueued() bool {
	for i := range e.ops.Peers {
		if e.ops.Peers[i].Queued > 0 {
			return false
		}
	}
	return true
}

// atRest reports whether the engine holds nothing of any operation, in any context.
func (e *Engine) atRest() bool {
	rest := true
	e.forEachContext(func(s *Engine) { rest = rest && s.contextAtRest() })
	return rest
}

func (e *Engine) contextAtRest() bool {
	return len(e.ops.Table.Free) == layout.Tokens-layout.Receives && e.ops.Quiets.Pending == [3]int{} && len(e.out.Unsent) == 0 && e.unqueued() && e.in.Early.Len() == 0 && e.NDirty == 0 && !e.NoRoom()
}

// mappings returns the engine's mappings: the message buffers, and the state of its peers.
func (e *Engine) mappings() [2][]byte {
	page := e.Report.Bytes()
	begins := unsafe.Pointer(unsafe.SliceData(page))
	into := int(uintptr(begins) % uintptr(os.Getpagesize()))
	return [2][]byte{
		unsafe.Slice((*byte)(e.ops.Net.Buffers), e.ops.Net.BufferBytes()),
		unsafe.Slice((*byte)(unsafe.Add(begins, -into)), into+len(page)),
	}
}
