package stream_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/gpustage/stream/streamtest"
	"libshmem/runtime/proxy/layout"
)

// chores collects the numbers of the chores that it was given.
type chores []uint8

func (c *chores) Follow(x *stream.Chore) { *c = append(*c, x.What) }

// at is memory for work whose effect does not matter.
var at = unsafe.Pointer(&[16]uint64{})

func fakes(most uint64) (*stream.Set, *streamtest.Engine, *streamtest.Memory) {
	e, m := new(streamtest.Engine), &streamtest.Memory{Stores: 2}
	return stream.New(e.Shared(), m, most), e, m
}

// A chore waits for the work before it, in its own stream, and chores keep their order.
func TestChoresFollowWork(t *testing.T) {
	s, e, m := fakes(10)
	var did chores
	s.AddChore(stream.In, stream.Chore{For: &did, What: 1}) // there is no work before it
	s.Copy(stream.In, at, at, 0)
	s.AddChore(stream.In, stream.Chore{For: &did, What: 2})
	s.Copy(stream.Out, at, at, 0)
	s.AddChore(stream.Out, stream.Chore{For: &did, What: 3})
	if s.LastMark(stream.In) != 1 || s.LastPassed(stream.In) != 0 {
		t.Errorf("last mark %d, passed %d", s.LastMark(stream.In), s.LastPassed(stream.In))
	}
	if s.Mark(); e.Words.Busy&layout.BusyStreams == 0 || e.Wakes == 0 {
		t.Errorf("busy %d, %d wakes, with work in streams", e.Words.Busy, e.Wakes)
	}
	s.Write(stream.In, at, 8, 1)
	s.AddChore(stream.In, stream.Chore{For: &did, What: 4})
	s.Mark()
	for _, step := range []struct {
		in, out uint64
		want    chores
	}{{0, 0, chores{1}}, {0, 1, chores{1, 3}}, {1, 1, chores{1, 3, 2}}, {2, 1, chores{1, 3, 2, 4}}} {
		m.Pass(stream.In, step.in)
		m.Pass(stream.Out, step.out)
		if s.Follow(); !slices.Equal(did, step.want) {
			t.Errorf("marks %d and %d have passed: chores %v, want %v", step.in, step.out, did, step.want)
		}
	}
	e.Words.Busy = 0
	if s.Mark(); e.Words.Busy != 0 || s.CheckIdle() != nil || m.Marks[stream.In] != 2 {
		t.Errorf("busy %d, rest %v, %d marks, with no work", e.Words.Busy, s.CheckIdle(), m.Marks[stream.In])
	}
}

// After Fresh a chore waits for one more mark, though no work came.
func TestFresh(t *testing.T) {
	s, _, m := fakes(10)
	var did chores
	s.RequireMark(stream.Peer)
	s.AddChore(stream.Peer, stream.Chore{For: &did, What: 1})
	if s.CheckIdle() == nil {
		t.Error("a chore waits, and nothing is left")
	}
	s.Mark()
	if s.Follow(); len(did) != 0 || m.Marks[stream.Peer] != 1 {
		t.Errorf("chores %v before mark %d has passed", did, m.Marks[stream.Peer])
	}
	m.Pass(stream.Peer, 1)
	if s.Follow(); len(did) != 1 {
		t.Error("no chore after the mark")
	}
}

// A stream is full of operations, not of marks, and what it has done makes room.
func TestFull(t *testing.T) {
	s, _, m := fakes(3)
	for range 3 {
		if s.Full(stream.In) {
			t.Error("full too early")
		}
		s.Copy(stream.In, at, at, 0)
		s.Mark()
	}
	if !s.Full(stream.In) || s.Full(stream.Out) {
		t.Errorf("full: %v, and the other stream %v", s.Full(stream.In), s.Full(stream.Out))
	}
	m.Pass(stream.In, 1)
	if s.Follow(); s.Full(stream.In) {
		t.Error("full after an operation is done")
	}
	if s.CountPoll() != 1 || s.CountPoll() != 2 {
		t.Error("looks are not counted")
	}
	m.Pass(stream.In, 2)
	if s.Follow(); s.CountPoll() != 1 {
		t.Error("looks are counted on after a mark has passed")
	}
}

// Reports name the work that is left, and the purpose of the oldest.
func TestUndone(t *testing.T) {
	s, _, m := fakes(10)
	s.NoteDriverCall(backlog.CallPut, 3)
	s.Copy(stream.Out, at, at, 100)
	s.Mark()
	s.NoteDriverCall(backlog.CallServe, 4)
	s.Copy(stream.Out, at, at, 50)
	s.Mark()
	want := backlog.Work{Stream: stream.Out, Ops: 2, Bytes: 150, For: "for a put to PE 3"}
	if got := s.Undone(nil); len(got) != 1 || got[0] != want {
		t.Errorf("undone %+v, want %+v", got, want)
	}
	m.Pass(stream.Out, 1)
	s.Follow()
	want = backlog.Work{Stream: stream.Out, Passed: 1, Ops: 1, Bytes: 50, For: "for a get of PE 4"}
	if got := s.Undone(nil); len(got) != 1 || got[0] != want {
		t.Errorf("undone %+v, want %+v", got, want)
	}
	var page [stream.Streams]backlog.Shown
	if s.Show(&page); page[stream.Out].Ops != 1 || page[stream.Out].Bytes != 50 || page[stream.In].Ops != 0 {
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
			m.Given[stream.In] = 0
			s.StoreWords(stream.In, to, at, c.n)
			if s.Mark(); m.Given[stream.In] != c.stores {
				t.Errorf("%d bytes at %d: %d stores, want %d", c.n, c.at, m.Given[stream.In], c.stores)
			}
		}
	}
}

// Errors of the GPU, and marks out of turn, fail the job.
func TestErrors(t *testing.T) {
	s, e, m := fakes(10)
	s.Copy(stream.In, at, at, 0)
	m.Skip = 1
	if s.Mark(); e.Err == nil || !strings.Contains(e.Err.Error(), "mark 2 of stream 0 came when 1 was due") {
		t.Errorf("error %v", e.Err)
	}
	m.Err = errors.New("no GPU")
	for name, f := range map[string]func(){
		"copy": func() {
			for range stream.MaxCopies {
				s.Copy(stream.In, at, at, 0)
			}
		},
		"write": func() {
			for range 160 {
				s.Write(stream.In, at, 4, 1)
			}
		},
		"atomic": func() { s.Atomic(stream.Word, at, new(layout.Header), nil) }, "mark": s.Mark,
	} {
		e.Err = nil
		if f(); !errors.Is(e.Err, m.Err) {
			t.Errorf("%s: error %v", name, e.Err)
		}
	}
}

// A PE without a GPU has no streams, and nothing to do.
func TestNoMemory(t *testing.T) {
	e := new(streamtest.Engine)
	s := stream.New(e.Shared(), nil, 10)
	s.Follow()
	if s.Mark(); e.Err != nil || s.CheckIdle() != nil || s.Atomics() != 0 || e.Words.Busy != 0 {
		t.Errorf("error %v, rest %v, atomics %#x, busy %d", e.Err, s.CheckIdle(), s.Atomics(), e.Words.Busy)
	}
}
