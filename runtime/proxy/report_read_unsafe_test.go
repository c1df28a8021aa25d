package proxy

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/clock"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/statuspage"
)

func texts(all []flight.Recorded) (texts []string) {
	for _, r := range all {
		texts = append(texts, r.String())
	}
	return texts
}

// pageOf reads the page of an endpoint as another process does.
func (e *Report) pageOf(hook func(at int64)) io.ReaderAt { return &pageReader{e.page, hook} }

type pageReader struct {
	*statuspage.Page
	hook func(at int64)
}

func (r *pageReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := bytes.NewReader(r.Bytes()).ReadAt(b, at)
	if r.hook != nil {
		r.hook(at)
	}
	return n, err
}

// TestEventsOfOthers reads the events as another process does, also while they are written.
func TestEventsOfOthers(t *testing.T) {
	a := newReportRig(t, 2)
	sent := func() { a.record.NoteMessage(1, layout.EventSent, layout.KindStore, layout.HeaderSize, 1) }
	read := func(hook func(at int64)) []string {
		t.Helper()
		s, err := ReadEndpointPage(a.pageOf(hook))
		if err != nil {
			t.Fatal(err)
		}
		all, err := s.Events(1)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if r.Ago < 0 || r.Ago > time.Minute {
				t.Errorf("%s was %v ago", r, r.Ago)
			}
		}
		return texts(all)
	}
	if got := read(nil); got != nil {
		t.Errorf("events before the first: %s", got)
	}
	for range layout.RingEvents + 5 {
		sent()
	}
	if got, want := read(nil), texts(a.Events(1)); !slices.Equal(got, want) || len(got) != layout.RingEvents {
		t.Errorf("another process sees\n%s\nwant\n%s", got, want)
	}
	// Three events come between the read of the count and the read of the ring.
	ring := int64(a.head.flight.Rings) + int64(unsafe.Sizeof(layout.Entry{})*layout.RingEvents)
	if got, want := len(read(func(at int64) {
		if at < ring && at > int64(peersOffset) {
			sent()
			sent()
			sent()
		}
	})), layout.RingEvents-3; got > want || got < want-3 {
		t.Errorf("%d events are read, of the ones that stand, want %d or some less", got, want)
	}
	// The oldest event is being overwritten.
	p := &a.first()[1]
	oldest := (*layout.Entry)(unsafe.Add((*layout.State)(a.State()).Records, uintptr(p.Ring*layout.RingEvents+p.Recorded%layout.RingEvents)*unsafe.Sizeof(layout.Entry{})))
	was := *oldest
	oldest.When = clock.Now() << layout.ContextBits
	if got := read(nil); len(got) != layout.RingEvents-1 {
		t.Errorf("%d events are read while one is overwritten", len(got))
	}
	*oldest = was
	if _, err := ReadEndpointPage(bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Errorf("a page without bytes: %v", err)
	}
	a.head.peerSize++
	var version *statuspage.VersionError
	if _, err := ReadEndpointPage(a.pageOf(nil)); !errors.As(err, &version) {
		t.Errorf("the page of another build: %v", err)
	}
	a.head.peerSize--
}

// TestLatestEvents: PEs with operations under way in any context come first.
func TestLatestEvents(t *testing.T) {
	r := newReportRig(t, 5)
	for _, pe := range []libshmem.PE{1, 2, 3} {
		r.record.Note(pe, layout.EventDone, 1, 0)
	}
	if got := r.Latest(2); !slices.Equal(got, []libshmem.PE{3, 2}) {
		t.Errorf("the latest are %d", got)
	}
	for _, busy := range []func(p *layout.Peer){
		func(p *layout.Peer) { p.Tokens = 1 }, func(p *layout.Peer) { p.Parked = 1 }, func(p *layout.Peer) { p.Early = 1 },
		func(p *layout.Peer) { p.Queued = 1 }, func(p *layout.Peer) { p.Flushing = true },
	} {
		busy(&r.context[1])
		if got := r.Latest(2); !slices.Equal(got, []libshmem.PE{1, 3}) {
			t.Errorf("with %+v of PE 1 the latest are %d", r.context[1], got)
		}
		r.context[1] = layout.Peer{}
	}
}
