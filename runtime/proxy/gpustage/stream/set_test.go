package stream

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/layout"
)

// fakeEngine notes errors and wakes.
type fakeEngine struct {
	state layout.State
	err   error
	wakes int
}

func (e *fakeEngine) State() *layout.State { return &e.state }
func (e *fakeEngine) Fatal(err error)      { e.err = err }
func (e *fakeEngine) Wake()                { e.wakes++ }

// fakeMemory counts its work. A test sets how far its streams are.
type fakeMemory struct {
	err    error
	given  [Streams]int
	marks  [Streams]uint64
	passed [Streams]uint64
	skip   uint64 // added to the next mark
}

func (m *fakeMemory) Holds(unsafe.Pointer, uint64) bool  { return false }
func (m *fakeMemory) Pin(uint64) (unsafe.Pointer, error) { return nil, m.err }
func (m *fakeMemory) Unpin(unsafe.Pointer) error         { return m.err }
func (m *fakeMemory) Words() uint64                      { return 2 }
func (m *fakeMemory) Atomics() uint64                    { return PlainAtomics }
func (m *fakeMemory) Close() error                       { return m.err }
func (m *fakeMemory) Marked(s Stream) (uint64, error)    { return m.passed[s], m.err }
func (m *fakeMemory) Mark(s Stream) (uint64, error) {
	m.marks[s] += 1 + m.skip
	return m.marks[s], m.err
}
func (m *fakeMemory) Copy(s Stream, _, _ unsafe.Pointer, _ uint64) error { m.given[s]++; return m.err }
func (m *fakeMemory) Write(s Stream, _ unsafe.Pointer, _ uint8, _ uint64) error {
	m.given[s]++
	return m.err
}
func (m *fakeMemory) Atomic(s Stream, _ unsafe.Pointer, _ fabric.Op, _ uint8, _, _ uint64, _ unsafe.Pointer) error {
	m.given[s]++
	return m.err
}

// chores collects the numbers of the chores that it was given.
type chores []uint8

func (c *chores) Follow(x Chore) { *c = append(*c, x.What) }

func fakes(most uint64) (*Set, *fakeEngine, *fakeMemory) {
	e, m := new(fakeEngine), new(fakeMemory)
	return New(e, m, most), e, m
}

// A chore waits for the work before it, in its own stream, and chores keep their order.
func TestChoresFollowWork(t *testing.T) {
	s, e, m := fakes(10)
	var did chores
	s.Later(In, Chore{For: &did, What: 1}) // there is no work before it
	s.Copy(In, nil, nil, 8)
	s.Later(In, Chore{For: &did, What: 2})
	s.Copy(Out, nil, nil, 8)
	s.Later(Out, Chore{For: &did, What: 3})
	if s.Last(In) != 1 || s.Passed(In) != 0 {
		t.Errorf("last mark %d, passed %d", s.Last(In), s.Passed(In))
	}
	if s.Mark(); e.state.Busy&layout.BusyCopies == 0 || e.wakes == 0 {
		t.Errorf("busy %d, %d wakes, with work in streams", e.state.Busy, e.wakes)
	}
	s.Write(In, nil, 8, 1)
	s.Later(In, Chore{For: &did, What: 4})
	s.Mark()
	for _, step := range []struct {
		in, out uint64
		want    chores
	}{{0, 0, chores{1}}, {0, 1, chores{1, 3}}, {1, 1, chores{1, 3, 2}}, {2, 1, chores{1, 3, 2, 4}}} {
		m.passed[In], m.passed[Out] = step.in, step.out
		if s.Follow(); !slices.Equal(did, step.want) {
			t.Errorf("marks %d and %d have passed: chores %v, want %v", step.in, step.out, did, step.want)
		}
	}
	e.state.Busy = 0
	if s.Mark(); e.state.Busy != 0 || s.Rest() != nil || m.marks[In] != 2 {
		t.Errorf("busy %d, rest %v, %d marks, with no work", e.state.Busy, s.Rest(), m.marks[In])
	}
}

// After Fresh a chore waits for one more mark, though no work came.
func TestFresh(t *testing.T) {
	s, _, m := fakes(10)
	var did chores
	s.Fresh(Peer)
	s.Later(Peer, Chore{For: &did, What: 1})
	if s.Rest() == nil {
		t.Error("a chore waits, and nothing is left")
	}
	s.Mark()
	if s.Follow(); len(did) != 0 || m.marks[Peer] != 1 {
		t.Errorf("chores %v before mark %d has passed", did, m.marks[Peer])
	}
	m.passed[Peer] = 1
	if s.Follow(); len(did) != 1 {
		t.Error("no chore after the mark")
	}
}

