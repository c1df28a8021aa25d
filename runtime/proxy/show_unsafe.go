package proxy

import (
	"fmt"
	"io"
	"structs"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/live"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/gpuwork"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/regcache"
)

// shown begins the page of an endpoint, before Express and the peers, which are in
// the page because C and Go write them there anyway. The rest of it is brought up to
// date by the engine's thread, some times a second.
type shown struct {
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
	undone     [gpuwork.Streams]gpuwork.Shown
}

type shownNIC struct {
	name               [32]byte
	ops, out, in, lost uint64
}

const (
	shownNICs = 32
	shownSize = unsafe.Sizeof(shown{})
	shownAt   = live.HeadSize + shownSize // where what is behind it begins in its page of memory
	showEvery = 100 * time.Millisecond
)

var _ [0]byte = [shownSize % 64]byte{}

// openShown makes the page, with so many bytes behind what is shown, and returns
// where they begin.
func (e *Engine) openShown(npes int, n uintptr) (unsafe.Pointer, error) {
	page, err := live.Create(live.OfEndpoint, int(shownSize+n))
	if err != nil {
		return nil, err
	}
	e.page = page
	s := (*shown)(page.At())
	s.peerSize, s.npes = uint32(unsafe.Sizeof(layout.Peer{})), uint32(npes)
	copy(s.provider[:len(s.provider)-1], e.caps.Provider)
	copy(s.domain[:len(s.domain)-1], e.caps.Domain)
	e.shown = s
	return unsafe.Add(page.At(), shownSize), nil
}

// show brings the page up to date, with the lock held.
func (e *Engine) show(now time.Time) {
	if now.Sub(e.shownAt) < showEvery {
		return
	}
	e.shownAt = now
	s := e.shown
	s.registered = e.locals.Counts()
	s.strangers = e.Refused()
	e.reportDropped()
	if e.stage != nil {
		e.stage.show(&s.undone)
	}
	p, ok := e.prov.(fabric.Rails)
	if !ok {
		return // whoever looks adds up what is counted for the PEs: a look at all of them costs memory for those never used
	}
	nics := p.Rails()
	s.nics = uint32(min(len(nics), shownNICs))
	for i := range s.nics {
		n, c := &s.nic[i], &nics[i]
		copy(n.name[:len(n.name)-1], c.NIC)
		n.ops, n.out, n.in, n.lost = c.Ops, c.Out, c.In, c.Lost
	}
}

// Show is what others see of the engine, now.
func (e *Engine) Show() *Shown {
	e.shownAt = time.Time{}
	e.show(time.Now())
	s, err := lookAt(e.page.Bytes())
	if err != nil {
		panic(err) // the page is of this very build
	}
	return s
}

// NICs tells what each NIC has carried. A provider with one does not count: there it
// is what the PEs' counters say.
func (e *Engine) NICs() []fabric.RailCount {
	if p, ok := e.prov.(fabric.Rails); ok {
		return p.Rails()
	}
	c := e.Count()
	return []fabric.RailCount{nicOf(e.caps.Domain, &c)}
}

func nicOf(name string, c *[layout.Counted]uint64) fabric.RailCount {
	n := fabric.RailCount{
		NIC: name, Out: c[layout.MessageBytes] + c[layout.WriteBytes], In: c[layout.ReceivedBytes] + c[layout.ReadBytes], Ops: c[layout.Writes] + c[layout.Reads],
	}
	for i := layout.Atomics; i <= layout.Control; i++ {
		n.Ops += c[i]
	}
	return n
}

// Stalled is for how long the proxy could not go on for want of room.
func (e *Engine) Stalled() time.Duration { return time.Duration(e.shown.stalled) }

// Overslept is how many waits for the network ended by their limit although it had
// something.
func (e *Engine) Overslept() uint64 { return e.shown.overslept }

// stalls adds the time since the last look, if there was no room then and is none
// now.
func (e *Engine) stalls(now time.Time, stuck bool) {
	if stuck && e.wasStuck {
		e.shown.stalled += uint64(now.Sub(e.stuckAt))
	}
	e.wasStuck, e.stuckAt = stuck, now
}

