package flight

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/runtime/proxy/layout"
)

// rig is a recorder in memory that is laid out like a page: a head, the state of the first context,
// its peers, and the rings.
type rig struct {
	Recorder
	head  *Head
	page  []byte
	peers uintptr // where the peers begin
}

func newRig(npes int) *rig {
	peers := unsafe.Sizeof(Head{}) + unsafe.Sizeof(layout.State{})
	rings := RingsAt(peers + uintptr(npes)*unsafe.Sizeof(layout.Peer{}))
	words := make([]uint64, (rings+RingsSize(npes))/8)
	p := unsafe.Pointer(&words[0])
	r := &rig{head: (*Head)(p), page: unsafe.Slice((*byte)(p), len(words)*8), peers: peers}
	state := (*layout.State)(unsafe.Add(p, unsafe.Sizeof(Head{})))
	state.Peers = unsafe.Add(p, peers)
	r.Recorder = Open(r.head, p, rings, state, unsafe.Slice((*layout.Peer)(state.Peers), npes))
	return r
}

// read lists the events with a PE as another process does.
func (r *rig) read(t *testing.T, pe int) []string {
	t.Helper()
	page := r.head.ReadPage(bytes.NewReader(r.page), 0, r.peers)
	all, err := page.Events(libshmem.PE(pe), r.Recorder.peers[pe].Ring)
	if err != nil {
		t.Fatal(err)
	}
	return texts(all)
}

func texts(all []Recorded) (texts []string) {
	for _, r := range all {
		texts = append(texts, r.String())
	}
	return texts
}

