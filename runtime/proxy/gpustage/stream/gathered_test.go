package stream_test

import (
	"testing"
	"unsafe"

	"libshmem/runtime/proxy/gpustage/stream"
)

// Copies of a turn are given together, at its mark, and the stores behind them.
func TestGathered(t *testing.T) {
	s, _, m := fakes(1000)
	var to, from [3 * stream.MaxCopies]byte
	var signals [3 * stream.MaxCopies]uint64
	one := func(i int, ahead bool) {
		f := s.Copy
		if ahead {
			f = s.CopyAhead
		}
		from[i] = byte(i + 1)
		f(stream.In, unsafe.Pointer(&to[i]), unsafe.Pointer(&from[i]), 1)
		s.Write(stream.In, unsafe.Pointer(&signals[i]), 8, 1)
	}
	turn := func(what string, calls int) {
		t.Helper()
		before := m.Calls[stream.In]
		s.Mark()
		if got := m.Calls[stream.In] - before; got != calls {
			t.Errorf("%s: %d calls at the mark, want %d", what, got, calls)
		}
		m.Run()
		s.Follow()
	}
	for i := range 10 {
		one(i, true)
	}
	if m.Given[stream.In] != 0 {
		t.Errorf("%d operations were given before the mark", m.Given[stream.In])
	}
	turn("copies ahead", 1)
	one(10, false)
	one(11, false)
	if m.Calls[stream.In] != 2 {
		t.Errorf("%d calls: the first copy was not given with its signal before the second", m.Calls[stream.In])
	}
	turn("copies in order", 1)
	for i := range stream.MaxCopies {
		one(12+i, true)
	}
	if m.Calls[stream.In] != 4 || m.Given[stream.In] != 2*12+stream.MaxCopies {
		t.Errorf("%d calls, %d operations, when as many copies are gathered as fit", m.Calls[stream.In], m.Given[stream.In])
	}
	turn("none left", 0)
	for i := range 12 + stream.MaxCopies {
		if to[i] != byte(i+1) || signals[i] != 1 {
			t.Errorf("piece %d is %d, its signal %d", i, to[i], signals[i])
		}
	}
	large := make([]byte, 1<<20)
	s.Copy(stream.Out, unsafe.Pointer(&large[0]), unsafe.Pointer(&large[0]), uint64(len(large)))
	if m.Calls[stream.Out] != 1 {
		t.Error("a copy that takes longer than its call waits")
	}
	turn("a large one", 0)
	if err := s.CheckIdle(); err != nil {
		t.Error(err)
	}
}
