package gpustage

import (
	"libshmem/runtime/proxy/backlog"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
)

// Advance is called at each poll. It carries on all work of the Stage as far as streams and room
// allow. It reports whether bytes have left or arrived for which queued operations of callers may
// have waited.
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

// Moves reports whether work of the Stage is under way here, to which another PE may wait for the
// reply.
func (s *Stage) Moves() bool {
	return s.streams.Works() || s.arrivals.Busy() > 0 || s.pulls.Under() > 0 || s.departs.Under()
}

// NoRoom reports whether an operation waits for room, which may come without a completion.
func (s *Stage) NoRoom() bool { return s.pulls.NoRoom() || s.departs.NoRoom() }

// CountPoll counts a poll of the streams, and returns the number of polls since a stream last
// carried out some work.
func (s *Stage) CountPoll() int { return s.streams.CountPoll() }

// Mark puts a mark behind this turn's work in each stream. It sets Busy if a stream has work or an
// operation waits for room.
func (s *Stage) Mark() {
	s.state.Busy = 0
	s.streams.Mark()
	if s.arrivals.Wants() {
		s.streams.Busy()
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
