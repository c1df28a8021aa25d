package proxy

import (
	"fmt"
	"io"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/statuspage"
)

// EndpointPage is the state of an endpoint, as another process reads it from the endpoint's page.
type EndpointPage struct {
	Provider, Domain string
	NICs             []fabric.RailCount
	Registered       mrcache.Counts
	Stalled          time.Duration
	Overslept        uint64
	Strangers        uint64
	Undone           []backlog.Work
	Peers            []EndpointPeer

	flight flight.Page
}

// EndpointPeer is the part of an EndpointPage about one PE.
type EndpointPeer struct {
	Count          [layout.Counted]uint64
	UnderWay       uint32 // operations that use a token
	Bytes          uint64 // of one-sided operations under way
	Unacknowledged uint64 // units of messages that the PE has not acknowledged
	Parked         uint32 // messages that could not be posted yet, because the provider's queue was full
	Early          uint32 // messages that wait for earlier ones
	Flushing       bool   // the PE has not replied to a flush

	ring, recorded uint32
}

// Events lists the last events with a PE, like Report.Events.
func (s *EndpointPage) Events(pe libshmem.PE) ([]flight.Recorded, error) {
	return s.flight.Events(pe, s.Peers[pe].ring)
}

// ReadEndpointPage reads the page of an endpoint, of this process or another one. It fails if the
// page is of another build, whose records may have another layout. It leaves the rings of the
// flight recorder to later calls of Events.
func ReadEndpointPage(page io.ReaderAt) (*EndpointPage, error) {
	var s pageHead
	if err := readPage(page, unsafe.Slice((*byte)(unsafe.Pointer(&s)), pageHeadSize)); err != nil {
		return nil, err
	}
	if s.peerSize != uint32(unsafe.Sizeof(layout.Peer{})) {
		return nil, &statuspage.VersionError{Version: "the same, of another build"}
	}
	b := make([]byte, s.flight.Rings)
	if err := readPage(page, b); err != nil {
		return nil, err
	}
	view, err := viewPage(b)
	if err == nil {
		view.flight = s.flight.ReadPage(page, unsafe.Offsetof(s.flight), peersOffset)
	}
	return view, err
}

// readPage reads len(b) bytes from the beginning of a page into b.
func readPage(page io.ReaderAt, b []byte) error {
	if _, err := page.ReadAt(b, 0); err != nil {
		return fmt.Errorf("read the page of an endpoint: %w", err)
	}
	return nil
}

// viewPage decodes the head and the peers of a page. It fails if another build of the library wrote
// the page.
func viewPage(page []byte) (*EndpointPage, error) {
	if uintptr(len(page)) < peersOffset {
		return nil, fmt.Errorf("an endpoint's page has %d bytes", len(page))
	}
	s := (*pageHead)(unsafe.Pointer(&page[0]))
	if s.peerSize != uint32(unsafe.Sizeof(layout.Peer{})) || (uintptr(len(page))-peersOffset)/unsafe.Sizeof(layout.Peer{}) < uintptr(s.npes) {
		return nil, &statuspage.VersionError{Version: "the same, of another build"}
	}
	view := &EndpointPage{
		Provider: statuspage.Text(s.provider[:]), Domain: statuspage.Text(s.domain[:]), Registered: s.registered, Stalled: time.Duration(s.stalled), Overslept: s.overslept, Strangers: s.strangers,
	}
	for i := range s.undone {
		if u, ok := s.undone[i].Work(backlog.Stream(i), statuspage.Now()); ok {
			view.Undone = append(view.Undone, u)
		}
	}
	var all [layout.Counted]uint64
	for i := range s.npes {
		p := (*layout.Peer)(unsafe.Pointer(&page[peersOffset+uintptr(i)*unsafe.Sizeof(layout.Peer{})]))
		c := p.Counts()
		layout.AddCounts(&all, &c)
		view.Peers = append(view.Peers, EndpointPeer{
			Count: c, UnderWay: p.Tokens, Bytes: p.Bytes, Unacknowledged: p.Charged - p.Acked, Parked: p.Parked, Early: p.Early, Flushing: p.Flushing, ring: p.Ring, recorded: p.Recorded,
		})
	}
	for i := range min(s.nics, shownNICs) {
		n := &s.nic[i]
		view.NICs = append(view.NICs, fabric.RailCount{NIC: statuspage.Text(n.name[:]), Ops: n.ops, Out: n.out, In: n.in, Lost: n.lost})
	}
	if s.nics == 0 {
		view.NICs = []fabric.RailCount{nicOf(view.Domain, &all)}
	}
	return view, nil
}

// nicOf returns the traffic of an endpoint's only NIC, from the sum of the PEs' counters: such an
// endpoint does not count by NIC.
func nicOf(name string, c *[layout.Counted]uint64) fabric.RailCount {
	n := fabric.RailCount{
		NIC: name, Out: c[layout.MessageBytes] + c[layout.WriteBytes], In: c[layout.ReceivedBytes] + c[layout.ReadBytes], Ops: c[layout.Writes] + c[layout.Reads],
	}
	for i := layout.Atomics; i <= layout.Control; i++ { // the messages of each kind
		n.Ops += c[i]
	}
	return n
}
