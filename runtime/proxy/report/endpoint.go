package report

import (
	"time"

	"libshmem/fabric"
	"libshmem/runtime/live"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/regcache"
)

// Engine is what reports ask of an engine, whose lock is held then.
type Engine interface {
	// EachStream calls f with the peers of each stream of operations.
	EachStream(f func(peers []layout.Peer))
	// Registered counts the registrations of callers' memory.
	Registered() regcache.Counts
	// ShowWork shows what the streams of a GPU have not carried out.
	ShowWork(to *[backlog.Streams]backlog.Shown)
	// AskProgress asks a PE how far it is. False: there is no room, or no way to it.
	AskProgress(pe fabric.PE) bool
	// Address is the fabric address of a PE.
	Address(pe fabric.PE) []byte
}

// Endpoint is what an endpoint of the network says of itself: to other processes by its page, and
// to people. The engine's lock is held around each method.
type Endpoint struct {
	engine   Engine
	prov     fabric.Provider
	caps     fabric.Caps
	page     *live.Page
	head     *head           // the beginning of it
	rings    uintptr         // where they begin in it
	peers    []layout.Peer   // of the first stream
	recorder flight.Recorder // of the first stream

	shownAt  time.Time
	stuckAt  time.Time // the last look of the proxy's, and whether something had found no room
	wasStuck bool

	named  string // the provider; "": as in caps
	probed map[fabric.PE]time.Time
	says   func() string                    // what this PE does; nil: nothing is known of that
	hears  func(pe fabric.PE, doing string) // nil: answers are dropped

	tell    func(error) // nil: errors that end nothing are dropped
	strange uint64      // messages that were none of this job's
	told    uint64      // entries that the provider had dropped when tell was last called for them
}

// OnAsked has says answer what this PE's program does, as the end of a sentence, when another PE
// asks, and hears take such an answer of a PE. Both are called with the lock held, and take no
// lock of an engine. It comes before Connect.
func (e *Endpoint) OnAsked(says func() string, hears func(pe fabric.PE, doing string)) {
	e.says, e.hears = says, hears
}

// Doing is what this PE's program does; "" where that is not known.
func (e *Endpoint) Doing() string {
	if e.says == nil {
		return ""
	}
	return e.says()
}

// HearDoing takes what a PE has answered.
func (e *Endpoint) HearDoing(pe fabric.PE, doing string) {
	if e.hears != nil {
		e.hears(pe, doing)
	}
}

// Events lists the last events with a PE, and those of the proxy meanwhile, oldest first.
func (e *Endpoint) Events(pe fabric.PE) []flight.Recorded { return e.recorder.Events(pe) }

// Latest names the PEs whose events a report is to have, n at most: first those with something
// under way, of these and of the others the one with the latest event first.
func (e *Endpoint) Latest(n int) []fabric.PE { return e.recorder.Latest(n, e.busyWith) }

// busyWith reports whether something is under way with a PE.
func (e *Endpoint) busyWith(pe fabric.PE) (busy bool) {
	e.engine.EachStream(func(peers []layout.Peer) {
		p := &peers[pe]
		busy = busy || p.Tokens > 0 || p.Parked > 0 || p.Early > 0 || p.Queued > 0 || p.Flushing
	})
	return busy
}
