package gpustage

import (
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
)

// Advance is called at each poll of the engine. It continues all work of the Stage as far as
// streams, pinned memory and the network allow. It returns true if bytes have left or arrived for
// which queued operations of callers may have waited.
func (s *Stage) Advance() (moved bool) {
	s.heaps.beginPoll()
	s.pulls.BeginPoll()
	s.departs.BeginPoll()
	s.dropLost()
	s.streams.Follow()
	s.arrivals.Advance()
	s.pulls.Start()
	s.departs.Advance()
	s.Mark()
	moved = s.departs.moved || s.copies.moved
	s.departs.moved, s.copies.moved = false, false
	return moved
}

// HasWork reports whether this PE still has work of the Stage that another PE may wait for.
func (s *Stage) HasWork() bool {
	return s.streams.HasWork() || s.arrivals.Busy() > 0 || s.pulls.UnderWay() > 0 || s.departs.UnderWay()
}

// NoRoom reports whether a read or message could not be posted in this poll, because the provider's
// queue was full. The proxy thread then polls again after a short pause. It does not wait for an
// event of the network, because the queue may get room without one.
func (s *Stage) NoRoom() bool { return s.pulls.NoRoom() || s.departs.NoRoom() }

// CountPoll counts a poll of the streams, and returns the number of polls since a stream last
// carried out work.
func (s *Stage) CountPoll() int { return s.streams.CountPoll() }

// Mark adds a mark after the new work in each stream. It sets State.Busy, so that the proxy thread
// polls again, if a stream has work, an atomic operation waits for the AtomicsLock, messages are
// held back for a time after a read failed, or a read or message could not be posted.
func (s *Stage) Mark() {
	s.state.Busy = 0
	s.streams.Mark()
	if s.arrivals.WantsLock() || s.pulls.HoldsBack() {
		s.streams.MarkBusy()
	}
	if s.NoRoom() {
		s.state.Busy |= layout.BusyRoom
	}
}

// DriverCall returns the purpose of the engine's last driver call, to continue a sentence about
// that call; "" before the first. Any thread may call it, without the lock.
func (s *Stage) DriverCall() string { return s.streams.DriverCall() }

// Undone appends to a list the work that this Stage's streams have not carried out. Any thread may
// call it, without the lock.
func (s *Stage) Undone(to []backlog.Work) []backlog.Work { return s.streams.Undone(to) }

// Show updates the page on which other processes see the streams.
func (s *Stage) Show(to *[stream.Streams]backlog.Shown) { s.streams.Show(to) }
