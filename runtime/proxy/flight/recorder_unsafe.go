package flight

import (
	"structs"
	"sync/atomic"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/clock"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/statuspage"
)

// Each PE to which this one has sent something, or from which it has received something, has a ring
// of events in the page that other processes may read. All contexts share it. PEs get rings in the
// order of their first message, so that an unused ring is never touched and costs no memory. The
// first ring is the proxy thread's: its actions concern no single PE, and a printout puts them
// among the events of a PE by their times.
//
// An event is a time and one word. A reader without the lock may find the oldest event half
// overwritten (see recorded).

// Head is the part of a page's head that describes its flight recorder: two clocks and the offset
// of the rings.
type Head struct {
	_        structs.HostLayout
	ticks    uint64 // the time at which the page was made, by the processor's counter
	time     uint64 // the same time in nanoseconds of CLOCK_MONOTONIC
	Rings    uint64 // offset of the first ring in the page
	recorded uint32 // number of events of the proxy's thread so far
	_        uint32
}

// ring has the last events with one PE, or of the proxy's thread. A new one replaces the oldest.
type ring [layout.RingEvents]layout.Entry

// ownRing is the index of the ring for the proxy thread's own events.
const ownRing = 0

// RingsAt returns the first offset in memory, from n on, at which rings may begin. It is the start
// of a cache line, so that two rings share no line.
func RingsAt(n uintptr) uintptr {
	const line = 64
	return (n + line - 1) / line * line
}

// RingsSize returns the bytes that the rings of a job of npes PEs take.
func RingsSize(npes int) uintptr { return uintptr(npes+1) * unsafe.Sizeof(ring{}) }

// Recorder is the flight recorder of an endpoint, for one context. Recorders of further
// contexts write into the same rings.
type Recorder struct {
	*records
	state   *layout.State // the state of the context; while several operations are posted in a row, it has the time that their events share
	context uint64
}

// records is the part of a recorder that all contexts share.
type records struct {
	head  *Head
	rings []ring
	peers []layout.Peer // peer records of the first context; each has the number of the PE's ring, and its count of events
	first *layout.State
	met   []libshmem.PE // the PE of each ring, in the order of the rings
}

// Open makes the recorder of the first context. All bytes of the page are zero, and rings is the
// offset of the first ring in it. Open stores the address of the rings in the state, where C finds
// it.
func Open(head *Head, page unsafe.Pointer, rings uintptr, state *layout.State, peers []layout.Peer) Recorder {
	r := &records{head: head, peers: peers, first: state, met: []libshmem.PE{ownRing: -1}}
	at := unsafe.Add(page, rings)
	r.rings = unsafe.Slice((*ring)(at), len(peers)+1)
	state.Shown, state.Records, state.Rings = state.Peers, at, 1
	if !clock.Counts {
		state.Coarse = 1
	}
	head.Rings = uint64(rings)
	head.ticks, head.time = clock.Now(), statuspage.Now()
	return Recorder{records: r, state: state}
}

// Context returns the recorder of a context other than the first, and stores the address of the
// rings in its state.
func (r *Recorder) Context(state *layout.State, number uint32) Recorder {
	state.Shown, state.Records, state.Coarse = r.first.Shown, r.first.Records, r.first.Coarse
	return Recorder{r.records, state, uint64(number)}
}

// AssignRing assigns a ring of events to a PE that has none yet, from the rings that all contexts
// share. Ring 0 is that of the proxy thread, so 0 stands for "no ring".
func (r *Recorder) AssignRing(pe libshmem.PE) {
	if p := &r.peers[pe]; p.Ring == 0 {
		p.Ring = r.first.Rings
		r.first.Rings++
		r.met = append(r.met, pe)
	}
}

// Note puts an event into the ring of a PE, where it replaces the oldest one. detail and number are
// the event's values, which its format prints.
func (r *Recorder) Note(pe libshmem.PE, what layout.Event, detail, number uint32) {
	p := &r.peers[pe]
	if p.Ring == 0 {
		r.AssignRing(pe)
	}
	at := &r.rings[p.Ring][p.Recorded%layout.RingEvents]
	at.When, at.What = r.eventTime(), eventWord(what, detail, number)
	p.Recorded++
}