// Shown is the state of an endpoint of another process.
type Shown struct {
	Provider, Domain string
	NICs             []fabric.RailCount
	Registered       regcache.Counts
	Stalled          time.Duration
	Overslept        uint64
	Strangers        uint64
	Undone           []Undone
	Peers            []ShownPeer

	flight flight.Page
}

// ShownPeer is the state of one PE there.
type ShownPeer struct {
	Count      [layout.Counted]uint64
	UnderWay   uint32 // operations that hold a token
	Bytes      uint64 // of one-sided operations under way
	Unanswered uint64 // units of messages without an answer
	Parked     uint32 // messages that wait for room
	Early      uint32 // messages that wait for earlier ones
	Flushing   bool   // it has been asked how far it is

	ring, recorded uint32
}

// Flight lists the last events with a PE, as Engine.Flight.
func (s *Shown) Flight(pe int) ([]flight.Recorded, error) {
	return s.flight.Events(pe, s.Peers[pe].ring)
}

// fixed is where peers begin in the page.
const fixed = shownSize + unsafe.Sizeof(layout.State{})

// LookAt reads the page of an endpoint, and of its flight recorder only what is asked for later.
func LookAt(page io.ReaderAt) (*Shown, error) {
	var s shown
	if err := readPage(page, unsafe.Slice((*byte)(unsafe.Pointer(&s)), shownSize)); err != nil {
		return nil, err
	}
	if s.peerSize != uint32(unsafe.Sizeof(layout.Peer{})) {
		return nil, &live.VersionError{Version: "the same, of another build"}
	}
	b := make([]byte, s.flight.Rings)
	if err := readPage(page, b); err != nil {
		return nil, err
	}
	view, err := lookAt(b)
	if err == nil {
		view.flight = s.flight.Look(page, unsafe.Offsetof(s.flight), fixed)
	}
	return view, err
}

// readPage fills b from the beginning of a page.
func readPage(page io.ReaderAt, b []byte) error {
	if _, err := page.ReadAt(b, 0); err != nil {
		return fmt.Errorf("read the page of an endpoint: %w", err)
	}
	return nil
}

func lookAt(page []byte) (*Shown, error) {
	if uintptr(len(page)) < fixed {
		return nil, fmt.Errorf("an endpoint's page has %d bytes", len(page))
	}
	s := (*shown)(unsafe.Pointer(&page[0]))
	if s.peerSize != uint32(unsafe.Sizeof(layout.Peer{})) || (uintptr(len(page))-fixed)/unsafe.Sizeof(layout.Peer{}) < uintptr(s.npes) {
		return nil, &live.VersionError{Version: "the same, of another build"}
	}
	view := &Shown{
		Provider: live.Text(s.provider[:]), Domain: live.Text(s.domain[:]), Registered: s.registered, Stalled: time.Duration(s.stalled), Overslept: s.overslept, Strangers: s.strangers,
	}
	for i := range s.undone {
		if u, ok := s.undone[i].Undone(gpuwork.Stream(i), live.Now()); ok {
			view.Undone = append(view.Undone, u)
		}
	}
	var all [layout.Counted]uint64
	for i := range s.npes {
		p := (*layout.Peer)(unsafe.Pointer(&page[fixed+uintptr(i)*unsafe.Sizeof(layout.Peer{})]))
		c := p.Counts()
		layout.AddCounts(&all, &c)
		view.Peers = append(view.Peers, ShownPeer{
			Count: c, UnderWay: p.Tokens, Bytes: p.Bytes, Unanswered: p.Asked - p.Acked, Parked: p.Parked, Early: p.Early, Flushing: p.Flushing, ring: p.Ring, recorded: p.Recorded,
		})
	}
	for i := range min(s.nics, shownNICs) {
		n := &s.nic[i]
		view.NICs = append(view.NICs, fabric.RailCount{NIC: live.Text(n.name[:]), Ops: n.ops, Out: n.out, In: n.in, Lost: n.lost})
	}
	if s.nics == 0 {
		view.NICs = []fabric.RailCount{nicOf(view.Domain, &all)}
	}
	return view, nil
}
