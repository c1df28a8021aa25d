package flight

import (
	"structs"
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/live"
	"libshmem/runtime/proxy/clock"
	"libshmem/runtime/proxy/layout"
)

// Each PE that this one has met has a ring of events, shared by all streams, in the page that
// others may read. Rings are dealt in the order of meeting, so that those that nothing needs
// are never touched. The first one is the proxy thread's: what it does concerns no single PE,
// and is put among the events of one by its time when they are printed.
//
// An event is a time and one word. A reader without the lock may find the oldest one half
// overwritten (see recorded).

// Head is what a page says of the recorder in it.
type Head struct {
	_        structs.HostLayout
	ticks    uint64 // when the page was made, for the times of events
	time     uint64 // the same in nanoseconds of CLOCK_MONOTONIC
	Rings    uint64 // where rings of events begin in the page
	recorded uint32 // events of the proxy's thread, ever
	_        uint32
}

type ring [layout.RingEvents]layout.Entry

// ownRing is that of the proxy's thread.
const ownRing = 0

// RingsAt is where rings may begin in memory behind so many bytes: at a line of the cache, of
// which none is shared by two rings.
func RingsAt(n uintptr) uintptr {
	const line = 64
	return (n + line - 1) / line * line
}

// RingsSize is what the rings of a job take.
func RingsSize(npes int) uintptr { return uintptr(npes+1) * unsafe.Sizeof(ring{}) }

// Recorder is the flight recorder of an endpoint, as one stream of operations writes it.
type Recorder struct {
	*records
	state  *layout.State // of the stream: it has the time of a turn
	stream uint64
}

// records are what the recorders of all streams share.
type records struct {
	head  *Head
	rings []ring
	peers []layout.Peer // of the first stream: which ring is a PE's, and how many events there were
	first *layout.State
	met   []fabric.PE // whose ring each is
}

// Open makes the recorder of the first stream in a page that is zero: its rings begin at so
// many bytes of it. It tells C where.
func Open(head *Head, page unsafe.Pointer, rings uintptr, state *layout.State, peers []layout.Peer) Recorder {
	r := &records{head: head, peers: peers, first: state, met: []fabric.PE{ownRing: -1}}
	at := unsafe.Add(page, rings)
	r.rings = unsafe.Slice((*ring)(at), len(peers)+1)
	state.Shown, state.Records, state.Rings = state.Peers, at, 1
	if !clock.Counts {
		state.Coarse = 1
	}
	head.Rings = uint64(rings)
	head.ticks, head.time = clock.Now(), live.Now()
	return Recorder{records: r, state: state}
}

// Stream returns the recorder of one more stream, and tells C where the rings are.
func (r *Recorder) Stream(state *layout.State, number uint32) Recorder {
	state.Shown, state.Records, state.Coarse = r.first.Shown, r.first.Records, r.first.Coarse
	return Recorder{r.records, state, uint64(number)}
}

// Deal gives a PE its ring, unless it has one.
func (r *Recorder) Deal(pe fabric.PE) {
	if p := &r.peers[pe]; p.Ring == 0 {
		p.Ring = r.first.Rings
		r.first.Rings++
		r.met = append(r.met, pe)
	}
}

// Note puts an event into the ring of a PE.
func (r *Recorder) Note(pe fabric.PE, what layout.Event, detail, number uint32) {
	p := &r.peers[pe]
	if p.Ring == 0 {
		r.Deal(pe)
	}
	at := &r.rings[p.Ring][p.Recorded%layout.RingEvents]
	at.When, at.What = r.when(), pack(what, detail, number)
	p.Recorded++
}

// NoteAgain is Note for what callers try again until it succeeds: the number says how
// often, and the time is that of the last one.
func (r *Recorder) NoteAgain(pe fabric.PE, what layout.Event) {
	p := &r.peers[pe]
	if p.Recorded > 0 {
		last, when := &r.rings[p.Ring][(p.Recorded-1)%layout.RingEvents], r.when()
		if layout.Event(last.What) == what && last.When%(1<<layout.StreamBits) == when%(1<<layout.StreamBits) {
			last.When, last.What = when, again(last.What)
			return
		}
	}
	r.Note(pe, what, 0, 1)
}

// NoteMessage is Note for a message of n bytes.
func (r *Recorder) NoteMessage(pe fabric.PE, what layout.Event, k layout.Kind, n int, seq uint32) {
	r.Note(pe, what, uint32(k)<<16|uint32(n), seq)
}

// NoteOwn puts an event of the proxy's thread into its ring. An idle proxy does the same
// again and again, which would leave nothing of what was before: it is one event, too.
func (r *Recorder) NoteOwn(what layout.Event) {
	n := r.head.recorded
	own := &r.rings[ownRing]
	when := clock.Now() << layout.StreamBits
	if n > 0 {
		last := &own[(n-1)%layout.RingEvents]
		before := layout.Event(last.What)
		if what == layout.EventSleep && before == layout.EventLimit {
			return // it has looked, and sleeps on
		}
		if what == before {
			atomic.StoreUint64(&last.What, again(last.What))
			atomic.StoreUint64(&last.When, when)
			return
		}
	}
	at := &own[n%layout.RingEvents]
	atomic.StoreUint64(&at.When, when)
	atomic.StoreUint64(&at.What, pack(what, 0, 1))
	atomic.StoreUint32(&r.head.recorded, n+1)
}

// when is the time of an event, with the stream.
func (r *Recorder) when() uint64 {
	t := r.state.Tick
	if t == 0 {
		t = clock.Now()
	}
	return t<<layout.StreamBits | r.stream
}

func pack(what layout.Event, detail, number uint32) uint64 {
	return uint64(number)<<32 | uint64(min(detail, 1<<24-1))<<8 | uint64(what)
}

// again is the word of an event that has happened once more.
func again(w uint64) uint64 {
	if w>>32 == 1<<32-1 {
		return w
	}
	return w + 1<<32
}

// Events lists the last events with a PE, and those of the proxy meanwhile, oldest first.
func (r *Recorder) Events(pe fabric.PE) []Recorded {
	p := &r.peers[pe]
	t := r.head.since()
	before := atomic.LoadUint32(&r.head.recorded)
	own := r.rings[ownRing].load()
	return merged(t.recorded(&r.rings[p.Ring], p.Recorded, p.Recorded), t.recorded(&own, before, atomic.LoadUint32(&r.head.recorded)))
}

// Latest names the PEs whose events a report is to have, n at most: first those that are busy,
// of these and of the others the one with the latest event first.
func (r *Recorder) Latest(n int, busy func(fabric.PE) bool) []fabric.PE {
	var all []latest
	for i, pe := range r.met[ownRing+1:] {
		if n := r.peers[pe].Recorded; n > 0 {
			all = append(all, latest{pe, busy(pe), r.rings[ownRing+1+i][(n-1)%layout.RingEvents].When})
		}
	}
	return pick(all, n)
}

// since is from when the page was made to now.
func (h *Head) since() readings { return readings{h.ticks, h.time, clock.Now(), live.Now()} }

// load copies a ring that may be written meanwhile.
func (r *ring) load() (c ring) {
	for i := range r {
		c[i].When = atomic.LoadUint64(&r[i].When)
		c[i].What = atomic.LoadUint64(&r[i].What)
	}
	return c
}
