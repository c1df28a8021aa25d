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

// Access to the engine for tests from outside.

// MaxPayload is the largest put that travels as a message.
const MaxPayload = maxPayload

// KindBatch is the kind of a message with several operations.
const KindBatch = byte(layout.KindBatch)

// NearWrap puts the counters of an engine towards a PE just below their wrap. The PE does the same.
func (e *Engine) NearWrap(pe int) {
	p := &e.ops.Peers[pe]
	p.Sent, p.Received = 1<<32-30, 1<<32-30
	p.Asked, p.Acked, p.AskedThen = 1<<32-20, 1<<32-20, 1<<32-20
	e.Epoch = 1<<32 - 10
	if e.rma.Numbers.On {
		p.Out.Posted, p.Out.In, p.Out.After, p.Edge = 1<<32-5, 1<<32-5, 1<<32-5, 1<<32-5
		e.in.Flows[pe] = flow.InAt(e.rma.Numbers.Space, 1<<32-5)
	}
}

// FewNumbers makes the numbers of writes wrap often, and the window fill. All PEs do the same,
// before Connect.
func (e *Engine) FewNumbers(bits, window uint32) {
	e.rma.Numbers.Space = flow.Space{Bits: bits, Window: window}
}

// Stay makes writes wait for room in a window, however small. It comes before Connect.
func (e *Engine) Stay() { e.rma.Numbers.Small = 0 }

// WriteWindowOf returns the window of n PEs whose queues have room for that many arrivals.
func WriteWindowOf(n, arrivals int) int { return int(writeWindow(n, arrivals)) }

// ReceivesOf returns how many receive buffers an engine of n PEs has on such a network.
func ReceivesOf(n int, c fabric.Caps) int {
	return receives + moreReceives(n, writeWindow(n, c.Arrivals), &c)
}

// FewSequences sets how many PEs may number their writes to this one, if the provider does not name
// the writer.
func (e *Engine) FewSequences(n uint32) { e.mostSequences = n }

// Streamless returns how many PEs have refused this one a sequence stream.
func (e *Engine) Streamless() (n uint64) {
	for i := range e.ops.Peers {
		if e.ops.Peers[i].Stream == sequenceRefused {
			n++
		}
	}
	return n
}

// Due returns the number of a PE's next message to apply.
func (e *Engine) Due(pe int) uint32 { return e.ops.Peers[pe].Received + 1 }

// Kept returns how many messages the engine keeps until earlier ones have come, and their bytes.
func (e *Engine) Kept() (messages, bytes int) {
	return e.in.Early.Len(), e.in.Early.Bytes()
}

// Sleeps reports whether Loop would go to sleep after a Poll with n completions.
func (e *Engine) Sleeps(n int, pace *fabric.Pace, now time.Time) bool {
	switch e.Next(n, pace) {
	case call.WaitArmed:
		return true
	case call.PollUnread:
		pace.Refused(now)
	}
	return false
}

// FoundNoRoom reports whether an operation waits for room that may come without an arrival.
func (e *Engine) FoundNoRoom() bool {
	some := false
	e.all(func(s *Engine) { some = some || s.NoRoom() })
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

// AtRest reports whether the engine holds nothing of any operation, in any context.
func (e *Engine) AtRest() bool {
	rest := true
	e.all(func(s *Engine) { rest = rest && s.atRest() })
	return rest
}

func (e *Engine) atRest() bool {
	return len(e.ops.Table.Free) == tokens-receives && e.ops.Quiets.Pending == [3]int{} && len(e.out.Unsent) == 0 && e.unqueued() && e.in.Early.Len() == 0 && e.NDirty == 0 && !e.NoRoom()
}

// Mappings returns the engine's mappings: the message buffers, and the state of its peers.
func (e *Engine) Mappings() [2][]byte {
	page := e.Report.Bytes()
	begins := unsafe.Pointer(unsafe.SliceData(page))
	into := int(uintptr(begins) % uintptr(os.Getpagesize()))
	return [2][]byte{
		unsafe.Slice((*byte)(e.ops.Net.Buffers), e.ops.Net.BufferBytes()),
		unsafe.Slice((*byte)(unsafe.Add(begins, -into)), into+len(page)),
	}
}