func (r *rig) want(t *testing.T, pe int, want ...string) {
	t.Helper()
	if own, others := texts(r.Events(libshmem.PE(pe))), r.read(t, pe); !slices.Equal(own, want) || !slices.Equal(others, want) {
		t.Errorf("events with PE %d:\n\t%s\nread by another process:\n\t%s\nwant:\n\t%s", pe, strings.Join(own, "\n\t"), strings.Join(others, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestRings: a PE has a ring from its first event on, side by side in the order of meeting.
func TestRings(t *testing.T) {
	r := newRig(100)
	r.Note(70, layout.EventDone, 1, 0)
	r.AssignRing(30)
	r.Note(30, layout.EventDone, 2, 0)
	r.Note(70, layout.EventDone, 3, 0)
	r.want(t, 70, "token 1 is complete", "token 3 is complete")
	r.want(t, 30, "token 2 is complete")
	r.want(t, 1)
	if got := []uint32{r.Recorder.peers[70].Ring, r.Recorder.peers[30].Ring, r.state.Rings}; !slices.Equal(got, []uint32{1, 2, 3}) {
		t.Errorf("rings of PE 70, of PE 30 and in all: %d", got)
	}
}

// TestWraps: the last events are kept, and no more than the ring has room for.
func TestWraps(t *testing.T) {
	r := newRig(2)
	var want []string
	for i := range uint32(3 * layout.RingEvents) {
		r.NoteMessage(1, layout.EventSent, layout.KindPut, 60, i)
		want = append(want, fmt.Sprintf("sent message %d: put, 60 bytes", i))
	}
	r.want(t, 1, want[2*layout.RingEvents:]...)
}

// TestAgain: a repeated event is one event, in each context, and its count stops at the largest.
func TestAgain(t *testing.T) {
	r := newRig(2)
	context := new(layout.State)
	other := r.Context(context, 3)
	if context.Records != r.state.Records || context.Shown != r.state.Shown {
		t.Error("a stream has not the rings of the first one")
	}
	for range 3 {
		r.NoteAgain(1, layout.EventNoRoom)
	}
	for range 2 {
		other.NoteAgain(1, layout.EventNoRoom)
	}
	r.NoteAgain(1, layout.EventNoCredit)
	r.want(
		t, 1, "the provider had no room, 3 times in a row", "the provider had no room, 2 times in a row, context 3",
		"refused an operation for lack of credit",
	)
	if w := eventWord(layout.EventNoRoom, 0, 1<<32-1); repeatedWord(w) != w || repeatedWord(w-1<<32) != w {
		t.Errorf("%#x after %#x", repeatedWord(w), w)
	}
}

// TestOwn: events of the proxy's thread stand among the events of each PE by their times. An idle
// thread's repeated event is one event, and events before the PE's first are left out.
func TestOwn(t *testing.T) {
	r := newRig(3)
	r.NoteOwn(layout.EventNap)
	r.Note(1, layout.EventDone, 1, 0)
	for range 5 {
		r.NoteOwn(layout.EventSleep)
		r.NoteOwn(layout.EventLimit)
	}
	r.Note(1, layout.EventDone, 2, 0)
	r.want(t, 1, "token 1 is complete", "the proxy sleeps", "the proxy slept and nothing came, 5 times in a row", "token 2 is complete")
	r.want(t, 2)
}

// TestLatest: PEs that are busy come first, and of each kind those with the latest events.
func TestLatest(t *testing.T) {
	r := newRig(10)
	for i, pe := range []libshmem.PE{4, 7, 2, 9} {
		r.state.Tick = uint64(i + 1)
		r.Note(pe, layout.EventDone, 0, 0)
	}
	r.AssignRing(5)
	busy := func(pe libshmem.PE) bool { return pe == 7 || pe == 4 }
	if got := r.Latest(10, busy); !slices.Equal(got, []libshmem.PE{7, 4, 9, 2}) {
		t.Errorf("latest: %d", got)
	}
	if got := r.Latest(3, busy); !slices.Equal(got, []libshmem.PE{7, 4, 9}) {
		t.Errorf("latest three: %d", got)
	}
}

// hooked is a page that calls a function after each read.
type hooked struct {
	io.ReaderAt
	after func()
}

func (h hooked) ReadAt(b []byte, at int64) (int, error) {
	n, err := h.ReaderAt.ReadAt(b, at)
	h.after()
	return n, err
}

// TestOverwritten: a reader leaves out the events that the writer overwrites while it reads the
// ring, and has the others.
func TestOverwritten(t *testing.T) {
	for _, made := range []int{0, 1, 5, layout.RingEvents - 1, layout.RingEvents, 3 * layout.RingEvents} {
		r := newRig(2)
		for i := range uint32(layout.RingEvents + 7) {
			r.Note(1, layout.EventDone, i, 0)
		}
		reads := 0
		page := r.head.ReadPage(hooked{bytes.NewReader(r.page), func() {
			if reads++; reads == 1 { // the read of the count
				for range made {
					r.Note(1, layout.EventLost, 0, 0)
				}
			}
		}}, 0, r.peers)
		all, err := page.Events(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := 7 + made; i < layout.RingEvents+7; i++ {
			want = append(want, fmt.Sprintf("token %d is complete", i))
		}
		if got := texts(all); !slices.Equal(got, want) {
			t.Errorf("%d events while the ring is read leave %q, want %q", made, got, want)
		}
	}
}

// TestShortPage: a page that ends before its rings is an error.
func TestShortPage(t *testing.T) {
	r := newRig(2)
	r.Note(1, layout.EventDone, 1, 0)
	page := r.head.ReadPage(bytes.NewReader(r.page[:r.head.Rings]), 0, r.peers)
	if all, err := page.Events(1, 1); !errors.Is(err, io.EOF) {
		t.Errorf("%v, error %v", all, err)
	}
}

// TestAlign: no two rings share a cache line.
func TestAlign(t *testing.T) {
	for n, want := range map[uintptr]uintptr{0: 0, 1: 64, 64: 64, 65: 128} {
		if got := RingsAt(n); got != want {
			t.Errorf("rings behind %d bytes begin at %d, want %d", n, got, want)
		}
	}
	if one := RingsSize(1) - RingsSize(0); one%64 != 0 {
		t.Errorf("a ring has %d bytes", one)
	}
}

// BenchmarkNote measures the cost of one event: with its own look at the clock, and with the time
// of its turn.
func BenchmarkNote(b *testing.B) {
	r := newRig(2)
	for name, tick := range map[string]uint64{"clock": 0, "turn": 1} {
		b.Run(name, func(b *testing.B) {
			r.state.Tick = tick
			for i := range b.N {
				r.NoteMessage(1, layout.EventSent, layout.KindStore, layout.HeaderSize, uint32(i))
			}
		})
	}
}
