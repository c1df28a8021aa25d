package proxy

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/fastpath"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
)

// C works on the State and the peers, too, under the same lock and in memory that Go does not
// manage: it injects small messages, applies them, and sends flushes. A flush is a message to which
// a PE replies when it has applied all earlier messages of its sender.
//
// A call from C to Go takes 46 ns when it is measured alone. But a C thread that calls Go every few
// microseconds keeps the scheduler's monitor awake, which preempts the thread each time: with two
// calls for each message, half a round trip over tcp took 8.0 us, and 5.1 us without this library,
// by libfabric alone.

// openFastPath maps the state of the first context, which the engine shares with C and which other
// processes can read, and divides it into the State, the peers and the lists. All of it is zero at
// first.
func (e *Engine) openFastPath(npes int) error {
	const peerSize, number = unsafe.Sizeof(layout.Peer{}), unsafe.Sizeof(libshmem.PE(0))
	lists := uintptr(npes+layout.Receives+e.ops.Net.More+1) / 2 * 2 * number // so that the part after the lists is aligned
	n := unsafe.Sizeof(layout.State{}) + uintptr(npes)*peerSize + lists + layout.ContextsOpen*unsafe.Sizeof(uintptr(0))
	r, err := openReport(e, e.ops.Net.Provider, npes, n)
	if err != nil {
		return fmt.Errorf("map the state of %d PEs: %w", npes, err)
	}
	e.Report = r
	p := r.State()
	e.State, e.ops.State = (*layout.State)(p), (*layout.State)(p)
	e.State.Peers = unsafe.Add(p, unsafe.Sizeof(layout.State{}))
	e.ops.Peers = unsafe.Slice((*layout.Peer)(e.State.Peers), npes)
	e.Dirty = unsafe.Add(e.State.Peers, uintptr(npes)*peerSize)
	e.ops.Quiets = newGenerations(e, e.State, e.ops.Peers, unsafe.Slice((*libshmem.PE)(e.Dirty), npes))
	e.Unposted = unsafe.Add(e.Dirty, uintptr(npes)*number)
	e.Contexts = unsafe.Add(e.Dirty, lists)
	e.ops.Recorder = r.OpenRecorder(e.State, e.ops.Peers)
	return nil
}

// unpostedList returns State.Unposted as a slice: the tokens of receive buffers that the provider
// did not accept because its queue was full.
func (e *Engine) unpostedList() []fabric.Token {
	return unsafe.Slice((*fabric.Token)(e.Unposted), layout.Receives+e.ops.Net.More)
}

// contextTable returns the table in which C finds the states of the other contexts. Its pages take
// no memory until the first of those contexts is made.
func (e *Engine) contextTable() *[layout.ContextsOpen]*layout.State {
	return (*[layout.ContextsOpen]*layout.State)(e.first.State.Contexts)
}

// openContext maps the state of a context other than the first. No other process reads it: its
// counts are added to those of the first context.
func (e *Engine) openContext(npes int) error {
	const peerSize, number = unsafe.Sizeof(layout.Peer{}), unsafe.Sizeof(libshmem.PE(0))
	n := unsafe.Sizeof(layout.State{}) + uintptr(npes)*(peerSize+number)
	p, err := unix.MmapPtr(-1, 0, nil, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("map the state of a context with %d PEs: %w", npes, err)
	}
	e.State, e.ops.State = (*layout.State)(p), (*layout.State)(p)
	e.State.Peers = unsafe.Add(p, unsafe.Sizeof(layout.State{}))
	e.ops.Peers = unsafe.Slice((*layout.Peer)(e.State.Peers), npes)
	e.Dirty = unsafe.Add(e.State.Peers, uintptr(npes)*peerSize)
	e.ops.Quiets = newGenerations(e, e.State, e.ops.Peers, unsafe.Slice((*libshmem.PE)(e.Dirty), npes))
	e.ops.Recorder = e.first.ops.Recorder.Context(e.State, e.ops.Number)
	return nil
}

// closeContext unmaps the state that openContext mapped.
func (e *Engine) closeContext() {
	const peerSize, number = unsafe.Sizeof(layout.Peer{}), unsafe.Sizeof(libshmem.PE(0))
	// No other part unmaps this mapping, so unmapping it cannot fail.
	_ = unix.MunmapPtr(unsafe.Pointer(e.State), unsafe.Sizeof(layout.State{})+uintptr(len(e.ops.Peers))*(peerSize+number))
}

// fillFastPath copies into the shared state what C needs: addresses, sizes, limits and credits. It
// is called when the message buffers exist.
func (e *Engine) fillFastPath() {
	x := e.State
	x.Buffers, x.Scratch, x.Desc = e.ops.Net.Buffers, e.ops.Net.Scratch, e.ops.Net.Desc
	x.Segment, x.Internal = e.ops.Net.Segment.Base, e.ops.Net.Segment.Internal
	x.RoundsOffset, x.RoundsSize = e.ops.Net.Segment.RoundsOffset, e.ops.Net.Segment.RoundsSize
	x.Size, x.Reach = e.ops.Net.Segment.Size, e.ops.Net.Segment.Registered()
	x.Me, x.NPEs = e.ops.Number<<layout.ContextShift|e.me, uint32(len(e.ops.Peers))
	x.MaxInject = uint32(min(e.ops.Net.Caps.MaxInject, layout.MessageSize))
	x.Receives, x.Tokens, x.MoreRecv, x.MaxMessage = layout.Receives, layout.Tokens, uint32(e.ops.Net.More), layout.MessageSize
	x.Window, x.Unit = creditUnits(len(e.ops.Peers))
	x.FlushAt = x.Window / 2
}

// InnerLoop returns the state, lock words and provider functions with which a loop in C serves this
// engine. It returns false if the provider has no C functions, or cannot inject a message header.
func (e *Engine) InnerLoop() (fastpath.Config, bool) {
	n := e.ops.Net.Provider.Native()
	if n.Poll == nil || n.Recv == nil || n.Inject == nil || e.MaxInject < layout.HeaderSize {
		return fastpath.Config{}, false
	}
	return fastpath.Config{
		FastPath: unsafe.Pointer(e.State), Self: n.Self, Poll: n.Poll, Recv: n.Recv, Inject: n.Inject,
		Lock: e.Lock, Wanted: e.Wanted, Sleepers: e.Sleepers, Wake: e.Wakes,
	}, true
}

// closeFastPath unmaps the state that openFastPath mapped.
func (e *Engine) closeFastPath() {
	if e.State != nil {
		// No other part unmaps this mapping, so unmapping it cannot fail.
		_ = e.Report.Close()
		e.State, e.ops.State, e.ops.Peers = nil, nil, nil
		e.ops.Recorder = flight.Recorder{}
	}
}