// A stream is full of operations, not of marks, and what it has done makes room.
func TestFull(t *testing.T) {
	s, _, m := fakes(3)
	for range 3 {
		if s.Full(In) {
			t.Error("full too early")
		}
		s.Copy(In, nil, nil, 1)
		s.Mark()
	}
	if !s.Full(In) || s.Full(Out) {
		t.Errorf("full: %v, and the other stream %v", s.Full(In), s.Full(Out))
	}
	m.passed[In] = 1
	if s.Follow(); s.Full(In) {
		t.Error("full after an operation is done")
	}
	if s.Looks() != 1 || s.Looks() != 2 {
		t.Error("looks are not counted")
	}
	m.passed[In] = 2
	if s.Follow(); s.Looks() != 1 {
		t.Error("looks are counted on after a mark has passed")
	}
}

// Reports name the work that is left, and the purpose of the oldest.
func TestUndone(t *testing.T) {
	s, _, m := fakes(10)
	s.Runs(backlog.CallPut, 3)
	s.Copy(Out, nil, nil, 100)
	s.Mark()
	s.Runs(backlog.CallServe, 4)
	s.Copy(Out, nil, nil, 50)
	s.Mark()
	want := backlog.Work{Stream: Out, Ops: 2, Bytes: 150, For: "for a put to PE 3"}
	if got := s.Undone(nil); len(got) != 1 || got[0] != want {
		t.Errorf("undone %+v, want %+v", got, want)
	}
	m.passed[Out] = 1
	s.Follow()
	want = backlog.Work{Stream: Out, Passed: 1, Ops: 1, Bytes: 50, For: "for a get of PE 4"}
	if got := s.Undone(nil); len(got) != 1 || got[0] != want {
		t.Errorf("undone %+v, want %+v", got, want)
	}
	var page [Streams]backlog.Shown
	if s.Show(&page); page[Out].Ops != 1 || page[Out].Bytes != 50 || page[In].Ops != 0 {
		t.Errorf("shown %+v", page)
	}
	if text := s.DriverCall(); text != "to learn how far its copies are" {
		t.Errorf("last call %q", text)
	}
}

// Words are stored one by one where they are aligned, of 4 bytes at odd ends.
func TestStoreWords(t *testing.T) {
	s, _, m := fakes(10)
	var words [4]uint64
	at := unsafe.Pointer(&words[0])
	for _, c := range []struct {
		at, n  int
		ok     bool
		stores int
	}{{0, 8, true, 1}, {0, 16, true, 2}, {4, 8, true, 2}, {4, 12, true, 2}, {0, 12, true, 2}, {0, 24, false, 0}, {2, 8, false, 0}, {0, 6, false, 0}, {4, 16, false, 0}} {
		to := unsafe.Add(at, c.at)
		if ok := s.Storable(to, c.n); ok != c.ok {
			t.Errorf("%d bytes at %d: storable %v", c.n, c.at, ok)
		} else if ok {
			m.given[In] = 0
			if s.StoreWords(In, to, at, c.n); m.given[In] != c.stores {
				t.Errorf("%d bytes at %d: %d stores, want %d", c.n, c.at, m.given[In], c.stores)
			}
		}
	}
}

// Errors of the GPU, and marks out of turn, fail the job.
func TestErrors(t *testing.T) {
	s, e, m := fakes(10)
	s.Copy(In, nil, nil, 1)
	m.skip = 1
	if s.Mark(); e.err == nil || !strings.Contains(e.err.Error(), "mark 2 of stream 0 came when 1 was due") {
		t.Errorf("error %v", e.err)
	}
	m.err = errors.New("no GPU")
	for name, f := range map[string]func(){
		"copy": func() { s.Copy(In, nil, nil, 1) }, "write": func() { s.Write(In, nil, 4, 1) },
		"atomic": func() { s.Atomic(Word, nil, new(layout.Header), nil) }, "mark": s.Mark,
	} {
		e.err = nil
		if f(); !errors.Is(e.err, m.err) {
			t.Errorf("%s: error %v", name, e.err)
		}
	}
}

// A PE without a GPU has no streams, and nothing to do.
func TestNoMemory(t *testing.T) {
	e := new(fakeEngine)
	s := New(e, nil, 10)
	s.Follow()
	if s.Mark(); e.err != nil || s.Rest() != nil || s.Atomics() != 0 || e.state.Busy != 0 {
		t.Errorf("error %v, rest %v, atomics %#x, busy %d", e.err, s.Rest(), s.Atomics(), e.state.Busy)
	}
}
