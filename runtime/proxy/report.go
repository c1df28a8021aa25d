package proxy

import (
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/statuspage"
)

// reportEngine has the methods of the engine that a Report calls. It calls them with the engine's
// lock held.
type reportEngine interface {
	// forEachPeerTable calls f with the peers of each context.
	forEachPeerTable(f func(peers []layout.Peer))
	// Registered returns the counts of registrations of callers' memory.
	Registered() mrcache.Counts
	// fillWork fills in the work that each stream of a GPU has not carried out.
	fillWork(to *[backlog.Streams]backlog.Shown)
	// requestProgress sends a PE a flush, to which it replies when it has applied all messages sent
	// to it. It returns false if the flush could not be posted, or the PE is out of reach.
	requestProgress(pe libshmem.PE) bool
	// address returns the fabric address of a PE.
	address(pe libshmem.PE) []byte
}

// Report describes an endpoint of the network. Other processes read its page: counters, NICs,
// registrations, work that a GPU has not carried out, and the events of the flight recorder. People
// read sentences about its work with a PE, and about messages that it has dropped.
//
// It owns the page: its head, and the positions of the engine's state and of the recorder's rings.
// It does not own the contents of the state, nor the choice of events to note.
//
// The caller of each method of Report holds the engine's lock. A reader of the page is another
// process without a lock: it may see words of different moments, each word whole.
type Report struct {
	engine   reportEngine
	prov     fabric.Provider
	caps     fabric.Caps
	page     *statuspage.Page
	head     *pageHead       // the beginning of the page
	rings    uintptr         // offset of the recorder's rings in the page
	peers    []layout.Peer   // of the first context
	recorder flight.Recorder // of the first context

	shownAt  time.Time
	stuckAt  time.Time // the time of the last call of Stalls
	wasStuck bool      // its argument stuck

	named  string                             // the provider's name for messages; "": that of caps
	probed map[libshmem.PE]probe              // the flush of the last Probe of each PE that was posted
	full   map[libshmem.PE]uint32             // PEs whose last Probe could not be posted: messages sent to the PE until then
	says   func() string                      // returns what this PE's program does; nil: not known
	hears  func(pe libshmem.PE, doing string) // gets a PE's activity reply; nil: replies are dropped

	report        func(error) // gets errors after which the job goes on; nil: they are dropped
	strange       uint64      // messages from outside of the job
	reportedDrops uint64      // completions that the provider had dropped at the last report of them
}

// OnActivityRequest sets the functions for activity requests. says returns this PE's activity, as
// the end of a sentence, for another PE's request. hears gets another PE's reply. Both are called
// with the lock held, and must not lock an engine. OnActivityRequest must be called before Connect.
func (e *Report) OnActivityRequest(says func() string, hears func(pe libshmem.PE, doing string)) {
	e.says, e.hears = says, hears
}

// Activity returns the current call of this PE's program, or "" if that is not known.
func (e *Report) Activity() string {
	if e.says == nil {
		return ""
	}
	return e.says()
}

// PassActivity passes a PE's activity reply, which says what its program does, to the function that
// OnActivityRequest has set.
func (e *Report) PassActivity(pe libshmem.PE, doing string) {
	if e.hears != nil {
		e.hears(pe, doing)
	}
}

// Events lists the last events with a PE, and the proxy thread's events of the same time, oldest
// first.
func (e *Report) Events(pe libshmem.PE) []flight.Recorded { return e.recorder.Events(pe) }

// Latest returns at most n PEs, whose events a report shows: first PEs with operations under way,
// then the others, each group sorted by the times of the last events, the latest first.
func (e *Report) Latest(n int) []libshmem.PE { return e.recorder.Latest(n, e.busyWith) }

// busyWith reports whether operations or messages are under way with a PE, in any context.
func (e *Report) busyWith(pe libshmem.PE) (busy bool) {
	e.engine.forEachPeerTable(func(peers []layout.Peer) {
		p := &peers[pe]
		busy = busy || p.Tokens > 0 || p.Parked > 0 || p.Early > 0 || p.Queued > 0 || p.Flushing
	})
	return busy
}
