package proxy

import (
	"structs"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/statuspage"
)

// pageHead is the beginning of an endpoint's page. After it come the state and the peers of the
// first context: C and Go work on them in the page itself, so that showing them costs nothing. Then
// come the engine's lists and the rings of the flight recorder. The proxy's thread updates the head
// some times a second.
type pageHead struct {
	_          structs.HostLayout
	peerSize   uint32 // bytes of a layout.Peer in this build
	npes       uint32
	nics       uint32 // entries of nic that are in use
	_          uint32
	provider   [64]byte
	domain     [64]byte
	flight     flight.Head
	stalled    uint64 // nanoseconds in which an operation waited because the provider's queue was full or its PE had no credit
	overslept  uint64 // waits that ended at their limit although the provider had a completion
	strangers  uint64 // messages and completions from outside of the job that were dropped
	registered mrcache.Counts
	nic        [shownNICs]shownNIC
	undone     [backlog.Streams]backlog.Shown
}

// shownNIC is the traffic of one NIC: operations, bytes out and in, and lost messages.
type shownNIC struct {
	name               [32]byte
	ops, out, in, lost uint64
}

const (
	shownNICs    = 32 // NICs that the page has room for; the traffic of others is not shown
	pageHeadSize = unsafe.Sizeof(pageHead{})
	showEvery    = 100 * time.Millisecond // the shortest time between two updates of the head

	// stateAt is the offset of the state in the page's memory, which begins with the head of every
	// status page. peersOffset is the offset of the peers in the page, which begins after that
	// head.
	stateAt     = statuspage.HeadSize + pageHeadSize
	peersOffset = pageHeadSize + unsafe.Sizeof(layout.State{})
)

var _ [0]byte = [pageHeadSize % 64]byte{}

// openReport makes the status page of an endpoint in a job of npes PEs. After the page's head come
// n bytes for the engine's state, and then the rings of the flight recorder.
func openReport(engine reportEngine, prov fabric.Provider, npes int, n uintptr) (*Report, error) {
	rings := flight.RingsAt(stateAt+n) - statuspage.HeadSize
	page, err := statuspage.Create(statuspage.OfEndpoint, int(rings+flight.RingsSize(npes)))
	if err != nil {
		return nil, err
	}
	e := &Report{engine: engine, prov: prov, caps: prov.Caps(), page: page, rings: rings}
	e.head = (*pageHead)(page.At())
	e.head.peerSize, e.head.npes = uint32(unsafe.Sizeof(layout.Peer{})), uint32(npes)
	copy(e.head.provider[:len(e.head.provider)-1], e.caps.Provider)
	copy(e.head.domain[:len(e.head.domain)-1], e.caps.Domain)
	return e, nil
}

// State returns the address of the engine's state, whose bytes are zero at first. A layout.State
// comes first, then a layout.Peer for each PE. The engine divides the rest.
func (e *Report) State() unsafe.Pointer { return unsafe.Add(e.page.At(), pageHeadSize) }

// OpenRecorder opens the flight recorder of the engine's first context, and puts its records into
// the page, where other processes find them when the PE hangs or has died. state.Peers must be set.
func (e *Report) OpenRecorder(state *layout.State, peers []layout.Peer) flight.Recorder {
	e.peers = peers
	e.recorder = flight.Open(&e.head.flight, e.page.At(), e.rings, state, peers)
	return e.recorder
}

// Bytes returns the bytes of the page.
func (e *Report) Bytes() []byte { return e.page.Bytes() }

// Close unmaps the page, and the state with it.
func (e *Report) Close() error {
	e.peers, e.recorder, e.head = nil, flight.Recorder{}, nil
	return e.page.Close()
}

// Publish updates the head of the page, unless that was done less than showEvery ago.
func (e *Report) Publish(now time.Time) {
	if now.Sub(e.shownAt) < showEvery {
		return
	}
	e.shownAt = now
	h := e.head
	h.registered = e.engine.Registered()
	h.strangers = e.Refused()
	e.ReportDropped()
	e.engine.fillWork(&h.undone)
	p, ok := e.prov.(fabric.Rails)
	if !ok {
		return // the reader adds up the counters of PEs: here that would touch the memory of unused PEs
	}
	nics := p.Rails()
	h.nics = uint32(min(len(nics), shownNICs))
	for i := range h.nics {
		n, c := &h.nic[i], &nics[i]
		copy(n.name[:len(n.name)-1], c.NIC)
		n.ops, n.out, n.in, n.lost = c.Ops, c.Out, c.In, c.Lost
	}
}

// Show publishes the state of the endpoint now, and returns it as other processes read it from the
// page.
func (e *Report) Show() *EndpointPage {
	e.shownAt = time.Time{}
	e.Publish(time.Now())
	s, err := viewPage(e.page.Bytes())
	if err != nil {
		panic(err) // this build has written the page itself
	}
	return s
}

// Stalled returns the time in which an operation waited because the provider's queue was full or
// its PE had no credit.
func (e *Report) Stalled() time.Duration { return time.Duration(e.head.stalled) }

// CountStall adds the time since its last call to the page's count of time in which operations
// could not be posted (stalled), if one could not be posted then and cannot be posted now (stuck).
func (e *Report) CountStall(now time.Time, stuck bool) {
	if stuck && e.wasStuck {
		e.head.stalled += uint64(now.Sub(e.stuckAt))
	}
	e.wasStuck, e.stuckAt = stuck, now
}

// Overslept returns the number of waits that ended at their limit although the network had a
// completion.
func (e *Report) Overslept() uint64 { return e.head.overslept }

// Oversleep counts a wait that ended at its limit although the network had a completion.
func (e *Report) Oversleep() { e.head.overslept++ }
