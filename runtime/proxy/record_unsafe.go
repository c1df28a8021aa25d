package proxy

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/live"
	"libshmem/runtime/proxy/clock"
	"libshmem/runtime/proxy/layout"
)

// The flight recorder: the last events of the protocol with each PE, and those of the proxy's
// own thread, always on, for reports of waits that do not end and for shmem-info --live.
//
// Each PE that this one has met has a ring of events, shared by all streams, in the page that
// others may read. Rings are dealt in the order of meeting, so that those that nothing needs
// are never touched. The first one is the proxy thread's: what it does concerns no single PE,
// and is put among the events of one by its time when they are printed.
//
// The writer of a PE's ring holds the lock; that of the first one is the loop's thread, which
// does not. An event is a time and one word, and the count of events is stored behind both.
// Who reads without the lock may find the oldest event half overwritten (see recorded).

type ring [layout.RingEvents]layout.Entry

// ownRing is that of the proxy's thread.
const ownRing = 0

// recordsAt is where rings begin in the page behind n bytes of what is shown: at a line of
// the cache, of which none is shared by two rings.
func recordsAt(n uintptr) uintptr {
	const line = 64
	return (shownAt+n+line-1)/line*line - shownAt
}

// shownAt is where that begins in its page of memory.
const shownAt = live.HeadSize + shownSize

// openRecords comes when the page is there. Its rings are the last thing in it.
func (e *Engine) openRecords(at unsafe.Pointer, npes int) {
	e.Records, e.Rings, e.met = at, 1, []fabric.PE{ownRing: -1}
	e.rings = unsafe.Slice((*ring)(at), npes+1)
	if !clock.Counts {
		e.Coarse = 1
	}
	e.shown.records = uint64(uintptr(at) - uintptr(e.page.At()))
	e.shown.ticks, e.shown.time = clock.Now(), live.Now()
}

// shareRecords has a stream record in the rings of the first one.
func (e *Engine) shareRecords() {
	e.Shown, e.Records, e.Coarse = e.first.Peers, e.first.Records, e.first.Coarse
}

// deal gives a PE its ring.
func (e *Engine) deal(pe fabric.PE) {
	if p := &e.first.peers[pe]; p.Ring == 0 {
		p.Ring = e.first.Rings
		e.first.Rings++
		e.met = append(e.met, pe)
	}
}

// note puts an event into the ring of a PE.
func (e *Engine) note(pe fabric.PE, what layout.Event, detail, number uint32) {
	p := &e.first.peers[pe]
	if p.Ring == 0 {
		e.deal(pe)
	}
	at := &e.rings[p.Ring][p.Recorded%layout.RingEvents]
	at.When, at.What = e.when(), pack(what, detail, number)
	p.Recorded++
}

// noteAgain is note for what callers try again until it succeeds: the number says how
// often, and the time is that of the last one.
func (e *Engine) noteAgain(pe fabric.PE, what layout.Event) {
	p := &e.first.peers[pe]
	if p.Recorded > 0 {
		last, when := &e.rings[p.Ring][(p.Recorded-1)%layout.RingEvents], e.when()
		if layout.Event(last.What) == what && last.When%(1<<layout.StreamBits) == when%(1<<layout.StreamBits) {
			last.When, last.What = when, again(last.What)
			return
		}
	}
	e.note(pe, what, 0, 1)
}

// noteMessage is note for a message.
func (e *Engine) noteMessage(pe fabric.PE, what layout.Event, k layout.Kind, n int, seq uint32) {
	e.note(pe, what, uint32(k)<<16|uint32(n), seq)
}

// noteOwn puts an event of the proxy's thread into its ring. An idle proxy does the same
// again and again, which would leave nothing of what was before: it is one event, too.
func (e *Engine) noteOwn(what layout.Event) {
	n := e.shown.recorded
	r := &e.rings[ownRing]
	when := clock.Now() << layout.StreamBits
	if n > 0 {
		last := &r[(n-1)%layout.RingEvents]
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
	at := &r[n%layout.RingEvents]
	atomic.StoreUint64(&at.When, when)
	atomic.StoreUint64(&at.What, pack(what, 0, 1))
	atomic.StoreUint32(&e.shown.recorded, n+1)
}

// when is the time of an event, with the stream.
func (e *Engine) when() uint64 {
	t := e.Tick
	if t == 0 {
		t = clock.Now()
	}
	return t<<layout.StreamBits | uint64(e.number)
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

// numberOf is the PE that a record of this stream is about.
func (e *Engine) numberOf(p *layout.Peer) fabric.PE {
	return fabric.PE((uintptr(unsafe.Pointer(p)) - uintptr(e.Peers)) / unsafe.Sizeof(layout.Peer{}))
}

// load copies a ring that may be written meanwhile.
func (r *ring) load() (c ring) {
	for i := range r {
		c[i].When = atomic.LoadUint64(&r[i].When)
		c[i].What = atomic.LoadUint64(&r[i].What)
	}
	return c
}

// flight is the recorder of another process.
type flight struct {
	page  io.ReaderAt
	rings int64 // where they begin
	at    readings
}

// Flight lists the last events with a PE, as Engine.Flight.
func (s *Shown) Flight(pe int) ([]Recorded, error) {
	if s.Peers[pe].ring == 0 {
		return nil, nil
	}
	const counted = int64(unsafe.Offsetof(layout.Peer{}.Recorded))
	of, err := s.flight.read(s.Peers[pe].ring, int64(fixed)+int64(pe)*int64(unsafe.Sizeof(layout.Peer{}))+counted)
	if err != nil {
		return nil, err
	}
	own, err := s.flight.read(ownRing, int64(unsafe.Offsetof(shown{}.recorded)))
	if err != nil {
		return nil, err
	}
	return merged(of, own), nil
}

// read lists the events of a ring whose count is at an offset of the page.
func (f *flight) read(n uint32, counted int64) ([]Recorded, error) {
	var before, after uint32
	var r ring
	err := errors.Join(readAt(f.page, &before, counted), readAt(f.page, &r, f.rings+int64(n)*int64(unsafe.Sizeof(r))), readAt(f.page, &after, counted))
	if err != nil {
		return nil, err
	}
	return f.at.recorded(&r, before, after), nil
}

// readAt fills a variable from an offset of a page.
func readAt[T any](page io.ReaderAt, to *T, at int64) error {
	if _, err := page.ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(to)), unsafe.Sizeof(*to)), at); err != nil {
		return fmt.Errorf("read the page of an endpoint: %w", err)
	}
	return nil
}