// NoteAgain puts an event that repeats until a caller's retries succeed into the ring of a PE.
// Repetitions are one entry: its number counts them, and its time is that of the last one.
func (r *Recorder) NoteAgain(pe libshmem.PE, what layout.Event) {
	p := &r.peers[pe]
	if p.Recorded > 0 {
		last, when := &r.rings[p.Ring][(p.Recorded-1)%layout.RingEvents], r.eventTime()
		if layout.Event(last.What) == what && last.When%(1<<layout.ContextBits) == when%(1<<layout.ContextBits) {
			last.When, last.What = when, repeatedWord(last.What)
			return
		}
	}
	r.Note(pe, what, 0, 1)
}

// NoteMessage puts an event about a message of n bytes into the ring of a PE.
func (r *Recorder) NoteMessage(pe libshmem.PE, what layout.Event, k layout.Kind, n int, seq uint32) {
	r.Note(pe, what, uint32(k)<<16|uint32(n), seq)
}

// NoteOwn puts an event of the proxy's thread into its ring. An idle proxy repeats the same events,
// and they would overwrite all earlier ones: repetitions are one event, whose number counts them and
// whose time is that of the last one. A sleep right after EventLimit, the end of a sleep by its time
// limit, is not recorded: the thread has only checked for work in between.
func (r *Recorder) NoteOwn(what layout.Event) {
	n := r.head.recorded
	own := &r.rings[ownRing]
	when := clock.Now() << layout.ContextBits
	if n > 0 {
		last := &own[(n-1)%layout.RingEvents]
		before := layout.Event(last.What)
		if what == layout.EventSleep && before == layout.EventLimit {
			return
		}
		if what == before {
			atomic.StoreUint64(&last.What, repeatedWord(last.What))
			atomic.StoreUint64(&last.When, when)
			return
		}
	}
	at := &own[n%layout.RingEvents]
	atomic.StoreUint64(&at.When, when)
	atomic.StoreUint64(&at.What, eventWord(what, 0, 1))
	atomic.StoreUint32(&r.head.recorded, n+1)
}

// eventTime returns the time for an event that happens now, with the number of the context in its
// lowest bits. Events of one poll share its reading of the clock (Tick).
func (r *Recorder) eventTime() uint64 {
	t := r.state.Tick
	if t == 0 {
		t = clock.Now()
	}
	return t<<layout.ContextBits | r.context
}

// eventWord returns the word of an event: the event's kind, 24 bits of detail, and the event's
// number.
func eventWord(what layout.Event, detail, number uint32) uint64 {
	return uint64(number)<<32 | uint64(min(detail, 1<<24-1))<<8 | uint64(what)
}

// repeatedWord returns the word of an event that has repeated once more: its upper half counts, up
// to the largest number.
func repeatedWord(w uint64) uint64 {
	if w>>32 == 1<<32-1 {
		return w
	}
	return w + 1<<32
}

// Events lists the last events with a PE, and the proxy thread's events of the same time, oldest
// first.
func (r *Recorder) Events(pe libshmem.PE) []Recorded {
	p := &r.peers[pe]
	t := r.head.readClocks()
	before := atomic.LoadUint32(&r.head.recorded)
	own := r.rings[ownRing].copyRing()
	return mergeByTime(t.recorded(&r.rings[p.Ring], p.Recorded, p.Recorded), t.recorded(&own, before, atomic.LoadUint32(&r.head.recorded)))
}

// Latest returns at most n PEs, whose events a report shows: first the busy PEs, then the others,
// each group sorted by the times of the last events, the latest first.
func (r *Recorder) Latest(n int, busy func(libshmem.PE) bool) []libshmem.PE {
	var all []latest
	for i, pe := range r.met[ownRing+1:] {
		if n := r.peers[pe].Recorded; n > 0 {
			all = append(all, latest{pe, busy(pe), r.rings[ownRing+1+i][(n-1)%layout.RingEvents].When})
		}
	}
	return latestFirst(all, n)
}

// readClocks reads both clocks, so that events can be shown with their times relative to now.
func (h *Head) readClocks() readings { return readings{h.ticks, h.time, clock.Now(), statuspage.Now()} }

// copyRing copies a ring while its writer may write to it: by atomic loads, so that no word is
// torn. The two words of an entry may still be of different events.
func (r *ring) copyRing() (c ring) {
	for i := range r {
		c[i].When = atomic.LoadUint64(&r[i].When)
		c[i].What = atomic.LoadUint64(&r[i].What)
	}
	return c
}
