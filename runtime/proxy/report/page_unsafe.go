package report

import (
	"structs"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/live"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/regcache"
)

// head begins the page of an endpoint. Behind it are the state and the peers of the first stream,
// which are in the page because C and Go write them there anyway, what else the engine has there,
// and the rings of the flight recorder. The engine's thread brings the head up to date, some
// times a second.
type head struct {
	_          structs.HostLayout
	peerSize   uint32 // of this build
	npes       uint32
	nics       uint32 // of nic that there are
	_          uint32
	provider   [64]byte
	domain     [64]byte
	flight     flight.Head
	stalled    uint64 // nanoseconds for which the proxy could not go on for want of room
	overslept  uint64 // waits that ended by their limit although the provider had something
	strangers  uint64 // messages and completions from outside of the job that were dropped
	registered regcache.Counts
	nic        [shownNICs]shownNIC
	undone     [backlog.Streams]backlog.Shown
}

type shownNIC struct {
	name               [32]byte
	ops, out, in, lost uint64
}

const (
	shownNICs = 32
	headSize  = unsafe.Sizeof(head{})
	showEvery = 100 * time.Millisecond

	// stateAt is where the state begins in memory, and fixed where peers begin in the page.
	stateAt = live.HeadSize + headSize
	fixed   = headSize + unsafe.Sizeof(layout.State{})
)

var _ [0]byte = [headSize % 64]byte{}

// Open makes the page of an endpoint of a job of npes PEs, with n bytes for the state of
// the engine.
func Open(engine Engine, prov fabric.Provider, npes int, n uintptr) (*Endpoint, error) {
	rings := flight.RingsAt(stateAt+n) - live.HeadSize
	page, err := live.Create(live.OfEndpoint, int(rings+flight.RingsSize(npes)))
	if err != nil {
		return nil, err
	}
	e := &Endpoint{engine: engine, prov: prov, caps: prov.Caps(), page: page, rings: rings}
	e.head = (*head)(page.At())
	e.head.peerSize, e.head.npes = uint32(unsafe.Sizeof(layout.Peer{})), uint32(npes)
	copy(e.head.provider[:len(e.head.provider)-1], e.caps.Provider)
	copy(e.head.domain[:len(e.head.domain)-1], e.caps.Domain)
	return e, nil
}

// State is where the state of the engine begins, which is zero at first: a layout.State, then a
// layout.Peer for each PE, then what the engine likes.
func (e *Endpoint) State() unsafe.Pointer { return unsafe.Add(e.page.At(), headSize) }

// Record begins the flight recorder, when state names its peers.
func (e *Endpoint) Record(state *layout.State, peers []layout.Peer) flight.Recorder {
	e.peers = peers
	e.recorder = flight.Open(&e.head.flight, e.page.At(), e.rings, state, peers)
	return e.recorder
}

// Bytes are those of the page.
func (e *Endpoint) Bytes() []byte { return e.page.Bytes() }

// Close takes the page back, with the state.
func (e *Endpoint) Close() error {
	e.peers, e.recorder, e.head = nil, flight.Recorder{}, nil
	return e.page.Close()
}

// Publish brings the page up to date.
func (e *Endpoint) Publish(now time.Time) {
	if now.Sub(e.shownAt) < showEvery {
		return
	}
	e.shownAt = now
	h := e.head
	h.registered = e.engine.Registered()
	h.strangers = e.Refused()
	e.tellDropped()
	e.engine.ShowWork(&h.undone)
	p, ok := e.prov.(fabric.Rails)
	if !ok {
		return // whoever looks adds up what is counted for the PEs: a look at all of them costs memory for those never used
	}
	nics := p.Rails()
	h.nics = uint32(min(len(nics), shownNICs))
	for i := range h.nics {
		n, c := &h.nic[i], &nics[i]
		copy(n.name[:len(n.name)-1], c.NIC)
		n.ops, n.out, n.in, n.lost = c.Ops, c.Out, c.In, c.Lost
	}
}

// Show is what others see of the engine, now.
func (e *Endpoint) Show() *Shown {
	e.shownAt = time.Time{}
	e.Publish(time.Now())
	s, err := lookAt(e.page.Bytes())
	if err != nil {
		panic(err) // the page is of this very build
	}
	return s
}

// Stalled is for how long the proxy could not go on for want of room.
func (e *Endpoint) Stalled() time.Duration { return time.Duration(e.head.stalled) }

// Stalls adds the time since the last look, if there was no room then and is none
// now.
func (e *Endpoint) Stalls(now time.Time, stuck bool) {
	if stuck && e.wasStuck {
		e.head.stalled += uint64(now.Sub(e.stuckAt))
	}
	e.wasStuck, e.stuckAt = stuck, now
}

// Overslept is how many waits for the network ended by their limit although it had
// something.
func (e *Endpoint) Overslept() uint64 { return e.head.overslept }

// Oversleep counts one.
func (e *Endpoint) Oversleep() { e.head.overslept++ }
