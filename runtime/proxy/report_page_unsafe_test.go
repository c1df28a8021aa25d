package proxy

import (
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
)

// reportedEngine is an engine with a state set by the test. It does nothing.
type reportedEngine struct {
	streams    [][]layout.Peer
	registered mrcache.Counts
	work       [backlog.Streams]backlog.Shown
	mute       bool // it finds no room for questions
	asked      []libshmem.PE
	addresses  map[libshmem.PE][]byte
}

func (e *reportedEngine) forEachPeerTable(f func(peers []layout.Peer)) {
	for _, s := range e.streams {
		f(s)
	}
}
func (e *reportedEngine) Registered() mrcache.Counts                  { return e.registered }
func (e *reportedEngine) fillWork(to *[backlog.Streams]backlog.Shown) { *to = e.work }
func (e *reportedEngine) address(pe libshmem.PE) []byte               { return e.addresses[pe] }
func (e *reportedEngine) requestProgress(pe libshmem.PE) bool {
	e.asked = append(e.asked, pe)
	return !e.mute
}

// reportNetwork has one NIC, and nothing but a name.
type reportNetwork struct {
	fabric.Provider
	strangers uint64
}

func (n *reportNetwork) Caps() fabric.Caps { return fabric.Caps{Provider: "none", Domain: "card0"} }
func (n *reportNetwork) Strangers() uint64 { return n.strangers }

// rails is a network that counts for each NIC.
type rails struct {
	reportNetwork
	nics []fabric.RailCount
}

func (r *rails) Rails() []fabric.RailCount { return r.nics }

// reportRig is an endpoint whose engine has the first context in the page, and one more context.
type reportRig struct {
	*Report
	engine  reportedEngine
	net     reportNetwork
	record  flight.Recorder
	context []layout.Peer
}

// peersAt returns where the peers begin behind the state.
const peersAt = unsafe.Sizeof(layout.State{})

func newReportRig(t *testing.T, npes int) *reportRig {
	r := &reportRig{context: make([]layout.Peer, npes)}
	r.Report = openReportRig(t, &r.engine, &r.net, npes)
	state := (*layout.State)(r.State())
	state.Peers = unsafe.Add(r.State(), peersAt)
	peers := unsafe.Slice((*layout.Peer)(state.Peers), npes)
	r.engine.streams = [][]layout.Peer{peers, r.context}
	r.record = r.OpenRecorder(state, peers)
	return r
}

func openReportRig(t *testing.T, engine reportEngine, net fabric.Provider, npes int) *Report {
	t.Helper()
	e, err := openReport(engine, net, npes, peersAt+uintptr(npes)*unsafe.Sizeof(layout.Peer{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// backdate makes the last Probe of a PE earlier than it was.
func (r *reportRig) backdate(pe libshmem.PE, by time.Duration) {
	last := r.probed[pe]
	last.at = last.at.Add(-by)
	r.probed[pe] = last
}

// first returns the peers of the first context.
func (r *reportRig) first() []layout.Peer { return r.engine.streams[0] }
